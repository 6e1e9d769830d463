// Members: the roles of people in accounts, and invitations. An account that has had an owner
// always keeps one: changes lock the account's row, then count the owners. The actor's role is
// checked in the same transaction: admins change members and admins, owners change owners; everyone
// may leave.
//
// MemberStore is the port (storage/ implements it); it blocks, so it is called from the blocking
// pool or a plain Thread. Errors of every function: auth.unavailable, with nothing changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/account.h"
#include "identity/audit.h"
#include "identity/person.h"
#include "identity/principal.h"

namespace turnpike::identity {

// The refusal of a person with `role` where `needed` is required; nullopt: allowed. A person
// without a role is not told whether the account exists.
std::optional<base::Error> role_refusal(std::optional<Role> role, Role needed);

struct Membership {
  Account account;
  Role role = Role::member;
};

struct Member {
  std::string person_id;
  std::string name;
  std::string email;
  Role role = Role::member;
  std::int64_t created_at_ms = 0;
};

struct Invitation {
  std::string id;  // "inv_..."
  std::string account_id;
  std::string email;  // empty: anyone with the link may accept
  Role role = Role::member;
  std::string created_by;
  std::int64_t created_at_ms = 0;
  std::int64_t expires_at_ms = 0;
};

struct NewInvitation {
  std::string account_id;
  std::string email;
  Role role = Role::member;
  crypto::Sha256 digest{};
  std::int64_t valid_ms = 0;
};

class MemberStore {
 public:
  virtual ~MemberStore() = default;
  // The person's memberships, oldest first.
  [[nodiscard]] virtual Result<std::vector<Membership>, base::Error> memberships(
      std::string_view person_id) = 0;
  // The account's members, oldest first.
  [[nodiscard]] virtual Result<std::vector<Member>, base::Error> members(
      std::string_view account_id) = 0;

  // identity.already_member, account.absent, account.closed; request.not_found: no such person.
  [[nodiscard]] virtual Result<Unit, base::Error> add(const NewMembership& membership,
                                                      std::string_view person_id,
                                                      const Actor& actor) = 0;
  // auth.role_missing, identity.last_owner; request.not_found: the person is not a member.
  [[nodiscard]] virtual Result<Unit, base::Error> set_role(std::string_view account_id,
                                                           std::string_view person_id, Role role,
                                                           const Actor& actor) = 0;
  // Errors: as set_role().
  [[nodiscard]] virtual Result<Unit, base::Error> remove(std::string_view account_id,
                                                         std::string_view person_id,
                                                         const Actor& actor) = 0;

  // With an e-mail address, and where mail is sent, mails the link; auth.throttled: too many were
  // mailed today. auth.role_missing: only owners invite owners. account.absent, account.closed.
  [[nodiscard]] virtual Result<Invitation, base::Error> invite(const NewInvitation& invitation,
                                                               const Actor& actor) = 0;
  // Invitations that can still be accepted, newest first.
  [[nodiscard]] virtual Result<std::vector<Invitation>, base::Error> invitations(
      std::string_view account_id) = 0;
  // request.not_found: the account has no such open invitation.
  [[nodiscard]] virtual Result<Unit, base::Error> withdraw(std::string_view account_id,
                                                           std::string_view invitation_id,
                                                           const Actor& actor) = 0;
  // Consumes the invitation. auth.link_ended; identity.already_member; account.forbidden: the
  // invitation is for an address that is not the person's. The last two leave the invitation
  // unchanged.
  [[nodiscard]] virtual Result<Membership, base::Error> accept(const crypto::Sha256& digest,
                                                               std::string_view person_id,
                                                               const Actor& actor) = 0;
};

}  // namespace turnpike::identity
