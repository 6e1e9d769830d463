#include "identity/external_identity.h"

#include "storage/people/audit_rows.h"
#include "storage/people/mail_rows.h"
#include "storage/people/person_rows.h"
#include "storage/people/session_rows.h"
#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Actor;
using identity::BegunSession;
using identity::ExternalIdentity;
using identity::Newcomer;
using identity::NewSession;
using identity::ProvedIdentity;
using identity::RenewedSession;

#define EXTERNAL_IDENTITY_COLUMNS \
  "id, person_id, issuer, subject, provider, email, linked_at, last_used_at"
constexpr char external_identity_kinds[] = "ttttttii";
constexpr Query select_external_identities{
    "SELECT " EXTERNAL_IDENTITY_COLUMNS
    " FROM external_identity WHERE person_id = $1 ORDER BY linked_at, id",
    external_identity_kinds};
#undef EXTERNAL_IDENTITY_COLUMNS
constexpr Query select_identity_owner{
    "SELECT person_id FROM external_identity WHERE issuer = $1 AND subject = $2", "t"};
constexpr Query insert_external_identity{
    "INSERT INTO external_identity (id, issuer, subject, person_id, provider, email, linked_at,"
    " last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)"
    " ON CONFLICT (issuer, subject) DO NOTHING RETURNING id",
    "t"};
constexpr Query use_external_identity{
    "UPDATE external_identity SET last_used_at = $1, provider = $2, email = $3"
    " WHERE issuer = $4 AND subject = $5 AND person_id = $6 RETURNING id",
    "t"};
constexpr Query select_identity_of{
    "SELECT id FROM external_identity WHERE id = $1 AND person_id = $2", "t"};
constexpr Query delete_external_identity{
    "DELETE FROM external_identity WHERE id = $1 AND person_id = $2 RETURNING id", "t"};

ExternalIdentity external_identity_at(const Rows& rows, std::size_t row) {
  ExternalIdentity identity;
  identity.id = rows.text(row, 0);
  identity.person_id = rows.text(row, 1);
  identity.issuer = rows.text(row, 2);
  identity.subject = rows.text(row, 3);
  identity.provider = rows.text(row, 4);
  identity.email = rows.text(row, 5);
  identity.linked_at_ms = rows.number(row, 6);
  if (const std::int64_t at_ms = rows.number(row, 7); at_ms >= 0) identity.last_used_at_ms = at_ms;
  return identity;
}

base::Error linked_already() {
  return {ErrorCode::identity_already_linked,
          "This identity is linked already, to you or to another person here."};
}

class SqlExternalIdentityStore final : public identity::ExternalIdentityStore {
 public:
  explicit SqlExternalIdentityStore(const Context& context) : context_(context) {}

  Result<std::vector<ExternalIdentity>, base::Error> list(std::string_view person_id) override {
    using Answer = std::vector<ExternalIdentity>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list identities", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_external_identities, {person_id});
        Answer identities;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          identities.push_back(external_identity_at(rows, row));
        }
        return identities;
      });
    });
  }

  Result<std::optional<BegunSession>, base::Error> sign_in(const ProvedIdentity& identity,
                                                           const std::optional<Newcomer>& newcomer,
                                                           const NewSession& session,
                                                           const Actor& actor) override {
    using Answer = std::optional<BegunSession>;
    const auto try_it = [&](bool& was_taken) {
      return changed<Answer>("sign in with identity",
                             [&](Transaction& transaction) -> Result<Answer, base::Error> {
                               if (auto ended = use_ceremony(transaction, identity.ceremony)) {
                                 return *std::move(ended);
                               }
                               return begin(transaction, identity, newcomer, session, actor,
                                            was_taken);
                             });
    };
    // If two sign-ins with the same new identity run at once, the second retries and finds the
    // person that the first created.
    bool was_taken = false;
    auto begun = try_it(was_taken);
    return was_taken ? try_it(was_taken) : begun;
  }

  Result<Unit, base::Error> step_up(const ProvedIdentity& identity, const RenewedSession& session,
                                    const Actor& actor) override {
    return changed<Unit>("step up with identity",
                         [&](Transaction& transaction) -> Result<Unit, base::Error> {
                           if (auto ended = use_ceremony(transaction, identity.ceremony)) {
                             return *std::move(ended);
                           }
                           const std::string& person_id = actor.person_id;
                           if (!lock_active_person(transaction, person_id) ||
                               !use(transaction, identity, person_id) ||
                               !renew_session(context_, transaction, person_id, session)) {
                             return proved_nobody();
                           }
                           write_audit(context_, transaction,
                                       {.actor = actor,
                                        .action = "session.step_up",
                                        .target = session.session_id,
                                        .method = "oidc"});
                           return Unit{};
                         });
  }

  Result<ExternalIdentity, base::Error> link(const ProvedIdentity& identity,
                                             const RenewedSession& session,
                                             const Actor& actor) override {
    using Answer = Result<ExternalIdentity, base::Error>;
    return changed<ExternalIdentity>("link identity", [&](Transaction& transaction) -> Answer {
      if (auto ended = use_ceremony(transaction, identity.ceremony)) return *std::move(ended);
      if (!lock_active_person(transaction, actor.person_id)) return proved_nobody();
      if (auto full = why_no_more_credentials(transaction, actor.person_id)) {
        return *std::move(full);
      }
      auto linked = insert(transaction, identity, actor.person_id, actor);
      if (!linked) return linked_already();
      if (!renew_session(context_, transaction, actor.person_id, session)) return proved_nobody();
      if (credentials_of(transaction, actor.person_id) > 1) {  // no notice of the first one
        tell_person(context_, transaction, actor.person_id, identity::Notice::identity_linked,
                    identity.provider, actor);
      }
      return *std::move(linked);
    });
  }

  Result<bool, base::Error> unlink(std::string_view person_id, std::string_view identity_id,
                                   const RenewedSession& session, const Actor& actor) override {
    using Answer = Result<bool, base::Error>;
    return changed<bool>("unlink identity", [&](Transaction& transaction) -> Answer {
      if (!lock_active_person(transaction, person_id)) return proved_nobody();
      if (transaction.run(select_identity_of, {identity_id, person_id}).empty()) return false;
      transaction.run(delete_external_identity, {identity_id, person_id});
      if (auto stays = why_credential_stays(context_, transaction, person_id)) {
        return *std::move(stays);
      }
      if (!renew_session(context_, transaction, person_id, session)) return proved_nobody();
      tell_person(context_, transaction, person_id, identity::Notice::identity_unlinked, "",
                  actor);
      write_audit(context_, transaction,
                  {.actor = actor,
                   .action = "identity.unlink",
                   .target = std::string(identity_id)});
      return true;
    });
  }

 private:
  template <class T, class F>
  Result<T, base::Error> changed(std::string_view what, F&& work) {
    return storage::changed<T>(context_, ErrorCode::auth_unavailable, what, work);
  }

  Result<std::optional<BegunSession>, base::Error> begin(Transaction& transaction,
                                                         const ProvedIdentity& identity,
                                                         const std::optional<Newcomer>& newcomer,
                                                         const NewSession& session,
                                                         const Actor& actor, bool& was_taken) {
    using Answer = std::optional<BegunSession>;
    was_taken = false;
    const Rows owner =
        transaction.run(select_identity_owner, {identity.issuer, identity.subject});
    if (!owner.empty()) {
      const std::string& person_id = owner.text(0, 0);
      if (!lock_active_person(transaction, person_id) ||
          !use(transaction, identity, person_id)) {
        return proved_nobody();
      }
      return Answer(begin_as(context_, transaction, person_id, session, actor));
    }
    if (!newcomer) return Answer();
    const std::string person_id = context_.new_id("usr_");
    Actor self = actor;
    self.principal = "user:" + person_id;
    if (auto fault = add(transaction, person_id, *newcomer, self)) return *std::move(fault);
    was_taken = !insert(transaction, identity, person_id, self).has_value();
    if (was_taken) return linked_already();
    return Answer(begin_as(context_, transaction, person_id, session, self));
  }

  std::optional<base::Error> add(Transaction& transaction, std::string_view id,
                                 const Newcomer& newcomer, const Actor& actor) const {
    identity::NewPerson person = newcomer.person;
    auto added = insert_person(context_, transaction, id, person, {}, actor);
    if (!added.ok() && added.error().code == ErrorCode::identity_login_taken) {
      person.login = newcomer.other_login;
      added = insert_person(context_, transaction, id, person, {}, actor);
    }
    return added.ok() ? std::nullopt : std::optional(added.error());
  }

  // nullopt: the identity is linked already.
  std::optional<ExternalIdentity> insert(Transaction& transaction, const ProvedIdentity& identity,
                                         const std::string& person_id, const Actor& actor) const {
    ExternalIdentity linked;
    linked.id = context_.new_id("xid_");
    linked.person_id = person_id;
    linked.issuer = identity.issuer;
    linked.subject = identity.subject;
    linked.provider = identity.provider;
    linked.email = identity.email;
    linked.linked_at_ms = context_.now_ms(transaction);
    linked.last_used_at_ms = linked.linked_at_ms;
    if (transaction
            .run(insert_external_identity,
                 {linked.id, linked.issuer, linked.subject, linked.person_id, linked.provider,
                  linked.email, linked.linked_at_ms})
            .empty()) {
      return std::nullopt;
    }
    write_audit(context_, transaction,
                {.actor = actor,
                 .action = "identity.link",
                 .target = linked.id,
                 .detail = linked.provider});
    return linked;
  }

  // False: the identity is not the person's.
  bool use(Transaction& transaction, const ProvedIdentity& identity,
           std::string_view person_id) const {
    return !transaction
                .run(use_external_identity,
                     {context_.now_ms(transaction), identity.provider, identity.email,
                      identity.issuer, identity.subject, person_id})
                .empty();
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<identity::ExternalIdentityStore> make_external_identity_store(
    const Context& context) {
  return std::make_unique<SqlExternalIdentityStore>(context);
}

}  // namespace turnpike::storage
