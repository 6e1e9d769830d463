// External identities: who people are at other providers, and the port through which that is stored
// (storage/ implements it). A person is known by issuer and subject, and never by an e-mail
// address: addresses change hands, and providers differ in what they verify. Each change is one
// transaction with its audit event and uses up the ceremony that proved it.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Errors of all:
// auth.unavailable, with nothing changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "identity/audit.h"
#include "identity/person.h"
#include "identity/session.h"

namespace turnpike::identity {

struct ExternalIdentity {
  std::string id;  // "xid_..."
  std::string person_id;
  std::string issuer;
  std::string subject;
  std::string provider;    // its key in the configuration
  std::string email = {};  // as the provider last said; to tell several apart, and for nothing else
  std::int64_t linked_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms = {};
};

// Whom a provider named.
struct ProvedIdentity {
  UsedCeremony ceremony;
  std::string issuer;
  std::string subject;
  std::string provider;
  std::string email = {};
};

// The person to be made where nobody has the identity.
struct Newcomer {
  NewPerson person;
  std::string other_login;  // where somebody has the login already
};

class ExternalIdentityStore {
 public:
  virtual ~ExternalIdentityStore() = default;

  // Oldest first.
  [[nodiscard]] virtual Result<std::vector<ExternalIdentity>, base::Error> list(
      std::string_view person_id) = 0;
  // Begins a session of the person who has the identity, or of the newcomer, who has it then.
  // Nothing: nobody has it; all that changed is that the ceremony is used up. auth.ceremony_ended;
  // auth.sign_in_failed: the person is disabled; identity.login_taken: somebody has both logins of
  // the newcomer.
  [[nodiscard]] virtual Result<std::optional<BegunSession>, base::Error> sign_in(
      const ProvedIdentity& identity, const std::optional<Newcomer>& newcomer,
      const NewSession& session, const Actor& actor) = 0;
  // The actor proved again who they are. auth.ceremony_ended; auth.sign_in_failed: the identity is
  // not theirs.
  [[nodiscard]] virtual Result<Unit, base::Error> step_up(const ProvedIdentity& identity,
                                                          const RenewedSession& session,
                                                          const Actor& actor) = 0;
  // Gives the identity to the actor and renews their session. auth.ceremony_ended;
  // identity.already_linked: somebody has it. identity.too_many_credentials.
  [[nodiscard]] virtual Result<ExternalIdentity, base::Error> link(const ProvedIdentity& identity,
                                                                   const RenewedSession& session,
                                                                   const Actor& actor) = 0;
  // Renews the session. identity.last_credential: the person could not sign in any more. False: the
  // person has no such identity.
  [[nodiscard]] virtual Result<bool, base::Error> unlink(std::string_view person_id,
                                                         std::string_view identity_id,
                                                         const RenewedSession& session,
                                                         const Actor& actor) = 0;
};

}  // namespace turnpike::identity
