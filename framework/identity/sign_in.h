// SignIn: authenticates people by a single-use link, which lets them enrol a credential, and by
// passkeys. Failures are counted per source and audited; people are never locked out.
//
// Owned by app/; safe for concurrent use. Functions that ask the store block: call them from the
// blocking pool or a plain Thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/audit.h"
#include "identity/ceremony.h"
#include "identity/people.h"
#include "identity/person.h"
#include "identity/sessions.h"
#include "identity/tries.h"

namespace turnpike::identity {

// The options for navigator.credentials, and the id under which the page sends the result.
struct BegunCeremony {
  std::string id;
  std::string options;  // JSON, the member publicKey
};

struct SignedIn {
  std::string token;  // of the session; for its cookie only
  std::string person_id;
  std::string session_id;
};

struct Enrolled {
  Passkey passkey;
  std::string token;  // the session's new token
};

class SignIn {
 public:
  struct Parts {
    PeopleStore& people;
    Tries& tries;
    Sessions& sessions;
    const People& newcomers;
    const Ceremonies& ceremonies;
    RelyingParty site;
    std::string site_name;  // shown by authenticators
    bool takes_strangers = true;  // invitations may create new people
  };
  explicit SignIn(Parts parts) : parts_(std::move(parts)) {}

  // The actors are not signed in yet. Errors: auth.sign_in_failed, auth.throttled,
  // auth.ceremony_ended, auth.passkey_rejected, auth.link_ended, request.body_rejected.
  [[nodiscard]] Result<SignedIn, base::Error> with_link(std::string_view token, const Actor& actor);
  // Creates a person who accepts an invitation. request.malformed for name and login,
  // identity.login_taken, auth.registration_closed, account.forbidden.
  [[nodiscard]] Result<SignedIn, base::Error> join(std::string_view token, std::string_view name,
                                                   std::string_view login, const Actor& actor);
  [[nodiscard]] BegunCeremony begin_passkey(std::string_view browser) const;
  [[nodiscard]] Result<SignedIn, base::Error> with_passkey(std::string_view ceremony_id,
                                                           std::string_view credential,
                                                           std::string_view browser,
                                                           const Actor& actor);

  // Authenticates the signed-in person again, before they spend Credits or grant access.
  [[nodiscard]] Result<BegunCeremony, base::Error> begin_step_up(const Actor& actor) const;
  [[nodiscard]] Result<SignedIn, base::Error> step_up(std::string_view ceremony_id,
                                                      std::string_view credential,
                                                      const Actor& actor);

  [[nodiscard]] Result<BegunCeremony, base::Error> begin_enrol(const Actor& actor) const;
  // `name`: 1 to 200 bytes.
  [[nodiscard]] Result<Enrolled, base::Error> enrol(std::string_view ceremony_id,
                                                    std::string_view credential,
                                                    std::string_view name, const Actor& actor);
  // Returns the session's new token. request.not_found, identity.last_credential.
  [[nodiscard]] Result<std::string, base::Error> remove_passkey(std::string_view passkey_id,
                                                                const Actor& actor);

  // The domain that passkeys are bound to.
  [[nodiscard]] const std::string& passkey_domain() const noexcept { return parts_.site.id; }

 private:
  struct Proof {
    UsedCeremony ceremony;
    PasskeyOwner owner;
    AssertionFacts facts;
  };
  [[nodiscard]] Result<Proof, base::Error> prove(CeremonyKind kind, std::string_view holder,
                                                 std::string_view ceremony_id,
                                                 std::string_view credential);
  [[nodiscard]] RenewedSession renewed(const Token& token, std::string_view session_id) const;

  const Parts parts_;
};

}  // namespace turnpike::identity
