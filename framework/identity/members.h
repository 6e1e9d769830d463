// Members: which person may do what in which account, and invitations. Every account that ever had
// an owner keeps one: changes lock the account's row, then count. Who acts is judged in the same
// transaction: members and admins are an admin's to change, owners an owner's; everybody may leave.
//
// MemberStore is the port (storage/ implements it); it blocks, so it is called from the blocking
// pool or a plain Thread. Errors of all: auth.unavailable, with nothing changed.
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

// Why somebody with this role in an account may not do what needs another; nothing: they may.
// Whoever has none learns no more than that, whether the account exists or not.
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
  std::string email;  // empty: whoever has the link
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
  // Of a person, oldest first.
  [[nodiscard]] virtual Result<std::vector<Membership>, base::Error> memberships(
      std::string_view person_id) = 0;
  // Of an account, oldest first.
  [[nodiscard]] virtual Result<std::vector<Member>, base::Error> members(
      std::string_view account_id) = 0;

  // identity.already_member, account.absent, account.closed, request.not_found for the person.
  [[nodiscard]] virtual Result<Unit, base::Error> add(const NewMembership& membership,
                                                      std::string_view person_id,
                                                      const Actor& actor) = 0;
  // auth.role_missing, identity.last_owner, request.not_found: they are no member.
  [[nodiscard]] virtual Result<Unit, base::Error> set_role(std::string_view account_id,
                                                           std::string_view person_id, Role role,
                                                           const Actor& actor) = 0;
  // The same errors.
  [[nodiscard]] virtual Result<Unit, base::Error> remove(std::string_view account_id,
                                                         std::string_view person_id,
                                                         const Actor& actor) = 0;

  // With an e-mail address, where mail is sent, a mail goes there; auth.throttled: too many did
  // today. auth.role_missing: owners are invited by owners alone. account.absent, account.closed.
  [[nodiscard]] virtual Result<Invitation, base::Error> invite(const NewInvitation& invitation,
                                                               const Actor& actor) = 0;
  // Those that can still be accepted, newest first.
  [[nodiscard]] virtual Result<std::vector<Invitation>, base::Error> invitations(
      std::string_view account_id) = 0;
  // request.not_found: the account has none that could be accepted with this id.
  [[nodiscard]] virtual Result<Unit, base::Error> withdraw(std::string_view account_id,
                                                           std::string_view invitation_id,
                                                           const Actor& actor) = 0;
  // Uses it up. auth.link_ended; identity.already_member, and account.forbidden, where it is for an
  // address that is not the person's: these leave it as it is.
  [[nodiscard]] virtual Result<Membership, base::Error> accept(const crypto::Sha256& digest,
                                                               std::string_view person_id,
                                                               const Actor& actor) = 0;
};

}  // namespace turnpike::identity
