#include "storage/people/person_rows.h"

#include <algorithm>

#include "storage/people/audit_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

constexpr Query take_status{"UPDATE person SET name = name WHERE id = $1 RETURNING status", "t"};
constexpr Query update_sign_in{"UPDATE person SET last_sign_in_at = $1 WHERE id = $2"};
constexpr Query insert_person_row{
    "INSERT INTO person (id, name, login, webauthn_handle, status, created_at, email,"
    " email_verified_at) VALUES ($1, $2, $3, $4, 'active', $5, $6, $7)"
    " ON CONFLICT (login) DO NOTHING RETURNING id",
    "t"};
constexpr std::int64_t credentials_max = 50;  // of a person
constexpr Query count_credentials{
    "SELECT (SELECT COUNT(*) FROM passkey WHERE person_id = $1)"
    " + (SELECT COUNT(*) FROM password WHERE person_id = $1)"
    " + (SELECT COUNT(*) FROM external_identity WHERE person_id = $1)",
    "i"};

constexpr Query select_passkey_domains{"SELECT rp_id FROM passkey WHERE person_id = $1", "t"};
constexpr Query select_password_of{"SELECT person_id FROM password WHERE person_id = $1", "t"};
constexpr Query select_issuers{"SELECT issuer FROM external_identity WHERE person_id = $1", "t"};

}  // namespace

identity::Person person_at(const Rows& rows, std::size_t row) {
  identity::Person person;
  person.id = rows.text(row, 0);
  person.name = rows.text(row, 1);
  person.login = rows.text(row, 2);
  person.email = rows.text(row, 3);
  person.is_email_verified = rows.number(row, 4) >= 0;
  person.webauthn_handle = stored_bytes(rows.text(row, 5));
  person.is_disabled = rows.text(row, 6) != "active";
  person.created_at_ms = rows.number(row, 7);
  if (const std::int64_t at_ms = rows.number(row, 8); at_ms >= 0) {
    person.last_sign_in_at_ms = at_ms;
  }
  person.new_email = rows.text(row, 9);
  return person;
}

std::string stored_bytes(const std::string& text) {
  if (auto bytes = text::from_base64url(text)) return *std::move(bytes);
  throw StoreError(StoreError::Kind::fatal, "a credential that is not base64url");
}

bool lock_active_person(Transaction& transaction, std::string_view person_id) {
  const Rows rows = transaction.run(take_status, {person_id});
  return !rows.empty() && rows.text(0, 0) == "active";
}

Result<Unit, base::Error> insert_person(const Context& context, Transaction& transaction,
                                        std::string_view id, const identity::NewPerson& wanted,
                                        std::string_view account_id, const identity::Actor& actor) {
  const std::int64_t now_ms = context.now_ms(transaction);
  const std::int64_t verified_at_ms = wanted.verified_email.empty() ? -1 : now_ms;
  if (transaction
          .run(insert_person_row,
               {id, wanted.name, wanted.login, text::base64url(wanted.webauthn_handle), now_ms,
                wanted.verified_email, verified_at_ms})
          .empty()) {
    return base::Error{base::ErrorCode::identity_login_taken, "Somebody has this login already."};
  }
  write_audit(context, transaction,
              {.actor = actor,
               .account_id = std::string(account_id),
               .action = "person.create",
               .target = std::string(id)});
  return Unit{};
}

identity::BegunSession begin_as(const Context& context, Transaction& transaction,
                                const std::string& person_id, const identity::NewSession& session,
                                const identity::Actor& actor) {
  transaction.run(update_sign_in, {context.now_ms(transaction), person_id});
  return {begin_session(context, transaction, person_id, session, actor), person_id};
}

std::int64_t credentials_of(Transaction& transaction, std::string_view person_id) {
  return transaction.run(count_credentials, {person_id}).number(0, 0);
}

std::optional<base::Error> why_no_more_credentials(Transaction& transaction,
                                                   std::string_view person_id) {
  if (credentials_of(transaction, person_id) < credentials_max) return std::nullopt;
  return base::Error{base::ErrorCode::identity_too_many_credentials,
                     "You have " + std::to_string(credentials_max) +
                         " ways to sign in, the most there may be: remove one first."};
}

namespace {

// True if the person has a credential that the current SignInWays accept.
bool has_working_credential(const SignInWays& ways, Transaction& transaction,
                            std::string_view person_id) {
  const auto is_in = [](const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  const Rows domains = transaction.run(select_passkey_domains, {person_id});
  for (std::size_t row = 0; row < domains.size(); ++row) {
    if (!is_in(ways.former_passkey_domains, domains.text(row, 0))) return true;
  }
  if (ways.takes_passwords && !transaction.run(select_password_of, {person_id}).empty()) {
    return true;
  }
  const Rows issuers = transaction.run(select_issuers, {person_id});
  for (std::size_t row = 0; row < issuers.size(); ++row) {
    if (!ways.issuers || is_in(*ways.issuers, issuers.text(row, 0))) return true;
  }
  return false;
}

}  // namespace

std::optional<base::Error> why_credential_stays(const Context& context, Transaction& transaction,
                                                std::string_view person_id) {
  const SignInWays& ways = context.database.settings().sign_in;
  if (has_working_credential(ways, transaction, person_id)) return std::nullopt;
  return base::Error{base::ErrorCode::identity_last_credential,
                     "This is the last credential that lets you in: add another one first."};
}

base::Error proved_nobody() {
  return {base::ErrorCode::auth_sign_in_failed, "This did not prove who you are."};
}

}  // namespace turnpike::storage
