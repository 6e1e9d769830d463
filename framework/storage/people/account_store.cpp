#include <algorithm>
#include <limits>

#include "storage/people/account_rows.h"
#include "storage/people/audit_rows.h"
#include "storage/people/member_rows.h"
#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Account;
using identity::AccountStatus;

constexpr Query insert_account{
    "INSERT INTO account (id, name, status, created_at, owner)"
    " VALUES ($1, $2, 'provisioning', $3, $4)"};
constexpr Query select_account{
    "SELECT id, name, status, created_at, owner FROM account WHERE id = $1", "tttit"};
constexpr Query select_accounts{
    "SELECT id, name, status, created_at, owner FROM account ORDER BY created_at, id", "tttit"};
constexpr Query select_accounts_in{
    "SELECT id, name, status, created_at, owner FROM account WHERE status = $1 ORDER BY "
    "created_at, id",
    "tttit"};
constexpr Query search_accounts{
    "SELECT id, name, status, created_at, owner FROM account"
    " WHERE (created_at, id) < ($1, $2) AND ($3 = '' OR status = $3)"
    " AND ($4 = '' OR id = $4 OR owner = $4 OR LOWER(name) LIKE $5 ESCAPE '!'"
    "   OR id IN (SELECT account_id FROM api_key WHERE prefix = $4))"
    " ORDER BY created_at DESC, id DESC LIMIT $6",
    "tttit"};
// The first statement of activate(): it locks the row, so that nodes activate one after the other.
constexpr Query touch_account{
    "UPDATE account SET name = name WHERE id = $1 RETURNING id, name, status, created_at, owner",
    "tttit"};
constexpr Query update_status{
    "UPDATE account SET status = $1 WHERE id = $2 RETURNING id, name, status, created_at, owner",
    "tttit"};
constexpr Query select_starter{
    "SELECT id FROM allocation WHERE account_id = $1 AND origin = 'starter_grant'", "t"};
// Waits if another transaction is claiming for the same owner.
constexpr Query insert_starter_claim{
    "INSERT INTO starter_claim (owner, account_id) VALUES ($1, $2)"
    " ON CONFLICT DO NOTHING RETURNING owner",
    "t"};

base::Error absent() { return {ErrorCode::account_absent, "There is no account with this id."}; }

void set_status_in(Transaction& transaction, Account& account, AccountStatus status) {
  const Rows rows = transaction.run(update_status, {identity::name_of(status), account.id});
  account = account_at(rows, 0);
  record_identity_change(transaction, account.id, "");
}

// A LIKE pattern that matches names containing the text.
std::string pattern_of(std::string_view text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '!') pattern += '!';
    pattern += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return pattern + "%";
}

class SqlAccountStore final : public identity::AccountStore {
 public:
  explicit SqlAccountStore(const Context& context) : context_(context) {}

  Result<Account, base::Error> create(std::string_view name, std::string_view owner,
                                      const std::optional<identity::Founder>& founder) override {
    return changed<Account>(context_, ErrorCode::account_read_failed, "create account",
                            [&](Transaction& transaction) {
                              return insert_account_as(context_, transaction, name, owner, founder);
                            });
  }

  Result<Account, base::Error> activate(std::string_view account_id,
                                        const identity::StarterGrant& grant) override {
    using Answer = Result<Account, base::Error>;
    return answered<Account>(context_, ErrorCode::account_read_failed, "activate account", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        const Rows rows = transaction.run(touch_account, {account_id});
        if (rows.empty()) return absent();
        Account account = account_at(rows, 0);
        if (account.status != AccountStatus::provisioning) return account;
        const bool is_possible = transaction.run(select_starter, {account.id}).empty();
        if (is_possible && claims_starter(transaction, account, grant)) {
          book_starter(transaction, account, grant);
        }
        set_status_in(transaction, account,
                      is_possible ? AccountStatus::active : AccountStatus::provisioning_failed);
        return account;
      });
    });
  }

  Result<Account, base::Error> set_status(std::string_view account_id, AccountStatus status,
                                          std::initializer_list<AccountStatus> from) override {
    using Answer = Result<Account, base::Error>;
    return answered<Account>(context_, ErrorCode::account_read_failed, "set account status", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        const Rows rows = transaction.run(touch_account, {account_id});
        if (rows.empty()) return absent();
        Account account = account_at(rows, 0);
        if (account.status == status) return account;
        if (from.size() > 0 && std::find(from.begin(), from.end(), account.status) == from.end()) {
          return base::Error{ErrorCode::request_malformed,
                             "The account is " + std::string(identity::name_of(account.status)) +
                                 " and cannot become " + std::string(identity::name_of(status)) +
                                 "."};
        }
        set_status_in(transaction, account, status);
        return account;
      });
    });
  }

  Result<std::optional<Account>, base::Error> find(std::string_view account_id) override {
    using Answer = std::optional<Account>;
    return answered<Answer>(context_, ErrorCode::account_read_failed, "find account", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_account, {account_id});
        if (rows.empty()) return std::nullopt;
        return account_at(rows, 0);
      });
    });
  }

  Result<std::vector<Account>, base::Error> list(std::optional<AccountStatus> status) override {
    using Answer = std::vector<Account>;
    return answered<Answer>(context_, ErrorCode::account_read_failed, "list accounts", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = status ? connection.run(select_accounts_in, {identity::name_of(*status)})
                                 : connection.run(select_accounts);
        Answer accounts;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          accounts.push_back(account_at(rows, row));
        }
        return accounts;
      });
    });
  }

  Result<std::vector<Account>, base::Error> search(const identity::AccountQuery& query) override {
    using Answer = std::vector<Account>;
    return answered<Answer>(context_, ErrorCode::account_read_failed, "search accounts", [&] {
      return context_.database.with([&](Connection& connection) {
        const bool is_first = query.before_created_at_ms == 0;
        const Rows rows = connection.run(
            search_accounts,
            {is_first ? std::numeric_limits<std::int64_t>::max() : query.before_created_at_ms,
             query.before_id, query.status ? identity::name_of(*query.status) : "", query.text,
             pattern_of(query.text), std::int64_t{query.limit}});
        Answer accounts;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          accounts.push_back(account_at(rows, row));
        }
        return accounts;
      });
    });
  }

 private:
  static bool claims_starter(Transaction& transaction, const Account& account,
                             const identity::StarterGrant& grant) {
    if (grant.units == 0) return false;
    if (account.owner.empty()) return !grant.needs_owner;
    return !transaction.run(insert_starter_claim, {account.owner, account.id}).empty();
  }

  void book_starter(Transaction& transaction, const Account& account,
                    const identity::StarterGrant& grant) const {
    const std::int64_t now_ms = ledger_now_ms(context_, transaction);
    ledger::Allocation allocation;
    allocation.id = context_.new_id("alc_");
    allocation.account_id = account.id;
    allocation.origin = ledger::Origin::starter_grant;
    allocation.units = grant.units;
    allocation.created_at_ms = now_ms;
    allocation.effective_at_ms = now_ms;
    allocation.expires_at_ms = now_ms + grant.valid_ms;
    book_allocation(transaction, allocation, now_ms);
  }

  const Context& context_;
};

}  // namespace

Result<Account, base::Error> insert_account_as(const Context& context, Transaction& transaction,
                                               std::string_view name, std::string_view owner,
                                               const std::optional<identity::Founder>& founder) {
  Account account{context.new_id("acc_"), std::string(name), AccountStatus::provisioning,
                  context.clock.now_ms(), std::string(owner)};
  transaction.run(insert_account, {account.id, account.name, account.created_at_ms, account.owner});
  if (!founder) return account;
  write_audit(context, transaction,
              {.actor = founder->actor,
               .account_id = account.id,
               .action = "account.create",
               .target = account.id});
  const auto added = add_member(context, transaction, {account.id, identity::Role::owner},
                                founder->person_id, founder->actor);
  if (!added.ok()) return added.error();
  return account;
}

identity::Account account_at(const Rows& rows, std::size_t row) {
  return {rows.text(row, 0), rows.text(row, 1),
          identity::account_status(rows.text(row, 2)).value_or(AccountStatus::closed),
          rows.number(row, 3), rows.text(row, 4)};
}

std::optional<base::Error> why_not_given(Transaction& transaction, std::string_view account_id) {
  const Rows rows = transaction.run(touch_account, {account_id});
  if (rows.empty()) return absent();
  switch (account_at(rows, 0).status) {
    case AccountStatus::provisioning:
    case AccountStatus::active:
    case AccountStatus::suspended:
      return std::nullopt;
    case AccountStatus::provisioning_failed:
      return base::Error{ErrorCode::account_absent,
                         "The account could not be set up, which is final: create another one."};
    case AccountStatus::closed:
      break;
  }
  return base::Error{ErrorCode::account_closed,
                     "The account is closed, which is final: create another one."};
}

std::unique_ptr<identity::AccountStore> make_account_store(const Context& context) {
  return std::make_unique<SqlAccountStore>(context);
}

}  // namespace turnpike::storage
