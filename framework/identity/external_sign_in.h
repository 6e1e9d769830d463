// ExternalSignIn: how people prove who they are by an identity that they have at another provider:
// to sign in, to prove it again, and to link the identity to the person they are here. A browser is
// sent to the provider with a ceremony as its state, which is tied to that browser, to the
// provider, and, but for signing in, to the session; nonce and PKCE verifier follow from it, so
// nothing is stored before the browser is back.
//
// Owned by app/; safe for concurrent use. begin() and redeem() ask the provider and suspend the
// fiber; all else asks the store: call it from the blocking pool or a plain Thread.
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

// Whose way to the provider it is.
struct Traveller {
  std::string browser;     // what its cookie holds
  std::string session_id;  // empty: to sign in
};

// What a provider said, and what it is worth.
struct ProviderProof {
  ProvedIdentity identity;
  bool is_strong = false;
  // The person to be made where nobody has the identity, or why none is.
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
  // `web_url`: base URL of the web host, to which browsers come back.
  ExternalSignIn(const Parts& parts, const std::vector<ProviderSettings>& providers,
                 const std::string& web_url);

  // In the order of the configuration.
  [[nodiscard]] const std::vector<std::unique_ptr<OidcProvider>>& providers() const noexcept {
    return providers_;
  }
  // Null: there is none with this key.
  [[nodiscard]] OidcProvider* find(std::string_view key) const noexcept;

  // The URL that the browser goes to. `kind`: one of a provider.
  [[nodiscard]] Result<std::string, ProviderFault> begin(CeremonyKind kind, OidcProvider& provider,
                                                         const Traveller& traveller) const;
  // What the browser brought back. auth.ceremony_ended, auth.sign_in_failed, auth.unavailable.
  [[nodiscard]] Result<ProviderProof, ProviderFault> redeem(CeremonyKind kind,
                                                            OidcProvider& provider,
                                                            const ProviderAnswer& answer,
                                                            const Traveller& traveller) const;

  // auth.throttled: too many tries from the actor's address have failed.
  [[nodiscard]] Result<Unit, base::Error> judge(const Actor& actor);
  // Counts and records a try that failed; returns what to say.
  [[nodiscard]] base::Error failed(const base::Error& error, const Actor& actor);

  // The actor is nobody yet. auth.registration_closed: nobody has the identity, and the provider
  // makes no people; and as the store.
  [[nodiscard]] Result<SignedIn, base::Error> sign_in(const ProviderProof& proof,
                                                      const Actor& actor);
  [[nodiscard]] Result<SignedIn, base::Error> step_up(const ProviderProof& proof,
                                                      const Actor& actor);
  // `is_first`: the session was begun by a link, and stands for the identity from now on.
  [[nodiscard]] Result<SignedIn, base::Error> link(const ProviderProof& proof, bool is_first,
                                                   const Actor& actor);
  // The token that the session has from now on. request.not_found, identity.last_credential.
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
