#include "storage/stores.h"

#include <algorithm>
#include <array>

#include "text/encoding.h"

namespace turnpike::storage {
namespace {

constexpr Query next_change{
    "UPDATE counter SET value = value + 1 WHERE name = 'identity_change' RETURNING value", "i"};
constexpr Query insert_change{
    "INSERT INTO identity_change (sequence, account_id, digest) VALUES ($1, $2, $3)"};
constexpr Query stored_time{"SELECT value FROM counter WHERE name = 'ledger_time'", "i"};
// Locks the account: allocations of one account are serialized, so their posting numbers follow the
// commit order, and a list ordered by number only grows at its end.
constexpr Query lock_account{"UPDATE account SET name = name WHERE id = $1 RETURNING id", "t"};
constexpr Query insert_allocation{
    "INSERT INTO allocation (id, account_id, origin, units, remaining, created_at, effective_at,"
    " expires_at) VALUES ($1, $2, $3, $4, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING id",
    "t"};
constexpr Query insert_issue{
    "INSERT INTO posting (at, account_id, allocation_id, lease_id, from_book, to_book, units)"
    " VALUES ($1, $2, $3, 0, 'issued', 'available', $4)"};

}  // namespace

std::int64_t Context::now_ms(Transaction& transaction) const {
  if (time == TimeSource::argument || database.engine() == Engine::sqlite) return clock.now_ms();
  return transaction.run(server_time).number(0, 0);
}

std::int64_t Context::now_ms(Connection& connection) const {
  if (time == TimeSource::argument || database.engine() == Engine::sqlite) return clock.now_ms();
  return connection.run(server_time).number(0, 0);
}

std::string Context::new_id(std::string_view prefix) const {
  std::array<std::uint8_t, 16> bytes{};
  random.fill(bytes);
  return std::string(prefix) + text::base62(bytes, 22);
}

void Context::report(std::string_view what, const StoreError& error) const {
  if (log == nullptr) return;
  log->write(Severity::error, "store_failed", {{"what", what}, {"reason", error.what()}});
}

std::int64_t ledger_now_ms(const Context& context, Transaction& transaction) {
  return std::max(transaction.run(stored_time).number(0, 0), context.now_ms(transaction));
}

std::int64_t ledger_now_ms(const Context& context, Connection& connection) {
  return std::max(connection.run(stored_time).number(0, 0), context.now_ms(connection));
}

void record_identity_change(Transaction& transaction, std::string_view account_id,
                            std::string_view digest) {
  const std::int64_t sequence = transaction.run(next_change).number(0, 0);
  transaction.run(insert_change, {sequence, account_id, digest});
}

bool book_allocation(Transaction& transaction, const ledger::Allocation& allocation,
                     std::int64_t now_ms) {
  transaction.run(lock_account, {allocation.account_id});
  const Rows inserted = transaction.run(
      insert_allocation,
      {allocation.id, allocation.account_id, ledger::name_of(allocation.origin), allocation.units,
       allocation.created_at_ms, allocation.effective_at_ms, allocation.expires_at_ms});
  if (inserted.empty()) return false;
  transaction.run(insert_issue, {now_ms, allocation.account_id, allocation.id, allocation.units});
  return true;
}

}  // namespace turnpike::storage
