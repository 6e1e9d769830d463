// SignIn: how people prove who they are: by a link that lets them in once, to enrol a credential,
// and by passkeys. Failures are counted for each source and audited; nobody is locked out.
//
// Owned by app/; safe for concurrent use. What asks the store blocks: call it from the blocking
// pool or a plain Thread.
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

// What a page hands to navigator.credentials, and the id under which it brings the answer.
struct BegunCeremony {
  std::string id;
  std::string options;  // JSON: the member publicKey
};

struct SignedIn {
  std::string token;  // of the session, for its cookie alone
  std::string person_id;
  std::string session_id;
};

struct Enrolled {
  Passkey passkey;
  std::string token;  // that the session has from now on
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
    std::string site_name;  // as authenticators show it
    bool takes_strangers = true;  // whoever is invited becomes a person
  };
  explicit SignIn(Parts parts) : parts_(std::move(parts)) {}

  // The actors of these are nobody yet. Errors: auth.sign_in_failed, auth.throttled,
  // auth.ceremony_ended, auth.passkey_rejected, auth.link_ended, request.body_rejected.
  [[nodiscard]] Result<SignedIn, base::Error> with_link(std::string_view token, const Actor& actor);
  // A stranger takes an invitation, and becomes a person. request.malformed for name and login,
  // identity.login_taken, auth.registration_closed, account.forbidden.
  [[nodiscard]] Result<SignedIn, base::Error> join(std::string_view token, std::string_view name,
                                                   std::string_view login, const Actor& actor);
  [[nodiscard]] BegunCeremony begin_passkey(std::string_view browser) const;
  [[nodiscard]] Result<SignedIn, base::Error> with_passkey(std::string_view ceremony_id,
                                                           std::string_view credential,
                                                           std::string_view browser,
                                                           const Actor& actor);

  // The same person again, for what spends or grants.
  [[nodiscard]] Result<BegunCeremony, base::Error> begin_step_up(const Actor& actor) const;
  [[nodiscard]] Result<SignedIn, base::Error> step_up(std::string_view ceremony_id,
                                                      std::string_view credential,
                                                      const Actor& actor);

  [[nodiscard]] Result<BegunCeremony, base::Error> begin_enrol(const Actor& actor) const;
  // `name`: 1 to 200 bytes.
  [[nodiscard]] Result<Enrolled, base::Error> enrol(std::string_view ceremony_id,
                                                    std::string_view credential,
                                                    std::string_view name, const Actor& actor);
  // The token that the session has from now on. request.not_found, identity.last_credential.
  [[nodiscard]] Result<std::string, base::Error> remove_passkey(std::string_view passkey_id,
                                                                const Actor& actor);

  // That passkeys are bound to.
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
