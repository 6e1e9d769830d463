#include "storage/books/key_windows.h"

#include <algorithm>
#include <limits>

namespace turnpike::storage {
namespace {

using ledger::Credits;

// Caps of an API key or a grant; the prefixes of their ids differ.
constexpr Query select_caps{
    "SELECT cap_per_day, cap_per_month FROM api_key WHERE id = $1 UNION ALL"
    " SELECT cap_per_day, cap_per_month FROM oauth_grant WHERE id = $1",
    "ii"};
// Creates the window if it is new, and locks its row.
constexpr Query lock_window{
    "INSERT INTO key_window (key_id, span, starts_at, taken) VALUES ($1, $2, $3, 0)"
    " ON CONFLICT (key_id, span, starts_at) DO UPDATE SET taken = key_window.taken"
    " RETURNING taken",
    "i"};
constexpr Query add_taken{
    "UPDATE key_window SET taken = taken + $1 WHERE key_id = $2 AND span = $3 AND starts_at = $4"};
constexpr Query select_spent{
    "SELECT CAST(COALESCE(SUM(settled), 0) AS BIGINT) AS spent FROM lease_now"
    " WHERE key_id = $1 AND day >= $2 AND day < $3",
    "i"};

constexpr Query select_capped{
    "SELECT k.id, k.cap_per_day, k.cap_per_month, COALESCE(d.taken, 0), COALESCE(m.taken, 0)"
    " FROM api_key k"
    " LEFT JOIN key_window d ON d.key_id = k.id AND d.span = 'day' AND d.starts_at = $1"
    " LEFT JOIN key_window m ON m.key_id = k.id AND m.span = 'month' AND m.starts_at = $2"
    " WHERE k.account_id = $3 AND k.revoked_at = -1"
    " AND (k.cap_per_day >= 0 OR k.cap_per_month >= 0) ORDER BY k.id",
    "tiiii"};

constexpr std::string_view day_span = "day";
constexpr std::string_view month_span = "month";

}  // namespace

Credits KeyWindows::Window::room() const {
  return cap < 0 ? std::numeric_limits<Credits>::max() : std::max<Credits>(0, cap - taken);
}

KeyWindows::KeyWindows(Transaction& transaction, std::span<const ledger::LeaseRequest> requests,
                       std::int64_t now_ms)
    : transaction_(transaction),
      now_ms_(now_ms),
      day_(ledger::utc_day(now_ms)),
      month_(ledger::utc_month(now_ms)) {
  for (const ledger::LeaseRequest& request : requests) {
    if (!request.key_id.empty()) keys_[request.key_id];
  }
  for (auto& [id, key] : keys_) {  // the same lock order on all nodes
    const Rows caps = transaction_.run(select_caps, {id});
    if (!caps.empty()) {
      key.day.cap = caps.number(0, 0);
      key.month.cap = caps.number(0, 1);
    }
    key.day.taken = transaction_.run(lock_window, {id, day_span, day_.starts_at_ms}).number(0, 0);
    key.month.taken =
        transaction_.run(lock_window, {id, month_span, month_.starts_at_ms}).number(0, 0);
  }
}

Credits KeyWindows::room(const std::string& key_id) const {
  if (key_id.empty()) return std::numeric_limits<Credits>::max();
  const Key& key = keys_.at(key_id);
  return std::min(key.day.room(), key.month.room());
}

void KeyWindows::take(const std::string& key_id, Credits units) {
  if (key_id.empty() || units == 0) return;
  Key& key = keys_.at(key_id);
  key.day.taken += units;
  key.month.taken += units;
  transaction_.run(add_taken, {units, key_id, day_span, day_.starts_at_ms});
  transaction_.run(add_taken, {units, key_id, month_span, month_.starts_at_ms});
}

template <class Reads>
void KeyWindows::add_room(Reads& reads, const std::string& key_id, std::string_view span,
                          const Window& window, const ledger::SpendWindow& time,
                          std::int64_t now_ms, std::vector<ledger::CapRoom>& rooms) {
  if (window.cap < 0) return;
  const Credits spent =
      reads.run(select_spent, {key_id, time.starts_at_ms, time.ends_at_ms}).number(0, 0);
  rooms.push_back({span, window.cap, window.cap - spent, time.ends_at_ms, time.ends_at_ms - now_ms,
                   window.room()});
}

std::vector<ledger::CapRoom> KeyWindows::caps(const std::string& key_id) const {
  std::vector<ledger::CapRoom> rooms;
  if (key_id.empty()) return rooms;
  const Key& key = keys_.at(key_id);
  add_room(transaction_, key_id, day_span, key.day, day_, now_ms_, rooms);
  add_room(transaction_, key_id, month_span, key.month, month_, now_ms_, rooms);
  return rooms;
}

std::vector<ledger::CapsOfKey> KeyWindows::of_account(Connection& connection,
                                                      std::string_view account_id,
                                                      std::int64_t now_ms) {
  const ledger::SpendWindow day = ledger::utc_day(now_ms);
  const ledger::SpendWindow month = ledger::utc_month(now_ms);
  const Rows rows =
      connection.run(select_capped, {day.starts_at_ms, month.starts_at_ms, account_id});
  std::vector<ledger::CapsOfKey> keys;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ledger::CapsOfKey key{rows.text(row, 0), {}};
    add_room(connection, key.key_id, day_span, {rows.number(row, 1), rows.number(row, 3)}, day,
             now_ms, key.caps);
    add_room(connection, key.key_id, month_span, {rows.number(row, 2), rows.number(row, 4)}, month,
             now_ms, key.caps);
    keys.push_back(std::move(key));
  }
  return keys;
}

void KeyWindows::give_back(Transaction& transaction, const Returned& units) {
  for (const auto& [lease, count] : units) {
    const auto& [key_id, day] = lease;
    const std::int64_t month = ledger::utc_month(day).starts_at_ms;
    transaction.run(add_taken, {-count, key_id, day_span, day});
    transaction.run(add_taken, {-count, key_id, month_span, month});
  }
}

}  // namespace turnpike::storage
