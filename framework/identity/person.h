// People and their credentials, and the port through which they are stored (storage/ implements
// it). Each change is one transaction with its audit event. A single-use item, such as a link, is
// consumed by the statement that finds it, so only one of two concurrent uses succeeds.
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
#include "crypto/digest.h"
#include "identity/audit.h"
#include "identity/principal.h"
#include "identity/session.h"
#include "identity/webauthn.h"

namespace turnpike::identity {

struct Person {
  std::string id;  // "usr_..."
  std::string name;
  std::string login;  // in lower case
  std::string email = {};
  bool is_email_verified = false;
  std::string webauthn_handle;  // 32 bytes
  bool is_disabled = false;
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_sign_in_at_ms = {};
  std::string new_email = {};  // not verified yet; empty: none
};

struct NewPerson {
  std::string name;
  std::string login;
  std::string webauthn_handle;
  std::string verified_email = {};  // already verified
};

struct NewMembership {
  std::string account_id;
  Role role = Role::member;
};

// A single-use token by which a person signs in to enrol a credential.
struct NewLink {
  crypto::Sha256 digest{};
  std::int64_t valid_ms = 0;
};

struct Passkey {
  std::string id;  // "pky_..."
  std::string person_id;
  NewPasskey facts;
  std::string rp_id;
  std::string name;
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms = {};
};

struct PasskeyOwner {
  Passkey passkey;
  Person person;
};

class PeopleStore {
 public:
  virtual ~PeopleStore() = default;

  // identity.login_taken; account.absent for the membership's account.
  [[nodiscard]] virtual Result<Person, base::Error> add(
      const NewPerson& person, const std::optional<NewMembership>& membership, const NewLink& link,
      const Actor& actor) = 0;
  // Consumes an invitation, creates the person, makes them a member and begins their session.
  // auth.link_ended, identity.login_taken, account.absent, account.closed; account.forbidden: the
  // invitation is for an address, and this is not the link that was mailed there.
  [[nodiscard]] virtual Result<BegunSession, base::Error> join(const crypto::Sha256& invitation,
                                                               const NewPerson& person,
                                                               const NewSession& session,
                                                               const Actor& actor) = 0;
  [[nodiscard]] virtual Result<std::optional<Person>, base::Error> find(
      std::string_view person_id) = 0;
  [[nodiscard]] virtual Result<std::optional<Person>, base::Error> find_login(
      std::string_view login) = 0;
  // Oldest first.
  [[nodiscard]] virtual Result<std::vector<Person>, base::Error> list() = 0;
  // nullopt: no such person.
  [[nodiscard]] virtual Result<std::optional<Person>, base::Error> rename(
      std::string_view person_id, std::string_view name, const Actor& actor) = 0;
  // Disabling a person ends their sessions.
  [[nodiscard]] virtual Result<std::optional<Person>, base::Error> set_disabled(
      std::string_view person_id, bool is_disabled, const Actor& actor) = 0;

  // Ends the person's unused links. nullopt: no such person.
  [[nodiscard]] virtual Result<std::optional<Person>, base::Error> add_link(
      std::string_view person_id, const NewLink& link, const Actor& actor) = 0;
  // Consumes the link and begins the session; its method is "recovery" if the link came from a
  // recovery mail. auth.link_ended: the link is used, expired or unknown.
  [[nodiscard]] virtual Result<BegunSession, base::Error> sign_in_with_link(
      const crypto::Sha256& link, const NewSession& session, const Actor& actor) = 0;

  // Oldest first.
  [[nodiscard]] virtual Result<std::vector<Passkey>, base::Error> passkeys(
      std::string_view person_id) = 0;
  [[nodiscard]] virtual Result<std::optional<PasskeyOwner>, base::Error> find_passkey(
      std::string_view credential_id) = 0;
  // The domains (RelyingParty::id) that stored passkeys are bound to.
  [[nodiscard]] virtual Result<std::vector<std::string>, base::Error> passkey_domains() = 0;
  // Uses the ceremony up, adds the passkey and renews the session, which then stands for the
  // passkey. auth.ceremony_ended, auth.passkey_rejected (somebody has that credential already),
  // identity.too_many_credentials.
  [[nodiscard]] virtual Result<Passkey, base::Error> add_passkey(const UsedCeremony& ceremony,
                                                                 const Passkey& passkey,
                                                                 const RenewedSession& session,
                                                                 const Actor& actor) = 0;
  // nullopt: the person has no such passkey.
  [[nodiscard]] virtual Result<std::optional<Passkey>, base::Error> rename_passkey(
      std::string_view person_id, std::string_view passkey_id, std::string_view name,
      const Actor& actor) = 0;
  // Renews the session. identity.last_credential: the person could not sign in any more. False: the
  // person has no such passkey.
  [[nodiscard]] virtual Result<bool, base::Error> remove_passkey(std::string_view person_id,
                                                                 std::string_view passkey_id,
                                                                 const RenewedSession& session,
                                                                 const Actor& actor) = 0;
  // Stores a verified assertion: consumes the ceremony, updates the passkey's counter, and begins
  // or renews a session. auth.ceremony_ended.
  [[nodiscard]] virtual Result<BegunSession, base::Error> sign_in_with_passkey(
      const UsedCeremony& ceremony, std::string_view passkey_id, const AssertionFacts& facts,
      const NewSession& session, const Actor& actor) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> step_up_with_passkey(
      const UsedCeremony& ceremony, std::string_view passkey_id, const AssertionFacts& facts,
      const RenewedSession& session, const Actor& actor) = 0;
};

}  // namespace turnpike::identity
