#include "identity/password_store.h"

#include <variant>

#include "storage/people/audit_rows.h"
#include "storage/people/mail_rows.h"
#include "storage/people/person_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::Error;
using base::ErrorCode;
using identity::Actor;
using identity::BegunSession;
using identity::ComparedPassword;
using identity::Credentials;
using identity::KnownDevice;
using identity::NewPassword;
using identity::NewSession;
using identity::PasswordTry;
using identity::RenewedSession;

constexpr std::int64_t devices_max = 50;  // per person
// Failures of an unknown login are forgotten this long after the last delay.
constexpr std::int64_t login_kept_ms = 24 * 3'600'000ll;

constexpr Query select_credentials{
    "SELECT (SELECT COUNT(*) FROM passkey WHERE person_id = $1),"
    " (SELECT COUNT(*) FROM password WHERE person_id = $1),"
    " (SELECT COUNT(*) FROM recovery_code WHERE person_id = $1 AND used_at = -1)",
    "iii"};
constexpr Query select_id_of_login{"SELECT id FROM person WHERE login = $1", "t"};
constexpr Query select_stored{"SELECT hash, failures, retry_at FROM password WHERE person_id = $1",
                              "tii"};
constexpr Query upsert_password{
    "INSERT INTO password (person_id, hash, changed_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (person_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at,"
    " failures = 0, retry_at = -1"};
constexpr Query clear_failures{
    "UPDATE password SET failures = 0, retry_at = -1,"
    " hash = CASE WHEN $1 = '' THEN hash ELSE $1 END WHERE person_id = $2"};
constexpr Query count_of_person{
    "UPDATE password SET failures = $1, retry_at = $2 WHERE person_id = $3"};
constexpr Query delete_password{"DELETE FROM password WHERE person_id = $1 RETURNING person_id",
                                "t"};

constexpr Query select_device{
    "SELECT failures, retry_at FROM known_device"
    " WHERE digest = $1 AND person_id = $2 AND expires_at > $3",
    "ii"};
constexpr Query upsert_device{
    "INSERT INTO known_device (digest, person_id, expires_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (digest, person_id) DO UPDATE SET expires_at = excluded.expires_at,"
    " failures = 0, retry_at = -1"};
constexpr Query delete_oldest_devices{
    "DELETE FROM known_device WHERE person_id = $1 AND digest IN (SELECT digest FROM known_device"
    " WHERE person_id = $1 ORDER BY expires_at DESC, digest LIMIT 1000 OFFSET $2)"};
constexpr Query count_of_device{
    "UPDATE known_device SET failures = $1, retry_at = $2 WHERE digest = $3 AND person_id = $4"};
constexpr Query forget_devices{"DELETE FROM known_device WHERE person_id = $1"};

// Tries of a login that no person with a password has; ends_at: login_kept_ms after its delay.
constexpr Query select_login_tries{"SELECT tries, ends_at FROM throttle WHERE key = $1", "ii"};
constexpr Query take_login_tries{
    "INSERT INTO throttle (key, starts_at, ends_at, tries) VALUES ($1, 0, $2, 0)"
    " ON CONFLICT (key, starts_at) DO UPDATE SET tries = throttle.tries"};
constexpr Query count_of_login{"UPDATE throttle SET tries = $1, ends_at = $2 WHERE key = $3"};

// The counter that applies to a try, and its value.
struct Counter {
  enum class Kind : std::uint8_t { device, person, login };
  Kind kind = Kind::login;
  std::string key;  // digest of the device, or key of the login
  std::int64_t failures = 0;
  std::int64_t retry_at_ms = -1;
};

std::string login_key(const PasswordTry& tried) {
  return "login:" + crypto::sha256_hex(tried.login);
}

template <class Session>
Counter login_counter(Session& session, const PasswordTry& tried) {
  Counter counter{.key = login_key(tried)};
  const Rows rows = session.run(select_login_tries, {counter.key});
  if (rows.empty()) return counter;
  counter.failures = rows.number(0, 0);
  counter.retry_at_ms = rows.number(0, 1) - login_kept_ms;
  return counter;
}

// A browser with too many failures of its own no longer counts as known.
template <class Session>
Counter counter_of(Session& session, const PasswordTry& tried, std::string_view person_id,
                   const Rows& stored, std::int64_t now_ms) {
  if (stored.empty()) return login_counter(session, tried);
  if (tried.device) {
    const std::string digest = text::hex(*tried.device);
    const Rows rows = session.run(select_device, {digest, person_id, now_ms});
    if (!rows.empty() && rows.number(0, 0) < identity::password_failures_max) {
      return {Counter::Kind::device, digest, rows.number(0, 0), rows.number(0, 1)};
    }
  }
  return {Counter::Kind::person, {}, stored.number(0, 1), stored.number(0, 2)};
}

std::optional<Error> why_wait(const Counter& counter, std::int64_t now_ms) {
  constexpr std::uint32_t hopeless_seconds = 900;
  if (counter.failures >= identity::password_failures_max) {
    return Error{ErrorCode::auth_throttled,
                 "Too many wrong passwords in a row: use a browser in which you have signed in "
                 "with it before, or another way to sign in.",
                 hopeless_seconds};
  }
  if (now_ms >= counter.retry_at_ms) return std::nullopt;
  return Error{ErrorCode::auth_throttled,
               "Too many wrong passwords in a row: wait, or sign in another way.",
               static_cast<std::uint32_t>((counter.retry_at_ms - now_ms + 999) / 1'000)};
}

Error wrong_password() {
  return {ErrorCode::auth_sign_in_failed, "Login and password do not belong together."};
}

// The result of a try. A failed try must be counted, so it is not an error that rolls back.
template <class T>
using Tried = std::variant<T, Error>;

class SqlPasswordStore final : public identity::PasswordStore {
 public:
  explicit SqlPasswordStore(const Context& context) : context_(context) {}

  Result<Credentials, Error> credentials(std::string_view person_id) override {
    return answered<Credentials>(context_, ErrorCode::auth_unavailable, "find credentials", [&] {
      return context_.database.with([&](Connection& connection) -> Credentials {
        const Rows rows = connection.run(select_credentials, {person_id});
        return {rows.number(0, 0), rows.number(0, 1) > 0, rows.number(0, 2)};
      });
    });
  }

  Result<std::string, Error> begin_try(const PasswordTry& tried) override {
    using Answer = Result<std::string, Error>;
    return answered<std::string>(context_, ErrorCode::auth_unavailable, "begin password", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const std::int64_t now_ms = context_.now_ms(connection);
        const std::string person_id = person_of(connection, tried);
        const Rows stored = connection.run(select_stored, {person_id});
        const Counter counter = counter_of(connection, tried, person_id, stored, now_ms);
        if (auto wait = why_wait(counter, now_ms)) return *std::move(wait);
        return stored.empty() ? std::string() : stored.text(0, 0);
      });
    });
  }

  Result<BegunSession, Error> sign_in(const PasswordTry& tried, const ComparedPassword& compared,
                                      const KnownDevice& device, const NewSession& session,
                                      const Actor& actor) override {
    using Answer = Result<Tried<BegunSession>, Error>;
    return judged<BegunSession>("sign in with password", [&](Transaction& transaction) -> Answer {
      auto person = judge(transaction, tried, compared, device);
      if (!person.ok()) return std::move(person).error();
      if (!person->has_value()) return Tried<BegunSession>(wrong_password());
      return Tried<BegunSession>(begin_as(context_, transaction, **person, session, actor));
    });
  }

  Result<Unit, Error> step_up(const PasswordTry& tried, const ComparedPassword& compared,
                              const KnownDevice& device, const RenewedSession& session,
                              const Actor& actor) override {
    using Answer = Result<Tried<Unit>, Error>;
    return judged<Unit>("step up with password", [&](Transaction& transaction) -> Answer {
      const auto person = judge(transaction, tried, compared, device);
      if (!person.ok()) return person.error();
      if (!person->has_value()) return Tried<Unit>(wrong_password());
      if (!renew_session(context_, transaction, **person, session)) return proved_nobody();
      write_audit(context_, transaction,
                  {.actor = actor,
                   .action = "session.step_up",
                   .target = session.session_id,
                   .method = "password"});
      return Tried<Unit>(Unit{});
    });
  }

  Result<Unit, Error> set(const PasswordTry& tried, const NewPassword& password,
                          const KnownDevice& device, const RenewedSession& session,
                          const Actor& actor) override {
    using Answer = Result<Tried<Unit>, Error>;
    return judged<Unit>("set password", [&](Transaction& transaction) -> Answer {
      const std::string& person_id = tried.person_id;
      if (password.old) {
        const auto person = judge(transaction, tried, *password.old, device);
        if (!person.ok()) return person.error();
        if (!person->has_value()) return Tried<Unit>(wrong_password());
      } else if (!lock_active_person(transaction, person_id)) {
        return proved_nobody();
      } else if (!password.replaces_any &&
                 !transaction.run(select_stored, {person_id}).empty()) {
        return wrong_password();
      }
      if (!renew_session(context_, transaction, person_id, session)) return proved_nobody();
      const bool is_first = credentials_of(transaction, person_id) == 0;  // then no notice
      transaction.run(upsert_password,
                      {person_id, password.hash, context_.now_ms(transaction)});
      keep_device(transaction, person_id, device);
      if (password.ends_other_sessions) {
        end_sessions(context_, transaction, person_id, session.session_id);
      }
      if (!is_first) {
        tell_person(context_, transaction, person_id, identity::Notice::password_set, "", actor);
      }
      write_audit(context_, transaction,
                  {.actor = actor,
                   .action = "password.set",
                   .target = person_id,
                   .detail = password.ends_other_sessions ? "other sessions ended" : ""});
      return Tried<Unit>(Unit{});
    });
  }

  Result<bool, Error> remove(std::string_view person_id, const RenewedSession& session,
                             const Actor& actor) override {
    using Answer = Result<bool, Error>;
    return changed<bool>(
        context_, ErrorCode::auth_unavailable, "remove password",
        [&](Transaction& transaction) -> Answer {
          if (!lock_active_person(transaction, person_id)) return proved_nobody();
          if (transaction.run(select_stored, {person_id}).empty()) return false;
          transaction.run(delete_password, {person_id});
          if (auto stays = why_credential_stays(context_, transaction, person_id)) {
            return *std::move(stays);
          }
          transaction.run(forget_devices, {person_id});
          if (!renew_session(context_, transaction, person_id, session)) return proved_nobody();
          tell_person(context_, transaction, person_id, identity::Notice::password_removed, "",
                      actor);
          write_audit(
              context_, transaction,
              {.actor = actor, .action = "password.remove", .target = std::string(person_id)});
          return true;
        });
  }

 private:
  // `work` returns the result of the try, or an error that rolls back.
  template <class T, class F>
  Result<T, Error> judged(std::string_view what, F&& work) {
    auto tried = changed<Tried<T>>(context_, ErrorCode::auth_unavailable, what, work);
    if (!tried.ok()) return std::move(tried).error();
    if (auto* refused = std::get_if<Error>(&*tried)) return std::move(*refused);
    return std::get<T>(*std::move(tried));
  }

  template <class Session>
  static std::string person_of(Session& session, const PasswordTry& tried) {
    if (!tried.person_id.empty()) return tried.person_id;
    const Rows rows = session.run(select_id_of_login, {tried.login});
    return rows.empty() ? std::string() : rows.text(0, 0);
  }

  // The person; nullopt: the password was wrong, which is counted. Error: the try came too early.
  Result<std::optional<std::string>, Error> judge(Transaction& transaction,
                                                  const PasswordTry& tried,
                                                  const ComparedPassword& compared,
                                                  const KnownDevice& device) const {
    using Answer = std::optional<std::string>;
    const std::int64_t now_ms = context_.now_ms(transaction);
    const std::string person_id = person_of(transaction, tried);
    // Serializes concurrent tries for the same person or login.
    const bool is_active = lock_active_person(transaction, person_id);
    const Rows stored = transaction.run(select_stored, {person_id});
    if (stored.empty() && tried.login.empty()) return Answer();  // session without a password
    if (stored.empty()) {
      transaction.run(take_login_tries, {login_key(tried), now_ms + login_kept_ms});
    }
    const Counter counter = counter_of(transaction, tried, person_id, stored, now_ms);
    if (auto wait = why_wait(counter, now_ms)) return *std::move(wait);
    const bool is_right = is_active && compared.is_right && !stored.empty() &&
                          stored.text(0, 0) == compared.hash;
    if (!is_right) {
      count(transaction, counter, person_id, now_ms);
      return Answer();
    }
    transaction.run(clear_failures, {compared.rehashed, person_id});
    keep_device(transaction, person_id, device);
    return Answer(person_id);
  }

  static void count(Transaction& transaction, const Counter& counter, std::string_view person_id,
                    std::int64_t now_ms) {
    const std::int64_t failures = counter.failures + 1;
    const std::int64_t retry_at_ms = now_ms + identity::password_delay_ms(failures);
    switch (counter.kind) {
      case Counter::Kind::device:
        transaction.run(count_of_device, {failures, retry_at_ms, counter.key, person_id});
        break;
      case Counter::Kind::person:
        transaction.run(count_of_person, {failures, retry_at_ms, person_id});
        break;
      case Counter::Kind::login:
        transaction.run(count_of_login, {failures, retry_at_ms + login_kept_ms, counter.key});
        break;
    }
  }

  void keep_device(Transaction& transaction, std::string_view person_id,
                   const KnownDevice& device) const {
    transaction.run(upsert_device, {text::hex(device.digest), person_id,
                                    context_.now_ms(transaction) + device.valid_ms});
    transaction.run(delete_oldest_devices, {person_id, devices_max});
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<identity::PasswordStore> make_password_store(const Context& context) {
  return std::make_unique<SqlPasswordStore>(context);
}

}  // namespace turnpike::storage
