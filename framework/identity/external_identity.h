// External identities: the accounts that people have at other identity providers, and the port
// through which they are stored (storage/ implements it). A person is recognized by issuer and
// subject, never by an e-mail address: addresses change owners, and providers differ in what they
// verify. Each change is one transaction with its audit event and consumes the ceremony that proved
// the identity.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Errors of every
// function: auth.unavailable, with nothing changed.
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
  std::string email = {};  // last reported by the provider; only for display
  std::int64_t linked_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms = {};
};

// An identity that a provider has asserted.
struct ProvedIdentity {
  UsedCeremony ceremony;
  std::string issuer;
  std::string subject;
  std::string provider;
  std::string email = {};
};

// The person to create when the identity is not linked to anyone.
struct Newcomer {
  NewPerson person;
  std::string other_login;  // used when `person`'s login is taken
};

class ExternalIdentityStore {
 public:
  virtual ~ExternalIdentityStore() = default;

  // Oldest first.
  [[nodiscard]] virtual Result<std::vector<ExternalIdentity>, base::Error> list(
      std::string_view person_id) = 0;
  // Begins a session of the person who has the identity, or creates the newcomer, links the
  // identity and begins their session. nullopt: the identity is not linked and there is no
  // newcomer; only the ceremony is consumed. auth.ceremony_ended; auth.sign_in_failed: the person
  // is disabled; identity.login_taken: both logins of the newcomer are taken.
  [[nodiscard]] virtual Result<std::optional<BegunSession>, base::Error> sign_in(
      const ProvedIdentity& identity, const std::optional<Newcomer>& newcomer,
      const NewSession& session, const Actor& actor) = 0;
  // Renews the session after the actor proved their identity again. auth.ceremony_ended;
  // auth.sign_in_failed: the identity belongs to someone else.
  [[nodiscard]] virtual Result<Unit, base::Error> step_up(const ProvedIdentity& identity,
                                                          const RenewedSession& session,
                                                          const Actor& actor) = 0;
  // Gives the identity to the actor and renews their session. auth.ceremony_ended;
  // identity.already_linked: somebody has it. identity.too_many_credentials.
  [[nodiscard]] virtual Result<ExternalIdentity, base::Error> link(const ProvedIdentity& identity,
                                                                   const RenewedSession& session,
                                                                   const Actor& actor) = 0;
  // Unlinks the identity and renews the session. identity.last_credential: the person could not
  // sign in any more. False: the person has no such identity.
  [[nodiscard]] virtual Result<bool, base::Error> unlink(std::string_view person_id,
                                                         std::string_view identity_id,
                                                         const RenewedSession& session,
                                                         const Actor& actor) = 0;
};

}  // namespace turnpike::identity
