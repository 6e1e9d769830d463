#include "storage/people/audit_rows.h"
#include "storage/people/grant_rows.h"
#include "storage/people/mail_rows.h"
#include "storage/people/member_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Account;
using identity::Actor;
using identity::Invitation;
using identity::Member;
using identity::Membership;

constexpr Query select_memberships{
    "SELECT a.id, a.name, a.status, a.created_at, a.owner, m.role"
    " FROM membership m JOIN account a ON a.id = m.account_id WHERE m.person_id = $1"
    " ORDER BY a.created_at, a.id",
    "tttitt"};
constexpr Query select_membership{
    "SELECT a.id, a.name, a.status, a.created_at, a.owner, m.role"
    " FROM membership m JOIN account a ON a.id = m.account_id"
    " WHERE m.account_id = $1 AND m.person_id = $2",
    "tttitt"};
constexpr Query select_members{
    "SELECT p.id, p.name, p.email, m.role, m.created_at"
    " FROM membership m JOIN person p ON p.id = m.person_id WHERE m.account_id = $1"
    " ORDER BY m.created_at, p.id",
    "tttti"};
constexpr Query select_person_id{"SELECT id FROM person WHERE id = $1", "t"};
constexpr Query insert_membership{
    "INSERT INTO membership (account_id, person_id, role, created_at, created_by)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING role",
    "t"};
constexpr Query update_role{
    "UPDATE membership SET role = $1 WHERE account_id = $2 AND person_id = $3"};
constexpr Query delete_membership{
    "DELETE FROM membership WHERE account_id = $1 AND person_id = $2"};
// Serializes changes of one account's members, whatever the account's state.
constexpr Query lock_account_of_members{"UPDATE account SET name = name WHERE id = $1 RETURNING id",
                                        "t"};
// Disabled people do not count, since they cannot sign in.
constexpr Query count_owners{
    "SELECT COUNT(*) FROM membership m JOIN person p ON p.id = m.person_id"
    " WHERE m.account_id = $1 AND m.role = 'owner' AND m.person_id <> $2 AND p.status = 'active'",
    "i"};

constexpr Query insert_invitation{
    "INSERT INTO invitation (id, account_id, email, role, digest, created_by, created_at,"
    " expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"};
constexpr Query select_invitations{
    "SELECT id, account_id, email, role, created_by, created_at, expires_at FROM invitation"
    " WHERE account_id = $1 AND ended_at = -1 AND expires_at > $2 ORDER BY created_at DESC, id",
    "tttttii"};
constexpr Query end_invitation{
    "UPDATE invitation SET ended_at = $1 WHERE id = $2 AND account_id = $3 AND ended_at = -1"
    " AND expires_at > $1 RETURNING id",
    "t"};
constexpr Query end_as_accepted{
    "UPDATE invitation SET ended_at = $1, accepted_by = $2 WHERE ended_at = -1"
    " AND expires_at > $1 AND (digest = $3 OR id = (SELECT invitation_id FROM mailed_link"
    " WHERE digest = $3 AND invitation_id <> '')) RETURNING id, account_id, role, email, digest",
    "ttttt"};
constexpr Query select_names{
    "SELECT a.name, COALESCE((SELECT p.name FROM person p WHERE p.id = $1), '')"
    " FROM account a WHERE a.id = $2",
    "tt"};
// Limits mail to arbitrary addresses in this gateway's name, so that a member cannot send spam.
constexpr std::int64_t mailed_a_day_max = 100;
constexpr std::int64_t a_day_ms = 24 * 3'600'000ll;

identity::Role role_at(const Rows& rows, std::size_t row, std::size_t column) {
  if (const auto known = identity::role(rows.text(row, column))) return *known;
  throw StoreError(StoreError::Kind::fatal, "a membership of unknown role");
}

base::Error no_member() {
  return {ErrorCode::request_not_found, "The billing account has no member with this id."};
}

base::Error last_owner() {
  return {ErrorCode::identity_last_owner,
          "This is the only owner of the billing account: make somebody else an owner first."};
}

class SqlMemberStore final : public identity::MemberStore {
 public:
  explicit SqlMemberStore(const Context& context) : context_(context) {}

  Result<std::vector<Membership>, base::Error> memberships(std::string_view person_id) override {
    using Answer = std::vector<Membership>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list memberships", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_memberships, {person_id});
        Answer list;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          list.push_back({account_at(rows, row), role_at(rows, row, 5)});
        }
        return list;
      });
    });
  }

  Result<std::vector<Member>, base::Error> members(std::string_view account_id) override {
    using Answer = std::vector<Member>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list members", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_members, {account_id});
        Answer list;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          list.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2),
                          role_at(rows, row, 3), rows.number(row, 4)});
        }
        return list;
      });
    });
  }

  Result<Unit, base::Error> add(const identity::NewMembership& membership,
                                std::string_view person_id, const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return change<Unit>("add member", [&](Transaction& transaction) -> Answer {
      if (auto why = why_not_given(transaction, membership.account_id)) return *std::move(why);
      if (transaction.run(select_person_id, {person_id}).empty()) {
        return base::Error{ErrorCode::request_not_found, "There is no person with this id."};
      }
      return add_member(context_, transaction, membership, person_id, actor);
    });
  }

  Result<Unit, base::Error> set_role(std::string_view account_id, std::string_view person_id,
                                     identity::Role role, const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return change<Unit>("set role", [&](Transaction& transaction) -> Answer {
      const auto old = role_to_change(transaction, account_id, person_id, actor);
      if (!old.ok()) return old.error();
      if (role == identity::Role::owner || *old == identity::Role::owner) {
        if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::owner))
          return *why;
      } else if (auto why =
                     why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
        return *std::move(why);
      }
      if (role != identity::Role::owner &&
          is_last_owner(transaction, account_id, person_id, *old)) {
        return last_owner();
      }
      transaction.run(update_role, {name_of(role), account_id, person_id});
      if (role < identity::Role::admin) {
        end_grants_of(context_, transaction, person_id, account_id, "role_lost");
      }
      write_audit(context_, transaction,
                  {.actor = actor,
                   .account_id = std::string(account_id),
                   .action = "member.role",
                   .target = std::string(person_id),
                   .detail = std::string(name_of(*old)) + " to " + std::string(name_of(role))});
      return Unit{};
    });
  }

  Result<Unit, base::Error> remove(std::string_view account_id, std::string_view person_id,
                                   const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return change<Unit>("remove member", [&](Transaction& transaction) -> Answer {
      const auto old = role_to_change(transaction, account_id, person_id, actor);
      if (!old.ok()) return old.error();
      if (actor.person_id != person_id) {
        const identity::Role needed =
            *old == identity::Role::owner ? identity::Role::owner : identity::Role::admin;
        if (auto why = why_not_allowed(transaction, account_id, actor, needed)) return *why;
      }
      if (is_last_owner(transaction, account_id, person_id, *old)) return last_owner();
      transaction.run(delete_membership, {account_id, person_id});
      end_grants_of(context_, transaction, person_id, account_id, "role_lost");
      write_audit(context_, transaction,
                  {.actor = actor,
                   .account_id = std::string(account_id),
                   .action = "member.remove",
                   .target = std::string(person_id),
                   .detail = std::string(name_of(*old))});
      return Unit{};
    });
  }

  Result<Invitation, base::Error> invite(const identity::NewInvitation& wanted,
                                         const Actor& actor) override {
    using Answer = Result<Invitation, base::Error>;
    return change<Invitation>("invite", [&](Transaction& transaction) -> Answer {
      if (auto why = why_not_given(transaction, wanted.account_id)) return *std::move(why);
      const identity::Role needed =
          wanted.role == identity::Role::owner ? identity::Role::owner : identity::Role::admin;
      if (auto why = why_not_allowed(transaction, wanted.account_id, actor, needed)) return *why;
      const std::int64_t now_ms = context_.now_ms(transaction);
      Invitation made{context_.new_id("inv_"),
                      wanted.account_id,
                      wanted.email,
                      wanted.role,
                      actor.principal,
                      now_ms,
                      now_ms + wanted.valid_ms};
      transaction.run(insert_invitation,
                      {made.id, made.account_id, made.email, name_of(made.role),
                       text::hex(wanted.digest), made.created_by, now_ms, made.expires_at_ms});
      if (auto refused = mail_invitation(transaction, made, actor)) return *std::move(refused);
      write_audit(context_, transaction,
                  {.actor = actor,
                   .account_id = made.account_id,
                   .action = "invitation.create",
                   .target = made.id,
                   .detail = std::string(name_of(made.role))});
      return made;
    });
  }

  Result<std::vector<Invitation>, base::Error> invitations(std::string_view account_id) override {
    using Answer = std::vector<Invitation>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list invitations", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows =
            connection.run(select_invitations, {account_id, context_.now_ms(connection)});
        Answer list;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          list.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2),
                          role_at(rows, row, 3), rows.text(row, 4), rows.number(row, 5),
                          rows.number(row, 6)});
        }
        return list;
      });
    });
  }

  Result<Unit, base::Error> withdraw(std::string_view account_id, std::string_view invitation_id,
                                     const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return change<Unit>("withdraw invitation", [&](Transaction& transaction) -> Answer {
      if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin))
        return *why;
      const std::int64_t now_ms = context_.now_ms(transaction);
      if (transaction.run(end_invitation, {now_ms, invitation_id, account_id}).empty()) {
        return base::Error{ErrorCode::request_not_found,
                           "The billing account has no open invitation with this id."};
      }
      write_audit(context_, transaction,
                  {.actor = actor,
                   .account_id = std::string(account_id),
                   .action = "invitation.withdraw",
                   .target = std::string(invitation_id)});
      return Unit{};
    });
  }

  Result<Membership, base::Error> accept(const crypto::Sha256& digest, std::string_view person_id,
                                         const Actor& actor) override {
    using Answer = Result<Membership, base::Error>;
    return change<Membership>("accept invitation", [&](Transaction& transaction) -> Answer {
      const auto used = use_invitation(context_, transaction, digest, person_id);
      if (!used.ok()) return used.error();
      const bool is_verified = has_verified_email(transaction, person_id, used->email);
      if (auto why = why_for_another(context_, *used, is_verified)) return *std::move(why);
      const auto added = add_member(context_, transaction, used->membership, person_id, actor);
      if (!added.ok()) return added.error();
      const Rows rows =
          transaction.run(select_membership, {used->membership.account_id, person_id});
      return Membership{account_at(rows, 0), role_at(rows, 0, 5)};
    });
  }

 private:
  template <class T, class F>
  Result<T, base::Error> change(std::string_view what, F&& work) {
    return changed<T>(context_, ErrorCode::auth_unavailable, what, work);
  }

  std::optional<base::Error> mail_invitation(Transaction& transaction, const Invitation& made,
                                             const Actor& actor) const {
    if (made.email.empty() || !context_.database.settings().sends_mail) return std::nullopt;
    if (!take_try(context_, transaction, "invitation_mail:" + made.account_id, a_day_ms,
                  mailed_a_day_max)) {
      return base::Error{ErrorCode::auth_throttled,
                         "The billing account has invited enough people by mail for today: invite "
                         "without an e-mail address, and give the link yourself.",
                         static_cast<std::uint32_t>(a_day_ms / 1'000)};
    }
    const Rows names = transaction.run(select_names, {actor.person_id, made.account_id});
    queue_mail(context_, transaction,
               {.kind = identity::MailKind::invitation,
                .recipient = made.email,
                .object_id = made.id,
                .name = names.text(0, 0),
                .role = std::string(name_of(made.role)),
                .detail = names.text(0, 1),
                .expires_at_ms = made.expires_at_ms});
    return std::nullopt;
  }

  // Locks the account. A person who is not a member learns nothing else about the account.
  static Result<identity::Role, base::Error> role_to_change(Transaction& transaction,
                                                            std::string_view account_id,
                                                            std::string_view person_id,
                                                            const Actor& actor) {
    const bool is_known = !transaction.run(lock_account_of_members, {account_id}).empty();
    if (!is_known && actor.person_id.empty()) {
      return base::Error{ErrorCode::account_absent, "There is no account with this id."};
    }
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::member)) {
      return *std::move(why);
    }
    const auto role = role_in(transaction, account_id, person_id);
    if (!role) return no_member();
    return *role;
  }

  static bool is_last_owner(Transaction& transaction, std::string_view account_id,
                            std::string_view person_id, identity::Role role) {
    return role == identity::Role::owner &&
           transaction.run(count_owners, {account_id, person_id}).number(0, 0) == 0;
  }

  const Context& context_;
};

}  // namespace

Result<Unit, base::Error> add_member(const Context& context, Transaction& transaction,
                                     const identity::NewMembership& membership,
                                     std::string_view person_id, const Actor& actor) {
  if (transaction
          .run(insert_membership, {membership.account_id, person_id, name_of(membership.role),
                                   context.now_ms(transaction), actor.principal})
          .empty()) {
    return base::Error{ErrorCode::identity_already_member,
                       "The person is a member of the billing account already."};
  }
  write_audit(context, transaction,
              {.actor = actor,
               .account_id = membership.account_id,
               .action = "member.add",
               .target = std::string(person_id),
               .detail = std::string(name_of(membership.role))});
  return Unit{};
}

Result<UsedInvitation, base::Error> use_invitation(const Context& context, Transaction& transaction,
                                                   const crypto::Sha256& digest,
                                                   std::string_view person_id) {
  const Rows used =
      transaction.run(end_as_accepted, {context.now_ms(transaction), person_id, text::hex(digest)});
  if (used.empty()) {
    return base::Error{
        ErrorCode::auth_link_ended,
        "This invitation was accepted, withdrawn, or is too old: ask for a new one."};
  }
  if (auto why = why_not_given(transaction, used.text(0, 1))) return *std::move(why);
  return UsedInvitation{.membership = {used.text(0, 1), role_at(used, 0, 2)},
                        .email = used.text(0, 3),
                        .is_of_mail = used.text(0, 4) != text::hex(digest)};
}

std::optional<base::Error> why_for_another(const Context& context, const UsedInvitation& used,
                                           bool is_verified) {
  if (used.email.empty() || used.is_of_mail || is_verified) return std::nullopt;
  if (!context.database.settings().sends_mail) return std::nullopt;
  return base::Error{ErrorCode::account_forbidden,
                     "This invitation is for an e-mail address that you have not proved to be "
                     "yours: use the link in the mail that went there, or verify the address on "
                     "your page first."};
}

std::unique_ptr<identity::MemberStore> make_member_store(const Context& context) {
  return std::make_unique<SqlMemberStore>(context);
}

}  // namespace turnpike::storage
