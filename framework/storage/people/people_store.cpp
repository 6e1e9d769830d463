#include <algorithm>
#include <sstream>

#include "identity/email.h"
#include "storage/people/audit_rows.h"
#include "storage/people/grant_rows.h"
#include "storage/people/mail_rows.h"
#include "storage/people/member_rows.h"
#include "storage/people/person_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Actor;
using identity::AssertionFacts;
using identity::BegunSession;
using identity::NewLink;
using identity::NewSession;
using identity::Passkey;
using identity::PasskeyOwner;
using identity::Person;
using identity::RenewedSession;
using identity::UsedCeremony;

constexpr Query select_person{"SELECT " PERSON_COLUMNS " FROM person WHERE id = $1", person_kinds};
constexpr Query select_login{"SELECT " PERSON_COLUMNS " FROM person WHERE login = $1",
                             person_kinds};
constexpr Query select_people{"SELECT " PERSON_COLUMNS " FROM person ORDER BY created_at, id",
                              person_kinds};
// Locks the row until the commit.
constexpr Query take_person{"UPDATE person SET name = name WHERE id = $1 RETURNING " PERSON_COLUMNS,
                            person_kinds};
constexpr Query rename_person{"UPDATE person SET name = $1 WHERE id = $2 RETURNING " PERSON_COLUMNS,
                              person_kinds};
constexpr Query update_person_status{
    "UPDATE person SET status = $1 WHERE id = $2 RETURNING " PERSON_COLUMNS, person_kinds};

constexpr Query select_account_id{"SELECT id FROM account WHERE id = $1", "t"};
constexpr Query insert_link{
    "INSERT INTO one_time_link (digest, person_id, created_by, expires_at)"
    " VALUES ($1, $2, $3, $4)"};
constexpr Query end_links{
    "UPDATE one_time_link SET used_at = $1 WHERE person_id = $2 AND used_at = -1"
    " AND purpose <> 'verify_email'"};
constexpr Query use_link{
    "UPDATE one_time_link SET used_at = $1 WHERE digest = $2 AND used_at = -1 AND expires_at > $1"
    " AND purpose IN ('sign_in', 'recovery') RETURNING person_id, purpose",
    "tt"};
constexpr Query end_recoveries{
    "UPDATE one_time_link SET used_at = $1 WHERE person_id = $2 AND used_at = -1"
    " AND purpose = 'recovery'"};

#define PASSKEY_COLUMNS                                                                \
  "k.id, k.person_id, k.credential_id, k.public_key, k.sign_count, k.backup_eligible," \
  " k.backed_up, k.transports, k.aaguid, k.rp_id, k.name, k.created_at, k.last_used_at"
constexpr char passkey_kinds[] = "ttttiiittttii";
constexpr Query insert_passkey{
    "INSERT INTO passkey (id, person_id, credential_id, public_key, sign_count, backup_eligible,"
    " backed_up, transports, aaguid, rp_id, name, created_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    " ON CONFLICT (credential_id) DO NOTHING RETURNING id",
    "t"};
constexpr Query select_passkeys{
    "SELECT " PASSKEY_COLUMNS " FROM passkey k WHERE k.person_id = $1 ORDER BY k.created_at, k.id",
    passkey_kinds};
constexpr Query select_passkey{"SELECT " PASSKEY_COLUMNS
                               " FROM passkey k WHERE k.id = $1 AND k.person_id = $2",
                               passkey_kinds};
constexpr Query select_credential{
    "SELECT " PASSKEY_COLUMNS " FROM passkey k WHERE k.credential_id = $1", passkey_kinds};
#undef PASSKEY_COLUMNS
constexpr Query select_domains{"SELECT DISTINCT rp_id FROM passkey ORDER BY rp_id", "t"};
constexpr Query update_passkey_name{
    "UPDATE passkey SET name = $1 WHERE id = $2 AND person_id = $3 RETURNING id", "t"};
constexpr Query delete_passkey{
    "DELETE FROM passkey WHERE id = $1 AND person_id = $2 RETURNING credential_id", "t"};
constexpr Query use_passkey{
    "UPDATE passkey SET sign_count = $1, backed_up = $2, last_used_at = $3 WHERE id = $4"
    " RETURNING person_id",
    "t"};

std::optional<std::int64_t> time_or_none(std::int64_t at_ms) {
  return at_ms < 0 ? std::nullopt : std::optional(at_ms);
}

Passkey passkey_at(const Rows& rows, std::size_t row) {
  auto key = crypto::PasskeyKey::parse(rows.text(row, 3));
  const std::string aaguid = stored_bytes(rows.text(row, 8));
  Passkey passkey;
  if (!key || aaguid.size() != passkey.facts.aaguid.size()) {
    throw StoreError(StoreError::Kind::fatal, "a passkey that cannot be read");
  }
  passkey.id = rows.text(row, 0);
  passkey.person_id = rows.text(row, 1);
  passkey.facts.credential_id = stored_bytes(rows.text(row, 2));
  passkey.facts.key = *std::move(key);
  passkey.facts.sign_count = static_cast<std::uint32_t>(rows.number(row, 4));
  passkey.facts.is_backup_eligible = rows.number(row, 5) != 0;
  passkey.facts.is_backed_up = rows.number(row, 6) != 0;
  std::istringstream words(rows.text(row, 7));
  for (std::string word; words >> word;) passkey.facts.transports.push_back(word);
  std::copy(aaguid.begin(), aaguid.end(), passkey.facts.aaguid.begin());
  passkey.rp_id = rows.text(row, 9);
  passkey.name = rows.text(row, 10);
  passkey.created_at_ms = rows.number(row, 11);
  passkey.last_used_at_ms = time_or_none(rows.number(row, 12));
  return passkey;
}

base::Error no_link() {
  return {ErrorCode::auth_link_ended,
          "This link was used already, is too old, or was replaced: ask for a new one."};
}

// Where mail is sent, people who sign up have proved the address that is their login. So an invited
// person takes one only if the invitation was mailed to it.
std::optional<base::Error> why_address_of_another(const Context& context,
                                                  const UsedInvitation& used,
                                                  std::string_view login) {
  if (login.find('@') == login.npos || !context.database.settings().sends_mail) return std::nullopt;
  if (used.is_of_mail && identity::is_same_email(used.email, login)) return std::nullopt;
  return base::Error{ErrorCode::request_malformed,
                     "A login with @ is an e-mail address, and this invitation was not mailed to "
                     "it: choose a login without @."};
}

class SqlPeopleStore final : public identity::PeopleStore {
 public:
  explicit SqlPeopleStore(const Context& context) : context_(context) {}

  Result<Person, base::Error> add(const identity::NewPerson& wanted,
                                  const std::optional<identity::NewMembership>& membership,
                                  const NewLink& link, const Actor& actor) override {
    using Answer = Result<Person, base::Error>;
    return changed<Person>("add person", [&](Transaction& transaction) -> Answer {
      if (membership && transaction.run(select_account_id, {membership->account_id}).empty()) {
        return base::Error{ErrorCode::account_absent, "There is no account with this id."};
      }
      const std::string id = context_.new_id("usr_");
      const auto inserted =
          insert_person(context_, transaction, id, wanted, membership ? membership->account_id : "",
                        actor);
      if (!inserted.ok()) return inserted.error();
      if (membership) {
        const auto added = add_member(context_, transaction, *membership, id, actor);
        if (!added.ok()) return added.error();
      }
      put_link(transaction, id, link, actor);
      return person_at(transaction.run(select_person, {id}), 0);
    });
  }

  Result<BegunSession, base::Error> join(const crypto::Sha256& invitation,
                                         const identity::NewPerson& wanted,
                                         const NewSession& session, const Actor& actor) override {
    using Answer = Result<BegunSession, base::Error>;
    return changed<BegunSession>("join", [&](Transaction& transaction) -> Answer {
      const std::string id = context_.new_id("usr_");
      const auto used = use_invitation(context_, transaction, invitation, id);
      if (!used.ok()) return used.error();
      if (auto why = why_for_another(context_, *used, false)) return *std::move(why);
      if (auto why = why_address_of_another(context_, *used, wanted.login)) return *std::move(why);
      Actor self = actor;
      self.principal = "user:" + id;
      identity::NewPerson person = wanted;
      if (used->is_of_mail) person.verified_email = used->email;
      const auto added =
          insert_person(context_, transaction, id, person, used->membership.account_id, self);
      if (!added.ok()) return added.error();
      const auto joined = add_member(context_, transaction, used->membership, id, self);
      if (!joined.ok()) return joined.error();
      return begin_as(context_, transaction, id, session, self);
    });
  }

  Result<std::optional<Person>, base::Error> find(std::string_view person_id) override {
    return found_by(select_person, person_id);
  }
  Result<std::optional<Person>, base::Error> find_login(std::string_view login) override {
    return found_by(select_login, login);
  }

  Result<std::vector<Person>, base::Error> list() override {
    using Answer = std::vector<Person>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list people", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_people);
        Answer people;
        for (std::size_t row = 0; row < rows.size(); ++row) people.push_back(person_at(rows, row));
        return people;
      });
    });
  }

  Result<std::optional<Person>, base::Error> rename(std::string_view person_id,
                                                    std::string_view name,
                                                    const Actor& actor) override {
    using Answer = std::optional<Person>;
    return changed<Answer>("rename person", [&](Transaction& transaction) -> Answer {
      const Rows rows = transaction.run(rename_person, {name, person_id});
      if (rows.empty()) return std::nullopt;
      write_audit(context_, transaction,
                  {.actor = actor, .action = "person.rename", .target = std::string(person_id)});
      return person_at(rows, 0);
    });
  }

  Result<std::optional<Person>, base::Error> set_disabled(std::string_view person_id,
                                                          bool is_disabled,
                                                          const Actor& actor) override {
    using Answer = std::optional<Person>;
    return changed<Answer>("disable person", [&](Transaction& transaction) -> Answer {
      const Rows rows =
          transaction.run(update_person_status, {is_disabled ? "disabled" : "active", person_id});
      if (rows.empty()) return std::nullopt;
      if (is_disabled) {
        end_sessions(context_, transaction, person_id, "");
        end_grants_of(context_, transaction, person_id, "", "person_disabled");
        transaction.run(end_links, {context_.now_ms(transaction), person_id});
      }
      write_audit(context_, transaction,
                  {.actor = actor,
                   .action = is_disabled ? "person.disable" : "person.enable",
                   .target = std::string(person_id)});
      return person_at(rows, 0);
    });
  }

  Result<std::optional<Person>, base::Error> add_link(std::string_view person_id,
                                                      const NewLink& link,
                                                      const Actor& actor) override {
    using Answer = std::optional<Person>;
    return changed<Answer>("add link", [&](Transaction& transaction) -> Answer {
      const Rows rows = transaction.run(take_person, {person_id});
      if (rows.empty()) return std::nullopt;
      transaction.run(end_links, {context_.now_ms(transaction), person_id});
      put_link(transaction, person_id, link, actor);
      return person_at(rows, 0);
    });
  }

  Result<BegunSession, base::Error> sign_in_with_link(const crypto::Sha256& link,
                                                      const NewSession& session,
                                                      const Actor& actor) override {
    using Answer = Result<BegunSession, base::Error>;
    return changed<BegunSession>("sign in with link", [&](Transaction& transaction) -> Answer {
      const Rows used = transaction.run(use_link, {context_.now_ms(transaction), text::hex(link)});
      if (used.empty()) return no_link();
      const std::string& person_id = used.text(0, 0);
      if (!lock_active_person(transaction, person_id)) return no_link();
      NewSession wanted = session;
      const bool is_recovery = used.text(0, 1) == "recovery";
      if (is_recovery) {
        wanted.method = "recovery";
        transaction.run(end_recoveries, {context_.now_ms(transaction), person_id});
      }
      // No notice if the person had no credential to sign in with before.
      if (credentials_of(transaction, person_id) > 0) {
        tell_person(context_, transaction, person_id,
                    is_recovery ? identity::Notice::recovery_used : identity::Notice::link_used, "",
                    actor);
      }
      return begin_as(context_, transaction, person_id, wanted, actor);
    });
  }

  Result<std::vector<Passkey>, base::Error> passkeys(std::string_view person_id) override {
    using Answer = std::vector<Passkey>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list passkeys", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_passkeys, {person_id});
        Answer passkeys;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          passkeys.push_back(passkey_at(rows, row));
        }
        return passkeys;
      });
    });
  }

  Result<std::vector<std::string>, base::Error> passkey_domains() override {
    using Answer = std::vector<std::string>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list domains", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_domains);
        Answer domains;
        for (std::size_t row = 0; row < rows.size(); ++row) domains.push_back(rows.text(row, 0));
        return domains;
      });
    });
  }

  Result<std::optional<PasskeyOwner>, base::Error> find_passkey(
      std::string_view credential_id) override {
    using Answer = std::optional<PasskeyOwner>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find passkey", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_credential, {text::base64url(credential_id)});
        if (rows.empty()) return std::nullopt;
        Passkey passkey = passkey_at(rows, 0);
        const Rows owner = connection.run(select_person, {passkey.person_id});
        if (owner.empty()) return std::nullopt;
        return PasskeyOwner{std::move(passkey), person_at(owner, 0)};
      });
    });
  }

  Result<Passkey, base::Error> add_passkey(const UsedCeremony& ceremony, const Passkey& wanted,
                                           const RenewedSession& session,
                                           const Actor& actor) override {
    using Answer = Result<Passkey, base::Error>;
    return changed<Passkey>("add passkey", [&](Transaction& transaction) -> Answer {
      if (auto ended = use_ceremony(transaction, ceremony)) return *std::move(ended);
      if (!lock_active_person(transaction, wanted.person_id)) return proved_nobody();
      if (auto full = why_no_more_credentials(transaction, wanted.person_id)) {
        return *std::move(full);
      }
      Passkey passkey = wanted;
      passkey.id = context_.new_id("pky_");
      passkey.created_at_ms = context_.now_ms(transaction);
      if (!insert(transaction, passkey)) {
        return base::Error{ErrorCode::auth_passkey_rejected,
                           "This passkey is registered here already."};
      }
      if (!renew_session(context_, transaction, passkey.person_id, session)) return proved_nobody();
      if (credentials_of(transaction, passkey.person_id) > 1) {  // no notice of the first one
        tell_person(context_, transaction, passkey.person_id, identity::Notice::passkey_added,
                    passkey.name, actor);
      }
      write_audit(context_, transaction,
                  {.actor = actor, .action = "passkey.create", .target = passkey.id});
      return passkey;
    });
  }

  Result<std::optional<Passkey>, base::Error> rename_passkey(std::string_view person_id,
                                                             std::string_view passkey_id,
                                                             std::string_view name,
                                                             const Actor& actor) override {
    using Answer = std::optional<Passkey>;
    return changed<Answer>("rename passkey", [&](Transaction& transaction) -> Answer {
      if (transaction.run(update_passkey_name, {name, passkey_id, person_id}).empty()) {
        return std::nullopt;
      }
      write_audit(context_, transaction,
                  {.actor = actor, .action = "passkey.rename", .target = std::string(passkey_id)});
      return passkey_at(transaction.run(select_passkey, {passkey_id, person_id}), 0);
    });
  }

  Result<bool, base::Error> remove_passkey(std::string_view person_id, std::string_view passkey_id,
                                           const RenewedSession& session,
                                           const Actor& actor) override {
    using Answer = Result<bool, base::Error>;
    return changed<bool>("remove passkey", [&](Transaction& transaction) -> Answer {
      if (!lock_active_person(transaction, person_id)) return proved_nobody();
      const Rows removed = transaction.run(select_passkey, {passkey_id, person_id});
      if (removed.empty()) return false;
      transaction.run(delete_passkey, {passkey_id, person_id});
      if (auto stays = why_credential_stays(context_, transaction, person_id)) {
        return *std::move(stays);
      }
      if (!renew_session(context_, transaction, person_id, session)) return proved_nobody();
      tell_person(context_, transaction, person_id, identity::Notice::passkey_removed,
                  passkey_at(removed, 0).name, actor);
      write_audit(context_, transaction,
                  {.actor = actor, .action = "passkey.remove", .target = std::string(passkey_id)});
      return true;
    });
  }

  Result<BegunSession, base::Error> sign_in_with_passkey(const UsedCeremony& ceremony,
                                                         std::string_view passkey_id,
                                                         const AssertionFacts& facts,
                                                         const NewSession& session,
                                                         const Actor& actor) override {
    using Answer = Result<BegunSession, base::Error>;
    return changed<BegunSession>("sign in with passkey", [&](Transaction& transaction) -> Answer {
      if (auto ended = use_ceremony(transaction, ceremony)) return *std::move(ended);
      const Rows rows = use(transaction, passkey_id, facts);
      if (rows.empty() || !lock_active_person(transaction, rows.text(0, 0))) return proved_nobody();
      note_fallen_count(transaction, passkey_id, facts, actor);
      return begin_as(context_, transaction, rows.text(0, 0), session, actor);
    });
  }

  Result<Unit, base::Error> step_up_with_passkey(const UsedCeremony& ceremony,
                                                 std::string_view passkey_id,
                                                 const AssertionFacts& facts,
                                                 const RenewedSession& session,
                                                 const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return changed<Unit>("step up", [&](Transaction& transaction) -> Answer {
      if (auto ended = use_ceremony(transaction, ceremony)) return *std::move(ended);
      const Rows rows = use(transaction, passkey_id, facts);
      if (rows.empty() || rows.text(0, 0) != actor.person_id) return proved_nobody();
      if (!lock_active_person(transaction, actor.person_id)) return proved_nobody();
      note_fallen_count(transaction, passkey_id, facts, actor);
      if (!renew_session(context_, transaction, actor.person_id, session)) return proved_nobody();
      write_audit(context_, transaction,
                  {.actor = actor,
                   .action = "session.step_up",
                   .target = session.session_id,
                   .method = "passkey"});
      return Unit{};
    });
  }

 private:
  template <class T, class F>
  Result<T, base::Error> changed(std::string_view what, F&& work) {
    return storage::changed<T>(context_, ErrorCode::auth_unavailable, what, work);
  }

  Result<std::optional<Person>, base::Error> found_by(const Query& query, std::string_view value) {
    using Answer = std::optional<Person>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "find person", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(query, {value});
        if (rows.empty()) return std::nullopt;
        return person_at(rows, 0);
      });
    });
  }

  void put_link(Transaction& transaction, std::string_view person_id, const NewLink& link,
                const Actor& actor) const {
    transaction.run(insert_link, {text::hex(link.digest), person_id, actor.principal,
                                  context_.now_ms(transaction) + link.valid_ms});
    write_audit(context_, transaction,
                {.actor = actor, .action = "link.create", .target = std::string(person_id)});
  }

  static bool insert(Transaction& transaction, const Passkey& passkey) {
    std::string transports;
    for (const std::string& word : passkey.facts.transports) {
      transports += (transports.empty() ? "" : " ") + word;
    }
    const std::string aaguid(passkey.facts.aaguid.begin(), passkey.facts.aaguid.end());
    return !transaction
                .run(insert_passkey,
                     {passkey.id, passkey.person_id, text::base64url(passkey.facts.credential_id),
                      passkey.facts.key.text(), std::int64_t{passkey.facts.sign_count},
                      std::int64_t{passkey.facts.is_backup_eligible},
                      std::int64_t{passkey.facts.is_backed_up}, transports, text::base64url(aaguid),
                      passkey.rp_id, passkey.name, passkey.created_at_ms})
                .empty();
  }

  Rows use(Transaction& transaction, std::string_view passkey_id,
           const AssertionFacts& facts) const {
    return transaction.run(use_passkey,
                           {std::int64_t{facts.sign_count}, std::int64_t{facts.is_backed_up},
                            context_.now_ms(transaction), passkey_id});
  }

  // A decreased counter may indicate a cloned authenticator; synced passkeys have no counter.
  void note_fallen_count(Transaction& transaction, std::string_view passkey_id,
                         const AssertionFacts& facts, const Actor& actor) const {
    if (!facts.has_count_fallen) return;
    write_audit(
        context_, transaction,
        {.actor = actor, .action = "passkey.count_fell", .target = std::string(passkey_id)});
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<identity::PeopleStore> make_people_store(const Context& context) {
  return std::make_unique<SqlPeopleStore>(context);
}

}  // namespace turnpike::storage
