// ExternalSignIn: people authenticate with an identity at another provider: to sign in, to step up,
// and to link the identity to their person here. The browser is sent to the provider with a
// ceremony as its `state`. The ceremony is bound to that browser, to the provider and, except when
// signing in, to the session. Nonce and PKCE verifier are derived from it, so nothing is stored
// before the browser returns.
//
// Owned by app/; safe for concurrent use. begin() and redeem() call the provider and suspend the
// fiber; everything else asks the store: call it from the blocking pool or a plain Thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/ceremony.h"
#include "identity/external_identity.h"
#include "identity/oidc_provider.h"
#include "identity/people.h"
#include "identity/sessions.h"
#include "identity/sign_in.h"
#include "identity/tries.h"

namespace turnpike::identity {

// The browser and the session that are sent to the provider.
struct Traveller {
  std::string browser;     // value of the browser's cookie
  std::string session_id;  // empty when signing in
};

// The provider's answer after validation.
struct ProviderProof {
  ProvedIdentity identity;
  bool is_strong = false;
  // The person to create when the identity is not linked, or the error that says why none is
  // created.
  Result<Newcomer, base::Error> newcomer;
};

class ExternalSignIn {
 public:
  struct Parts {
    ExternalIdentityStore& identities;
    Tries& tries;
    const Sessions& sessions;
    const People& newcomers;
    const Ceremonies& ceremonies;
    Http& http;
    const Clock& clock;
  };
  // `web_url`: base URL of the web host, to which browsers return.
  ExternalSignIn(const Parts& parts, const std::vector<ProviderSettings>& providers,
                 const std::string& web_url);

  // In the order of the configuration.
  [[nodiscard]] const std::vector<std::unique_ptr<OidcProvider>>& providers() const noexcept {
    return providers_;
  }
  // Null: no provider has this key.
  [[nodiscard]] OidcProvider* find(std::string_view key) const noexcept;

  // Returns the URL to redirect the browser to. `kind`: one of the provider kinds.
  [[nodiscard]] Result<std::string, ProviderFault> begin(CeremonyKind kind, OidcProvider& provider,
                                                         const Traveller& traveller) const;
  // Validates the parameters that the browser returned with. auth.ceremony_ended,
  // auth.sign_in_failed, auth.unavailable.
  [[nodiscard]] Result<ProviderProof, ProviderFault> redeem(CeremonyKind kind,
                                                            OidcProvider& provider,
                                                            const ProviderAnswer& answer,
                                                            const Traveller& traveller) const;

  // auth.throttled: too many tries from the actor's address have failed.
  [[nodiscard]] Result<Unit, base::Error> judge(const Actor& actor);
  // Counts and records a failed try; returns the error to show.
  [[nodiscard]] base::Error failed(const base::Error& error, const Actor& actor);

  // The actor is not signed in yet. auth.registration_closed: the identity is not linked and the
  // provider may not create people. Other errors: as ExternalIdentityStore::sign_in().
  [[nodiscard]] Result<SignedIn, base::Error> sign_in(const ProviderProof& proof,
                                                      const Actor& actor);
  [[nodiscard]] Result<SignedIn, base::Error> step_up(const ProviderProof& proof,
                                                      const Actor& actor);
  // `is_first`: a link began the session; the session takes the identity's method and strength.
  [[nodiscard]] Result<SignedIn, base::Error> link(const ProviderProof& proof, bool is_first,
                                                   const Actor& actor);
  // Returns the session's new token. request.not_found, identity.last_credential.
  [[nodiscard]] Result<std::string, base::Error> unlink(std::string_view identity_id,
                                                        const Actor& actor);

 private:
  [[nodiscard]] ProviderRequest request_of(CeremonyKind kind, const Ceremony& ceremony) const;
  [[nodiscard]] Result<Newcomer, base::Error> newcomer_of(const ProviderSettings& provider,
                                                          const IdTokenClaims& claims) const;

  const Parts parts_;
  std::vector<std::unique_ptr<OidcProvider>> providers_;
};

}  // namespace turnpike::identity
