#include <algorithm>

#include "identity/email.h"
#include "storage/people/account_rows.h"
#include "storage/people/audit_rows.h"
#include "storage/people/mail_rows.h"
#include "storage/people/person_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Actor;
using identity::Mail;
using identity::MailKind;
using identity::MailOutcome;
using identity::Notice;
using identity::TakenMail;

constexpr std::int64_t one_minute_ms = 60'000;
constexpr std::int64_t one_hour_ms = 60 * one_minute_ms;
constexpr std::int64_t one_day_ms = 24 * one_hour_ms;
constexpr std::int64_t notice_days_max = 3;  // older notices by mail are useless
constexpr std::int64_t ended_at_once_max = 50;
constexpr std::string_view own_principal = "system:gateway";

#define MAIL_COLUMNS                                                                    \
  "id, kind, recipient, name, role, detail, created_at, due_at, tries, outcome, problem," \
  " person_id, login, object_id, expires_at"
constexpr char mail_kinds[] = "ttttttiiittttti";
constexpr Query insert_mail{
    "INSERT INTO mail_outbox (id, kind, recipient, person_id, login, object_id, name, role, detail,"
    " created_at, due_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)"};
// If two nodes find the same mail, one changes it; for the other the condition no longer holds.
constexpr Query take_mail{
    "UPDATE mail_outbox SET claimed_until = $1, tries = tries + 1"
    " WHERE id = (SELECT id FROM mail_outbox WHERE ended_at = -1 AND due_at <= $2"
    " AND claimed_until <= $2 ORDER BY due_at, id LIMIT 1)"
    " AND ended_at = -1 AND due_at <= $2 AND claimed_until <= $2 RETURNING " MAIL_COLUMNS,
    mail_kinds};
constexpr Query select_due_mail{
    "SELECT id FROM mail_outbox WHERE ended_at = -1 AND due_at <= $1 AND claimed_until <= $1"
    " LIMIT 1",
    "t"};
constexpr Query set_recipient{
    "UPDATE mail_outbox SET recipient = $1, person_id = $2 WHERE id = $3"};
constexpr Query end_mail{
    "UPDATE mail_outbox SET ended_at = $1, outcome = $2, problem = $3"
    " WHERE id = $4 AND tries = $5 AND ended_at = -1"};
constexpr Query put_off_mail{
    "UPDATE mail_outbox SET due_at = $1, claimed_until = -1, problem = $2"
    " WHERE id = $3 AND tries = $4 AND ended_at = -1"};
constexpr Query count_mail{
    "SELECT COALESCE(SUM(CASE WHEN outcome = 'waiting' THEN 1 ELSE 0 END), 0),"
    " COALESCE(SUM(CASE WHEN outcome = 'given_up' THEN 1 ELSE 0 END), 0) FROM mail_outbox",
    "ii"};
constexpr Query select_stuck{"SELECT " MAIL_COLUMNS
                             " FROM mail_outbox WHERE outcome IN ('waiting', 'given_up')"
                             " ORDER BY created_at, id",
                             mail_kinds};
constexpr Query select_mail{"SELECT " MAIL_COLUMNS " FROM mail_outbox ORDER BY created_at, id",
                            mail_kinds};
#undef MAIL_COLUMNS
constexpr Query retry_mail{
    "UPDATE mail_outbox SET due_at = $1, claimed_until = -1, ended_at = -1, outcome = 'waiting',"
    " expires_at = CASE WHEN expires_at < $2 THEN $2 ELSE expires_at END"
    " WHERE outcome IN ('waiting', 'given_up') AND ($3 = '' OR id = $3) RETURNING id",
    "t"};

constexpr Query select_address{
    "SELECT id, email, email_verified_at, new_email FROM person"
    " WHERE (id = $1 OR ($1 = '' AND login = $2)) AND status = 'active'",
    "ttit"};
constexpr Query select_login_of_person{"SELECT id FROM person WHERE login = $1", "t"};
constexpr Query select_open_invitation{
    "SELECT expires_at FROM invitation WHERE id = $1 AND ended_at = -1 AND expires_at > $2", "i"};
constexpr Query insert_sent_link{
    "INSERT INTO one_time_link (digest, person_id, created_by, expires_at, purpose, email)"
    " VALUES ($1, $2, $3, $4, $5, $6)"};
constexpr Query insert_mailed_link{
    "INSERT INTO mailed_link (digest, invitation_id, email, name, expires_at)"
    " VALUES ($1, $2, $3, $4, $5)"};
constexpr Query use_sign_up{
    "UPDATE mailed_link SET used_at = $1 WHERE digest = $2 AND invitation_id = ''"
    " AND used_at = -1 AND expires_at > $1 RETURNING email, name",
    "tt"};
constexpr Query use_verification{
    "UPDATE one_time_link SET used_at = $1 WHERE digest = $2 AND person_id = $3 AND used_at = -1"
    " AND expires_at > $1 AND purpose = 'verify_email' RETURNING email",
    "t"};
constexpr Query update_new_email{
    "UPDATE person SET new_email = $1 WHERE id = $2 AND status = 'active' RETURNING id", "t"};
constexpr Query update_email{
    "UPDATE person SET email = $1, email_verified_at = $2, new_email = '' WHERE id = $3"
    " RETURNING id",
    "t"};

constexpr Query count_try{
    "INSERT INTO throttle (key, starts_at, ends_at, tries) VALUES ($1, $2, $3, 1)"
    " ON CONFLICT (key, starts_at) DO UPDATE SET tries = throttle.tries + 1 RETURNING tries",
    "i"};

constexpr Query insert_notice{
    "INSERT INTO person_notice (id, person_id, notice, detail, address, at)"
    " VALUES ($1, $2, $3, $4, $5, $6)"};
constexpr Query select_unseen{
    "SELECT id, notice, detail, address, at FROM person_notice"
    " WHERE person_id = $1 AND seen_at = -1 ORDER BY at, id LIMIT 50",
    "tttti"};
constexpr Query see_all{
    "UPDATE person_notice SET seen_at = $1 WHERE person_id = $2 AND seen_at = -1 AND at <= $3"};

// A row of the outbox with its internal columns.
struct MailRow {
  Mail mail;
  std::string person_id;
  std::string login;
  std::string object_id;
};

MailRow mail_at(const Rows& rows, std::size_t row) {
  const auto kind = identity::mail_kind(rows.text(row, 1));
  const auto outcome = identity::mail_outcome(rows.text(row, 9));
  if (!kind || !outcome) throw StoreError(StoreError::Kind::fatal, "a mail of unknown kind");
  MailRow read;
  read.mail.id = rows.text(row, 0);
  read.mail.kind = *kind;
  read.mail.recipient = rows.text(row, 2);
  read.mail.name = rows.text(row, 3);
  read.mail.role = rows.text(row, 4);
  read.mail.detail = rows.text(row, 5);
  read.mail.created_at_ms = rows.number(row, 6);
  read.mail.due_at_ms = rows.number(row, 7);
  read.mail.tries = rows.number(row, 8);
  read.mail.outcome = *outcome;
  read.mail.problem = rows.text(row, 10);
  read.person_id = rows.text(row, 11);
  read.login = rows.text(row, 12);
  read.object_id = rows.text(row, 13);
  read.mail.expires_at_ms = rows.number(row, 14);
  return read;
}

base::Error ended_link() {
  return {ErrorCode::auth_link_ended,
          "This link was used already, is too old, or was replaced: ask for a new one."};
}

base::Error too_often() {
  return {ErrorCode::auth_throttled, "Too many mails were asked for from your address: wait.", 60};
}

class SqlMailStore final : public identity::MailStore {
 public:
  explicit SqlMailStore(const Context& context) : context_(context) {}

  Result<Unit, base::Error> ask_recovery(std::string_view login, const Actor& actor) override {
    return change<Unit>("ask recovery", [&](Transaction& transaction) {
      return ask(transaction, "recovery.ask", actor,
                 {.kind = MailKind::recovery, .login = std::string(login)});
    });
  }

  Result<Unit, base::Error> ask_sign_up(std::string_view email, std::string_view name,
                                        const Actor& actor) override {
    return change<Unit>("ask sign-up", [&](Transaction& transaction) {
      return ask(transaction, "sign_up.ask", actor,
                 {.kind = MailKind::sign_up,
                  .recipient = std::string(email),
                  .login = std::string(email),
                  .name = std::string(name)});
    });
  }

  Result<identity::SignedUp, base::Error> sign_up(const crypto::Sha256& link,
                                                  std::string_view webauthn_handle,
                                                  const identity::NewSession& session,
                                                  const Actor& actor) override {
    using Answer = Result<identity::SignedUp, base::Error>;
    return change<identity::SignedUp>("sign up", [&](Transaction& transaction) -> Answer {
      const Rows used =
          transaction.run(use_sign_up, {context_.now_ms(transaction), text::hex(link)});
      if (used.empty()) return ended_link();
      const std::string id = context_.new_id("usr_");
      Actor self = actor;
      self.principal = "user:" + id;
      const auto added = insert_person(context_, transaction, id,
                                       {.name = used.text(0, 1),
                                        .login = used.text(0, 0),
                                        .webauthn_handle = std::string(webauthn_handle),
                                        .verified_email = used.text(0, 0)},
                                       "", self);
      if (!added.ok()) return added.error();
      const auto account = insert_account_as(context_, transaction, used.text(0, 1), "user:" + id,
                                             identity::Founder{id, self});
      if (!account.ok()) return account.error();
      return identity::SignedUp{begin_as(context_, transaction, id, session, self), *account};
    });
  }

  Result<Unit, base::Error> ask_verification(std::string_view email, const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return change<Unit>("ask verification", [&](Transaction& transaction) -> Answer {
      if (!take_try(context_, transaction, "verification:" + actor.person_id, one_hour_ms,
                    asked_an_hour_max)) {
        return base::Error{ErrorCode::auth_throttled,
                           "You have asked for enough mails: wait an hour.", 3'600};
      }
      if (transaction.run(update_new_email, {email, actor.person_id}).empty()) {
        return proved_nobody();
      }
      queue_mail(context_, transaction,
                 {.kind = MailKind::verify_email,
                  .recipient = std::string(email),
                  .person_id = actor.person_id,
                  .expires_at_ms = context_.now_ms(transaction) + one_hour_ms});
      audit(transaction, actor, "email.ask", actor.person_id);
      return Unit{};
    });
  }

  Result<Unit, base::Error> verify_email(const crypto::Sha256& link,
                                         const identity::RenewedSession& session,
                                         const Actor& actor) override {
    using Answer = Result<Unit, base::Error>;
    return change<Unit>("verify email", [&](Transaction& transaction) -> Answer {
      const std::int64_t now_ms = context_.now_ms(transaction);
      const Rows used =
          transaction.run(use_verification, {now_ms, text::hex(link), actor.person_id});
      if (used.empty()) return ended_link();
      const std::string& email = used.text(0, 0);
      const Rows known = transaction.run(select_address, {actor.person_id, ""});
      // The person has requested another address since.
      if (known.empty() || known.text(0, 3) != email) return ended_link();
      return set_email(transaction, email, now_ms, "email.verify", session, actor);
    });
  }

  Result<Unit, base::Error> remove_email(const identity::RenewedSession& session,
                                         const Actor& actor) override {
    return change<Unit>("remove email", [&](Transaction& transaction) {
      return set_email(transaction, "", -1, "email.remove", session, actor);
    });
  }

  Result<std::vector<identity::UnseenNotice>, base::Error> notices(
      std::string_view person_id) override {
    using Answer = std::vector<identity::UnseenNotice>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list notices", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(select_unseen, {person_id});
        Answer list;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          // Skips notices that only a newer build knows, which shows them.
          const auto known = identity::notice(rows.text(row, 1));
          if (!known) continue;
          list.push_back({rows.text(row, 0), *known, rows.text(row, 2), rows.text(row, 3),
                          rows.number(row, 4)});
        }
        return list;
      });
    });
  }

  Result<Unit, base::Error> see_notices(std::string_view person_id,
                                        std::int64_t until_ms) override {
    return change<Unit>("see notices", [&](Transaction& transaction) {
      transaction.run(see_all, {context_.now_ms(transaction), person_id, until_ms});
      return Unit{};
    });
  }

  Result<std::optional<TakenMail>, base::Error> take(const crypto::Sha256& link,
                                                     std::int64_t lease_ms) override {
    using Answer = std::optional<TakenMail>;
    const auto is_due = has_due();
    if (!is_due.ok()) return is_due.error();
    if (!*is_due) return Answer();
    using Taken = Result<Answer, base::Error>;
    return change<Answer>("take mail", [&](Transaction& transaction) -> Taken {
      const std::int64_t now_ms = context_.now_ms(transaction);
      for (std::int64_t at = 0; at < ended_at_once_max; ++at) {
        const Rows rows = transaction.run(take_mail, {now_ms + lease_ms, now_ms});
        if (rows.empty()) return Answer();
        MailRow row = mail_at(rows, 0);
        if (row.mail.expires_at_ms <= now_ms) {
          end(transaction, row.mail, MailOutcome::given_up, "it could not be sent in time");
        } else if (auto taken = address(transaction, row, link, now_ms)) {
          return Answer(std::move(*taken));
        } else {
          end(transaction, row.mail, MailOutcome::nobody, "");
        }
      }
      return Answer();
    });
  }

  Result<Unit, base::Error> sent(const Mail& mail) override {
    return change<Unit>("end mail", [&](Transaction& transaction) {
      end(transaction, mail, MailOutcome::sent, "");
      return Unit{};
    });
  }

  Result<Unit, base::Error> failed(const Mail& mail, std::string_view problem,
                                   std::optional<std::int64_t> delay_ms) override {
    return change<Unit>("put mail off", [&](Transaction& transaction) {
      if (!delay_ms) {
        end(transaction, mail, MailOutcome::given_up, problem);
      } else {
        transaction.run(put_off_mail, {context_.now_ms(transaction) + *delay_ms, problem, mail.id,
                                       mail.tries});
      }
      return Unit{};
    });
  }

  Result<identity::MailCounts, base::Error> counts() override {
    using Answer = identity::MailCounts;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "count mail", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(count_mail);
        return Answer{rows.number(0, 0), rows.number(0, 1)};
      });
    });
  }

  Result<std::vector<Mail>, base::Error> list(bool all) override {
    using Answer = std::vector<Mail>;
    return answered<Answer>(context_, ErrorCode::auth_unavailable, "list mail", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(all ? select_mail : select_stuck);
        Answer mails;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          mails.push_back(mail_at(rows, row).mail);
        }
        return mails;
      });
    });
  }

  Result<std::int64_t, base::Error> retry(std::string_view id, const Actor& actor) override {
    return change<std::int64_t>("retry mail", [&](Transaction& transaction) {
      const std::int64_t now_ms = context_.now_ms(transaction);
      const Rows rows = transaction.run(retry_mail, {now_ms, now_ms + one_day_ms, id});
      const auto many = static_cast<std::int64_t>(rows.size());
      if (many > 0) {
        audit(transaction, actor, "mail.retry", id.empty() ? "" : rows.text(0, 0),
              std::to_string(many) + " mails");
      }
      return many;
    });
  }

 private:
  template <class T, class F>
  Result<T, base::Error> change(std::string_view what, F&& work) {
    return changed<T>(context_, ErrorCode::auth_unavailable, what,
                      [&](Transaction& transaction) -> Result<T, base::Error> {
                        return work(transaction);
                      });
  }

  // Polled often and mostly without result, so it takes no write lock.
  Result<bool, base::Error> has_due() {
    return answered<bool>(context_, ErrorCode::auth_unavailable, "look for mail", [&] {
      return context_.database.with([&](Connection& connection) {
        return !connection.run(select_due_mail, {context_.now_ms(connection)}).empty();
      });
    });
  }

  void audit(Transaction& transaction, const Actor& actor, std::string_view action,
             std::string_view target, std::string_view detail = {}) const {
    write_audit(context_, transaction,
                {.actor = actor,
                 .action = std::string(action),
                 .target = std::string(target),
                 .detail = std::string(detail)});
  }

  // Works the same for everyone: no person is looked up here.
  Result<Unit, base::Error> ask(Transaction& transaction, std::string_view action,
                                const Actor& actor, NewMail mail) const {
    if (!take_try(context_, transaction, "mail:" + actor.address, one_minute_ms,
                  asked_a_minute_max)) {
      return too_often();
    }
    const std::string key = std::string(action) + ":" + mail.login;
    const bool is_within = take_try(context_, transaction, key, one_hour_ms, asked_an_hour_max);
    mail.expires_at_ms = context_.now_ms(transaction) + one_hour_ms;
    const std::string id = is_within ? queue_mail(context_, transaction, mail) : "";
    audit(transaction, actor, action, id);
    return Unit{};
  }

  // Finds the recipient and stores the link; nullopt: there is no recipient.
  std::optional<TakenMail> address(Transaction& transaction, MailRow& row,
                                   const crypto::Sha256& link, std::int64_t now_ms) const {
    TakenMail taken{row.mail, true, false};
    switch (row.mail.kind) {
      case MailKind::notice:
        taken.has_link = false;
        return taken;
      case MailKind::invitation: {
        const Rows open = transaction.run(select_open_invitation, {row.object_id, now_ms});
        if (open.empty()) return std::nullopt;
        transaction.run(insert_mailed_link, {text::hex(link), row.object_id, row.mail.recipient, "",
                                             open.number(0, 0)});
        return taken;
      }
      case MailKind::sign_up:
        taken.is_known_login = !transaction.run(select_login_of_person, {row.login}).empty();
        taken.has_link = !taken.is_known_login;
        if (taken.has_link) {
          transaction.run(insert_mailed_link, {text::hex(link), "", row.mail.recipient,
                                               row.mail.name, now_ms + confirmation_ms});
        }
        return taken;
      case MailKind::recovery:
      case MailKind::verify_email:
        return address_person(transaction, std::move(taken), row, link, now_ms);
    }
    return std::nullopt;
  }

  std::optional<TakenMail> address_person(Transaction& transaction, TakenMail taken,
                                          const MailRow& row, const crypto::Sha256& link,
                                          std::int64_t now_ms) const {
    const Rows found = transaction.run(select_address, {row.person_id, row.login});
    if (found.empty()) return std::nullopt;
    const bool is_recovery = row.mail.kind == MailKind::recovery;
    if (is_recovery) {
      if (found.number(0, 2) < 0) return std::nullopt;
      taken.mail.recipient = found.text(0, 1);
      transaction.run(set_recipient, {taken.mail.recipient, found.text(0, 0), taken.mail.id});
    } else if (found.text(0, 3) != taken.mail.recipient) {
      return std::nullopt;  // another address was requested since
    }
    transaction.run(insert_sent_link,
                    {text::hex(link), found.text(0, 0), own_principal,
                     now_ms + (is_recovery ? recovery_ms : confirmation_ms),
                     is_recovery ? "recovery" : "verify_email", taken.mail.recipient});
    return taken;
  }

  void end(Transaction& transaction, const Mail& mail, MailOutcome outcome,
           std::string_view problem) const {
    transaction.run(end_mail, {context_.now_ms(transaction), name_of(outcome), problem, mail.id,
                               mail.tries});
  }

  Result<Unit, base::Error> set_email(Transaction& transaction, std::string_view email,
                                      std::int64_t verified_at_ms, std::string_view action,
                                      const identity::RenewedSession& session,
                                      const Actor& actor) const {
    if (!lock_active_person(transaction, actor.person_id)) return proved_nobody();
    // Notifies the address that was verified before the change.
    tell_person(context_, transaction, actor.person_id, Notice::email_changed, email, actor);
    transaction.run(update_email, {email, verified_at_ms, actor.person_id});
    if (!renew_session(context_, transaction, actor.person_id, session)) return proved_nobody();
    audit(transaction, actor, action, actor.person_id);
    return Unit{};
  }

  const Context& context_;
};

}  // namespace

std::string queue_mail(const Context& context, Transaction& transaction, const NewMail& mail) {
  std::string id = context.new_id("eml_");
  transaction.run(insert_mail, {id, name_of(mail.kind), mail.recipient, mail.person_id, mail.login,
                                mail.object_id, mail.name, mail.role, mail.detail,
                                context.now_ms(transaction), mail.expires_at_ms});
  return id;
}

void tell_person(const Context& context, Transaction& transaction, std::string_view person_id,
                 Notice notice, std::string_view detail, const Actor& actor) {
  const std::int64_t now_ms = context.now_ms(transaction);
  const Rows rows = transaction.run(select_address, {person_id, ""});
  const bool is_reached =
      context.database.settings().sends_mail && !rows.empty() && rows.number(0, 2) >= 0;
  if (is_reached) {
    queue_mail(context, transaction,
               {.kind = MailKind::notice,
                .recipient = rows.text(0, 1),
                .person_id = std::string(person_id),
                .name = std::string(name_of(notice)),
                .role = actor.address,
                .detail = std::string(detail),
                .expires_at_ms = now_ms + notice_days_max * one_day_ms});
    return;
  }
  transaction.run(insert_notice, {context.new_id("ntc_"), person_id, name_of(notice), detail,
                                  actor.address, now_ms});
}

bool has_verified_email(Transaction& transaction, std::string_view person_id,
                        std::string_view email) {
  const Rows rows = transaction.run(select_address, {person_id, ""});
  return !rows.empty() && rows.number(0, 2) >= 0 && identity::is_same_email(rows.text(0, 1), email);
}

bool take_try(const Context& context, Transaction& transaction, std::string_view key,
              std::int64_t window_ms, std::int64_t tries_max) {
  const std::int64_t now_ms = context.now_ms(transaction);
  const std::int64_t starts_ms = now_ms - now_ms % window_ms;
  return transaction.run(count_try, {key, starts_ms, starts_ms + window_ms}).number(0, 0) <=
         tries_max;
}

std::unique_ptr<identity::MailStore> make_mail_store(const Context& context) {
  return std::make_unique<SqlMailStore>(context);
}

}  // namespace turnpike::storage
