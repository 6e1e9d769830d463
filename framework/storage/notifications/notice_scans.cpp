#include <map>

#include <nlohmann/json.hpp>

#include "ledger/caps.h"
#include "storage/books/allocation_rows.h"
#include "storage/notifications/notice_rows.h"
#include "storage/notifications/notice_store.h"

namespace turnpike::storage {
namespace {

using notices::EventType;
using notices::PriceChange;
using notices::RoutePrice;

constexpr std::int64_t usage_hour_ms = 3'600'000;
constexpr std::int64_t price_usage_ms = 30 * 24 * usage_hour_ms;

constexpr Query begin_scan{
    "UPDATE notice_scan SET begun_at = $1 WHERE name = $2 AND begun_at <= $3 RETURNING name", "t"};
// Runs first in its transaction, so that nodes store prices one after the other.
constexpr Query lock_prices{"UPDATE notice_scan SET begun_at = $1 WHERE name = 'prices'"};

constexpr Query rise_above{
    "UPDATE notice_setting SET is_low = 0 WHERE is_low = 1 AND credits_low >= 0"
    " AND " BALANCE_OF("notice_setting.account_id") " * 5 > credits_low * 6"};
constexpr Query select_low_settings{
    "SELECT s.account_id, s.credits_low, s.told, " BALANCE_OF("s.account_id") " AS balance"
    " FROM notice_setting s JOIN account a ON a.id = s.account_id AND a.status <> 'closed'"
    " WHERE s.is_low = 0 AND s.credits_low >= 0"
    " AND EXISTS (SELECT 1 FROM notice_endpoint e WHERE e.account_id = s.account_id"
    " AND e.disabled = '' AND (e.types = '' OR e.types LIKE $1))"
    " AND " BALANCE_OF("s.account_id") " < s.credits_low ORDER BY s.account_id LIMIT 1000",
    "tiii"};
constexpr Query mark_low{
    "UPDATE notice_setting SET is_low = 1, told = told + 1 WHERE account_id = $1 AND told = $2"
    " AND is_low = 0 RETURNING account_id",
    "t"};

// Capped keys, and capped grants, of accounts with a subscription, that reached a cap in the
// current day or month and were not notified of it. A window exists once a call was to be paid in
// it. lease_now gives the spent units: leased but unspent units of nodes can still be used.
constexpr Query select_caps_reached{
    "SELECT w.account_id, w.key_id, w.span, w.starts_at, w.cap, w.spent, w.least FROM ("
    "SELECT k.account_id, k.id AS key_id, w.span, w.starts_at,"
    " CASE WHEN w.span = 'day' THEN k.cap_per_day ELSE k.cap_per_month END AS cap,"
    " CAST((SELECT COALESCE(SUM(l.settled), 0) FROM lease_now l WHERE l.key_id = k.id"
    " AND l.day >= w.starts_at AND l.day < CASE WHEN w.span = 'day' THEN CAST($1 AS BIGINT)"
    " ELSE CAST($2 AS BIGINT) END) AS BIGINT) AS spent,"
    " CAST(COALESCE((SELECT MIN(u.credits / u.charged) FROM usage_hour u"
    " WHERE u.account_id = k.account_id AND u.api_key_id = k.id"
    " AND u.hour >= w.starts_at / 3600000 AND u.charged > 0 AND u.credits > 0), 1) AS BIGINT)"
    " AS least"
    " FROM (SELECT id, account_id, cap_per_day, cap_per_month FROM api_key WHERE revoked_at = -1"
    " UNION ALL SELECT id, account_id, cap_per_day, cap_per_month FROM oauth_grant"
    " WHERE ended_at = -1) k"
    " JOIN key_window w ON w.key_id = k.id"
    " AND ((w.span = 'day' AND w.starts_at = $3 AND k.cap_per_day >= 0)"
    " OR (w.span = 'month' AND w.starts_at = $4 AND k.cap_per_month >= 0))"
    " WHERE k.account_id IN (SELECT e.account_id FROM notice_endpoint e WHERE e.disabled = ''"
    " AND (e.types = '' OR e.types LIKE $5))"
    " AND NOT EXISTS (SELECT 1 FROM notice_event v WHERE v.account_id = k.account_id"
    " AND v.dedupe_key = 'key.cap_reached:' || k.id || ':' || w.span || ':' || w.starts_at)"
    ") w WHERE w.cap - w.spent < w.least ORDER BY w.account_id, w.key_id, w.span LIMIT 1000",
    "tttiiii"};

// All prices in one parameter, as an array of [route, method, cost].
struct PriceQueries {
  Query changed;
  Query keep;
  Query used;
};
constexpr PriceQueries prices_of_sqlite{
    {"SELECT p.route_id, p.method, p.credit_cost, j.value ->> 2 FROM json_each($1) AS j"
     " JOIN notice_price p ON p.route_id = j.value ->> 0 AND p.method = j.value ->> 1"
     " WHERE p.credit_cost <> j.value ->> 2 ORDER BY p.route_id, p.method",
     "ttii"},
    {"INSERT INTO notice_price (route_id, method, credit_cost)"
     " SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) WHERE true"
     " ON CONFLICT (route_id, method) DO UPDATE SET credit_cost = excluded.credit_cost"
     " WHERE notice_price.credit_cost <> excluded.credit_cost"},
    {"SELECT DISTINCT u.account_id, u.route_id, u.method FROM (SELECT DISTINCT account_id"
     " FROM notice_endpoint WHERE disabled = '' AND (types = '' OR types LIKE $1)) e"
     " CROSS JOIN usage_hour u ON u.account_id = e.account_id AND u.hour >= $2"
     " WHERE (u.route_id, u.method) IN (SELECT value ->> 0, value ->> 1 FROM json_each($3))"
     " ORDER BY u.account_id, u.route_id, u.method",
     "ttt"}};
constexpr PriceQueries prices_of_postgres{
    {"SELECT p.route_id, p.method, p.credit_cost, (j.value ->> 2)::bigint"
     " FROM json_array_elements($1::json) AS j(value)"
     " JOIN notice_price p ON p.route_id = j.value ->> 0 AND p.method = j.value ->> 1"
     " WHERE p.credit_cost <> (j.value ->> 2)::bigint ORDER BY p.route_id, p.method",
     "ttii"},
    {"INSERT INTO notice_price (route_id, method, credit_cost)"
     " SELECT value ->> 0, value ->> 1, (value ->> 2)::bigint"
     " FROM json_array_elements($1::json) AS j(value)"
     " ON CONFLICT (route_id, method) DO UPDATE SET credit_cost = excluded.credit_cost"
     " WHERE notice_price.credit_cost <> excluded.credit_cost"},
    {"SELECT DISTINCT u.account_id, u.route_id, u.method FROM (SELECT DISTINCT account_id"
     " FROM notice_endpoint WHERE disabled = '' AND (types = '' OR types LIKE $1)) e"
     " JOIN usage_hour u ON u.account_id = e.account_id AND u.hour >= $2"
     " WHERE (u.route_id, u.method) IN (SELECT value ->> 0, value ->> 1"
     " FROM json_array_elements($3::json) AS j(value))"
     " ORDER BY u.account_id, u.route_id, u.method",
     "ttt"}};

constexpr Query sweep_notice_deliveries{
    "DELETE FROM notice_delivery WHERE id IN (SELECT id FROM notice_delivery"
    " WHERE ended_at >= 0 AND ended_at < $1 ORDER BY ended_at LIMIT 1000) RETURNING id",
    "t"};
// Deliveries whose endpoint was removed while the event was written.
constexpr Query sweep_orphan_deliveries{
    "DELETE FROM notice_delivery WHERE state = 'pending' AND NOT EXISTS"
    " (SELECT 1 FROM notice_endpoint e WHERE e.id = notice_delivery.endpoint_id) RETURNING id",
    "t"};
constexpr Query sweep_notice_events{
    "UPDATE notice_event SET data = '' WHERE id IN (SELECT v.id FROM notice_event v"
    " WHERE v.data <> '' AND v.happened_at < $1 AND NOT EXISTS"
    " (SELECT 1 FROM notice_delivery d WHERE d.event_id = v.id) LIMIT 1000)"};

using ChangesOfAccount = std::map<std::string, std::vector<PriceChange>>;

std::string prices_text(std::span<const RoutePrice> prices) {
  nlohmann::json list = nlohmann::json::array();
  for (const RoutePrice& price : prices) {
    list.push_back({price.route_id, price.method, price.credit_cost});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The operations of changed prices, as JSON.
std::string names_text(const Rows& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    list.push_back({rows.text(row, 0), rows.text(row, 1)});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<PriceChange> changes_at(const Rows& rows, std::span<const RoutePrice> prices) {
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> paths;
  for (const RoutePrice& price : prices) paths[{price.route_id, price.method}] = price.path;
  std::vector<PriceChange> changes;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto path = paths.find({rows.text(row, 0), rows.text(row, 1)});
    changes.push_back({rows.text(row, 0), rows.text(row, 1),
                       path == paths.end() ? "" : std::string(path->second), rows.number(row, 2),
                       rows.number(row, 3)});
  }
  return changes;
}

// The changes by account, for accounts that used the operation lately.
ChangesOfAccount changes_of_accounts(const Rows& used, const std::vector<PriceChange>& changes) {
  std::map<std::pair<std::string_view, std::string_view>, const PriceChange*> by_name;
  for (const PriceChange& change : changes) by_name[{change.route_id, change.method}] = &change;
  ChangesOfAccount of_accounts;
  for (std::size_t row = 0; row < used.size(); ++row) {
    const auto found = by_name.find({used.text(row, 1), used.text(row, 2)});
    if (found != by_name.end()) of_accounts[used.text(row, 0)].push_back(*found->second);
  }
  return of_accounts;
}

}  // namespace

SqlNoticeStore::Answer<bool> SqlNoticeStore::take_scan(notices::Scan scan, std::int64_t each_ms) {
  return changed_by<bool>("take scan", [&](Transaction& transaction) -> Answer<bool> {
    const std::int64_t now_ms = context_.now_ms(transaction);
    return !transaction.run(begin_scan, {now_ms, notices::name_of(scan), now_ms - each_ms}).empty();
  });
}

SqlNoticeStore::Answer<std::uint32_t> SqlNoticeStore::tell_low_credits() {
  using Told = Answer<std::uint32_t>;
  return changed_by<std::uint32_t>("tell low credits", [&](Transaction& transaction) -> Told {
    std::uint32_t told = 0;
    transaction.run(rise_above);
    const Rows low = transaction.run(select_low_settings, {pattern_of(EventType::credits_low)});
    const std::int64_t now_ms = context_.now_ms(transaction);
    for (std::size_t row = 0; row < low.size(); ++row) {
      const std::string& account_id = low.text(row, 0);
      if (transaction.run(mark_low, {account_id, low.number(row, 2)}).empty()) continue;
      const std::string data = notices::data_of(
          notices::CreditsLow{account_id, low.number(row, 3), low.number(row, 1)});
      const std::string key = "credits.low:" + std::to_string(low.number(row, 2) + 1);
      told += write_notice(context_, transaction,
                           {account_id, EventType::credits_low, data, key, now_ms});
    }
    return told;
  });
}

SqlNoticeStore::Answer<std::uint32_t> SqlNoticeStore::tell_reached_caps() {
  using Told = Answer<std::uint32_t>;
  ledger::SpendWindow day;
  ledger::SpendWindow month;
  const auto reached = read_usage<Rows>("find reached caps", [&](Connection& connection) {
    const std::int64_t now_ms = ledger_now_ms(context_, connection);
    day = ledger::utc_day(now_ms);
    month = ledger::utc_month(now_ms);
    return connection.run(select_caps_reached,
                          {day.ends_at_ms, month.ends_at_ms, day.starts_at_ms, month.starts_at_ms,
                           pattern_of(EventType::key_cap_reached)});
  });
  if (!reached.ok()) return reached.error();
  if (reached->empty()) return 0u;
  return changed_by<std::uint32_t>("tell reached caps", [&](Transaction& transaction) -> Told {
    const std::int64_t now_ms = context_.now_ms(transaction);
    std::uint32_t told = 0;
    for (std::size_t row = 0; row < reached->size(); ++row) {
      const std::string& span = reached->text(row, 2);
      const std::string data = notices::data_of(notices::KeyCapReached{
          .account_id = reached->text(row, 0),
          .key_id = reached->text(row, 1),
          .span = span,
          .cap = reached->number(row, 4),
          .spent = reached->number(row, 5),
          .resets_at_ms = span == "day" ? day.ends_at_ms : month.ends_at_ms});
      const std::string key = "key.cap_reached:" + reached->text(row, 1) + ":" + span + ":" +
                              std::to_string(reached->number(row, 3));
      told += write_notice(context_, transaction,
                           {reached->text(row, 0), EventType::key_cap_reached, data, key, now_ms});
    }
    return told;
  });
}

SqlNoticeStore::Answer<std::uint32_t> SqlNoticeStore::note_prices(
    std::string_view generation, std::span<const RoutePrice> prices) {
  using Told = Answer<std::uint32_t>;
  const std::string all = prices_text(prices);
  const PriceQueries& queries =
      context_.database.engine() == Engine::sqlite ? prices_of_sqlite : prices_of_postgres;
  // The payers are read before the transaction, in which the changes must still be the same.
  const auto seen = read<Rows>("find changed prices", [&](Connection& connection) {
    return connection.run(queries.changed, {all});
  });
  if (!seen.ok()) return seen.error();
  const std::string names = names_text(*seen);
  Rows used;
  if (!seen->empty()) {
    auto found = read_usage<Rows>("find who paid prices", [&](Connection& connection) {
      const std::int64_t since_ms = context_.now_ms(connection) - price_usage_ms;
      return connection.run(queries.used, {pattern_of(EventType::price_changed),
                                           since_ms / usage_hour_ms, names});
    });
    if (!found.ok()) return std::move(found).error();
    used = *std::move(found);
  }
  return changed_by<std::uint32_t>("note prices", [&](Transaction& transaction) -> Told {
    const std::int64_t now_ms = context_.now_ms(transaction);
    transaction.run(lock_prices, {now_ms});
    const Rows changed = transaction.run(queries.changed, {all});
    if (changed.empty() != seen->empty() || names_text(changed) != names) {
      return base::Error{base::ErrorCode::notification_unavailable,
                         "Another node noted prices meanwhile: they are noted again.", 1};
    }
    transaction.run(queries.keep, {all});
    std::uint32_t told = 0;
    for (auto& [account_id, of_account] : changes_of_accounts(used, changes_at(changed, prices))) {
      const std::string data = notices::data_of(
          notices::PriceChanged{account_id, std::string(generation), std::move(of_account)});
      told += write_notice(context_, transaction,
                           {account_id, EventType::price_changed, data,
                            "price.changed:" + std::string(generation), now_ms});
    }
    return told;
  });
}

SqlNoticeStore::Answer<std::uint32_t> SqlNoticeStore::sweep(std::int64_t kept_ms) {
  using Swept = Answer<std::uint32_t>;
  return changed_by<std::uint32_t>("sweep deliveries", [&](Transaction& transaction) -> Swept {
    const std::int64_t before_ms = context_.now_ms(transaction) - kept_ms;
    const std::size_t swept = transaction.run(sweep_notice_deliveries, {before_ms}).size() +
                              transaction.run(sweep_orphan_deliveries).size();
    transaction.run(sweep_notice_events, {before_ms});
    return static_cast<std::uint32_t>(swept);
  });
}

}  // namespace turnpike::storage
