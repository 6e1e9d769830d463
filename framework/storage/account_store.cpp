#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using identity::Account;
using identity::AccountStatus;

constexpr Query insert_account{
    "INSERT INTO account (id, name, status, created_at) VALUES ($1, $2, 'provisioning', $3)"};
constexpr Query select_account{"SELECT id, name, status, created_at FROM account WHERE id = $1",
                               "ttti"};
constexpr Query select_accounts{
    "SELECT id, name, status, created_at FROM account ORDER BY created_at, id", "ttti"};
constexpr Query select_accounts_in{
    "SELECT id, name, status, created_at FROM account WHERE status = $1 ORDER BY created_at, id",
    "ttti"};
// The first statement of activate(): it takes the row, so two nodes come one after the other.
constexpr Query touch_account{
    "UPDATE account SET name = name WHERE id = $1 RETURNING id, name, status, created_at", "ttti"};
constexpr Query update_status{
    "UPDATE account SET status = $1 WHERE id = $2 RETURNING id, name, status, created_at", "ttti"};
constexpr Query next_change{
    "UPDATE counter SET value = value + 1 WHERE name = 'identity_change' RETURNING value", "i"};
constexpr Query insert_change{
    "INSERT INTO identity_change (sequence, account_id, digest) VALUES ($1, $2, '')"};

Account account_at(const Rows& rows, std::size_t row) {
  return {rows.text(row, 0), rows.text(row, 1),
          identity::account_status(rows.text(row, 2)).value_or(AccountStatus::closed),
          rows.number(row, 3)};
}

base::Error absent() { return {ErrorCode::account_absent, "There is no account with this id."}; }

void set_status_in(Transaction& transaction, Account& account, AccountStatus status) {
  const Rows rows = transaction.run(update_status, {identity::name_of(status), account.id});
  account = account_at(rows, 0);
  const std::int64_t sequence = transaction.run(next_change).number(0, 0);
  transaction.run(insert_change, {sequence, account.id});
}

class SqlAccountStore final : public identity::AccountStore {
 public:
  explicit SqlAccountStore(const Context& context) : context_(context) {}

  Result<Account, base::Error> create(std::string_view name) override {
    return answered<Account>(context_, ErrorCode::account_read_failed, "create account", [&] {
      Account account{context_.new_id("acc_"), std::string(name), AccountStatus::provisioning,
                      context_.clock.now_ms()};
      return context_.database.write([&](Transaction& transaction) {
        transaction.run(insert_account, {account.id, account.name, account.created_at_ms});
        return account;
      });
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
        if (grant.units > 0) book_starter(transaction, account, grant);
        set_status_in(transaction, account, AccountStatus::active);
        return account;
      });
    });
  }

  Result<Account, base::Error> set_status(std::string_view account_id,
                                          AccountStatus status) override {
    using Answer = Result<Account, base::Error>;
    return answered<Account>(context_, ErrorCode::account_read_failed, "set account status", [&] {
      return context_.database.write([&](Transaction& transaction) -> Answer {
        const Rows rows = transaction.run(touch_account, {account_id});
        if (rows.empty()) return absent();
        Account account = account_at(rows, 0);
        if (account.status != status) set_status_in(transaction, account, status);
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

 private:
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
    book_allocation(transaction, allocation, now_ms);  // a second one is refused by its index
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<identity::AccountStore> make_account_store(const Context& context) {
  return std::make_unique<SqlAccountStore>(context);
}

}  // namespace turnpike::storage
