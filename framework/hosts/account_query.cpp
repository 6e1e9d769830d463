#include "hosts/account_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "crypto/signed_text.h"
#include "text/canonical_json.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::hosts {

namespace {

using nlohmann::json;

constexpr std::string_view cursor_context = "turnpike billing cursor";
constexpr std::string_view purchase_cursor_context = "turnpike purchase cursor";
constexpr std::string_view delivery_cursor_context = "turnpike delivery cursor";
constexpr std::int64_t day_ms = 24ll * 60 * 60 * 1000;
constexpr std::size_t filter_bytes_max = 128;
constexpr std::array<std::string_view, 3> collection_names{"allocations", "usage", "invoices"};

base::Error value_rejected(std::string_view name, std::string problem, std::string fix) {
  base::Error error;
  error.code = base::ErrorCode::request_query_rejected;
  error.message = "The query is not one that this route takes.";
  error.fields.push_back({"query." + std::string(name), std::move(problem), std::move(fix)});
  return error;
}

Result<Collection, base::Error> read_collection(const NamedValues& fields) {
  const auto text = fields.find("collection");
  for (std::size_t at = 0; text && at < collection_names.size(); ++at) {
    if (*text == collection_names[at]) return static_cast<Collection>(at);
  }
  return value_rejected("collection", text ? "it is no collection" : "it is missing",
                        "Pass collection=allocations, collection=usage or collection=invoices.");
}

// Reads a decimal number without sign or leading zero.
Result<std::uint32_t, base::Error> read_limit(const NamedValues& fields, std::uint32_t absent,
                                              std::uint32_t maximum) {
  const auto text = fields.find("limit");
  if (!text) return absent;
  std::uint32_t value = 0;
  const char* end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, value);
  const bool is_number = problem == std::errc{} && rest == end && text->front() != '0';
  if (is_number && value <= maximum) return value;
  const std::string usual = std::to_string(absent);
  return value_rejected("limit", "it is not an integer from 1 to " + std::to_string(maximum),
                        "Pass limit=" + usual + ", or leave it out for " + usual + ".");
}

base::Error bad_cursor(std::string problem) {
  return value_rejected(
      "after", std::move(problem),
      "Pass nextCursor unchanged, for the same account and collection, or leave after "
      "out to start from the first page.");
}

Result<ledger::Place, base::Error> read_cursor(std::string_view cursor, std::string_view account_id,
                                               Collection collection, std::string_view key) {
  const auto payload = crypto::verified_text(cursor, cursor_context, key);
  if (!payload) return bad_cursor("its signature does not hold");
  const json fields = text::parse_json(*payload);
  const auto number = [&fields](const char* name) {
    const auto found = fields.find(name);
    const bool is_there = found != fields.end() && found->is_number_integer();
    return is_there ? found->get<std::int64_t>() : 0;
  };
  const auto text = [&fields](const char* name) {
    const auto found = fields.find(name);
    return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!fields.is_object() || number("v") != 1) return bad_cursor("its version is unknown");
  if (text("account") != account_id) return bad_cursor("it was made for another account");
  if (text("collection") != name_of(collection)) {
    return bad_cursor("it was made for another collection");
  }
  return ledger::Place{number("number"), text("id")};
}

Result<std::optional<std::int64_t>, base::Error> read_time(const NamedValues& fields,
                                                           std::string_view name) {
  const auto text = fields.find(name);
  if (!text) return std::optional<std::int64_t>();
  const auto time_ms = text::parse_rfc3339(*text);
  if (time_ms && *time_ms >= 0) return time_ms;
  return value_rejected(
      name, "it is not a time in UTC since 1970",
      "Pass " + std::string(name) + "=2026-11-21T00:00:00Z (RFC 3339, ending in Z).");
}

Result<std::string, base::Error> read_filter(const NamedValues& fields, std::string_view name,
                                             std::string_view example) {
  const auto text = fields.find(name);
  if (!text) return std::string();
  const bool is_text = text::is_utf8(*text) && text->find('\0') == std::string::npos;
  if (!text->empty() && text->size() <= filter_bytes_max && is_text) return *text;
  return value_rejected(
      name, "it is empty or no id",
      "Pass " + std::string(name) + " as " + std::string(example) + " shows it, or leave it out.");
}

Result<ledger::Granularity, base::Error> read_granularity(const NamedValues& fields) {
  const auto text = fields.find("granularity");
  const auto granularity = text ? ledger::granularity(*text) : ledger::Granularity::day;
  if (granularity) return *granularity;
  return value_rejected("granularity", "it is none of hour, day and month",
                        "Pass granularity=day, or leave it out for day.");
}

base::Error bad_purchase_cursor(std::string problem) {
  return {base::ErrorCode::purchase_cursor_invalid,
          "The cursor is none of this account's purchases.",
          0,
          {{"query.after", std::move(problem),
            "Pass nextCursor unchanged, for the same account, or leave after out to start from the "
            "first page."}}};
}

// Returns the sequence number that a cursor of purchases holds.
Result<std::int64_t, base::Error> read_purchase_cursor(std::string_view cursor,
                                                       std::string_view account_id,
                                                       std::string_view key) {
  const auto payload = crypto::verified_text(cursor, purchase_cursor_context, key);
  if (!payload) return bad_purchase_cursor("its signature does not hold");
  const json fields = text::parse_json(*payload);
  const auto is_number = [&fields](const char* name) {
    return fields.contains(name) && fields[name].is_number_integer();
  };
  if (!is_number("v") || fields["v"] != 1 || !is_number("before")) {
    return bad_purchase_cursor("its version is unknown");
  }
  if (text::text_member(fields, "account") != account_id) {
    return bad_purchase_cursor("it was made for another account");
  }
  return fields["before"].get<std::int64_t>();
}

Result<ledger::Place, base::Error> read_delivery_cursor(std::string_view cursor,
                                                        std::string_view account_id,
                                                        std::string_view key) {
  const auto refused = [](std::string problem) {
    return value_rejected("after", std::move(problem),
                          "Pass nextCursor unchanged, for the same account, or leave after out to "
                          "start from the first page.");
  };
  const auto payload = crypto::verified_text(cursor, delivery_cursor_context, key);
  if (!payload) return refused("its signature does not hold");
  const json fields = text::parse_json(*payload);
  const auto id = text::text_member(fields, "id");
  if (!id || !fields.contains("before") || !fields["before"].is_number_integer()) {
    return refused("its version is unknown");
  }
  if (text::text_member(fields, "account") != account_id) {
    return refused("it was made for another account");
  }
  return ledger::Place{fields["before"].get<std::int64_t>(), *id};
}

}  // namespace

std::string_view name_of(Collection collection) noexcept {
  return collection_names[static_cast<std::size_t>(collection)];
}

Result<BillingQuery, base::Error> read_billing_query(const NamedValues& fields,
                                                     std::string_view account_id,
                                                     std::string_view cursor_key) {
  const auto collection = read_collection(fields);
  if (!collection.ok()) return collection.error();
  const auto limit = read_limit(fields, base::limits::billing_page_default,
                                base::limits::billing_page_max);
  if (!limit.ok()) return limit.error();
  BillingQuery read;
  read.collection = *collection;
  read.page.account_id = account_id;
  read.page.limit = *limit;
  if (const auto cursor = fields.find("after")) {
    auto place = read_cursor(*cursor, account_id, *collection, cursor_key);
    if (!place.ok()) return std::move(place).error();
    read.page.after = *std::move(place);
  }
  return read;
}

Result<PurchasesQuery, base::Error> read_purchases_query(const NamedValues& fields,
                                                         std::string_view account_id,
                                                         std::string_view cursor_key) {
  PurchasesQuery read;
  const auto limit = read_limit(fields, read.limit, PurchasesQuery::limit_max);
  if (!limit.ok()) return limit.error();
  read.limit = *limit;
  if (const auto cursor = fields.find("after")) {
    const auto before = read_purchase_cursor(*cursor, account_id, cursor_key);
    if (!before.ok()) return before.error();
    read.before = *before;
  }
  return read;
}

Result<DeliveriesQuery, base::Error> read_deliveries_query(const NamedValues& fields,
                                                           std::string_view account_id,
                                                           std::string_view cursor_key) {
  DeliveriesQuery read;
  const auto limit = read_limit(fields, read.limit, DeliveriesQuery::limit_max);
  if (!limit.ok()) return limit.error();
  read.limit = *limit;
  if (const auto cursor = fields.find("after")) {
    auto before = read_delivery_cursor(*cursor, account_id, cursor_key);
    if (!before.ok()) return std::move(before).error();
    read.before = *std::move(before);
  }
  return read;
}

Result<CallsQuery, base::Error> read_calls_query(const NamedValues& fields,
                                                 std::string_view account_id,
                                                 std::string_view cursor_key) {
  CallsQuery read;
  read.page.account_id = account_id;
  if (const auto cursor = fields.find("after")) {
    auto place = read_cursor(*cursor, account_id, Collection::usage, cursor_key);
    if (!place.ok()) return std::move(place).error();
    read.page.after = *std::move(place);
  }
  auto route = read_filter(fields, "route_id", "routeId of a usage row");
  if (!route.ok()) return std::move(route).error();
  auto key = read_filter(fields, "api_key_id", "apiKeyId of a usage row");
  if (!key.ok()) return std::move(key).error();
  const std::string outcome = fields.find("outcome").value_or("");
  if (!outcome.empty() && outcome != "charged" && outcome != "released" && outcome != "replayed") {
    return value_rejected("outcome", "it is none of charged, released and replayed",
                          "Pass outcome=charged, or leave it out for all.");
  }
  const auto from = read_time(fields, "from");
  if (!from.ok()) return from.error();
  const auto to = read_time(fields, "to");
  if (!to.ok()) return to.error();
  read.filter.route_id = *std::move(route);
  read.filter.api_key_id = *std::move(key);
  read.filter.outcome = outcome;
  if (*from) read.filter.from_ms = **from;
  if (*to) read.filter.to_ms = **to;
  if (read.filter.from_ms >= read.filter.to_ms) {
    return value_rejected("from", "it is not before to", "Pass from earlier than to.");
  }
  return read;
}

Result<ledger::SummaryQuery, base::Error> read_usage_query(const NamedValues& fields,
                                                           std::string_view account_id,
                                                           std::int64_t now_ms) {
  const auto granularity = read_granularity(fields);
  if (!granularity.ok()) return granularity.error();
  const auto from = read_time(fields, "from");
  if (!from.ok()) return from.error();
  const auto to = read_time(fields, "to");
  if (!to.ok()) return to.error();
  auto route = read_filter(fields, "route_id", "routeId of a usage row");
  if (!route.ok()) return std::move(route).error();
  auto key = read_filter(fields, "api_key_id", "apiKeyId of a usage row");
  if (!key.ok()) return std::move(key).error();

  ledger::SummaryQuery read;
  read.filter = {std::string(account_id), *std::move(route), *std::move(key)};
  read.granularity = *granularity;
  read.to_ms = to->value_or(ledger::bucket_end(now_ms, ledger::Granularity::day));
  read.from_ms = from->value_or(std::max<std::int64_t>(0, read.to_ms - 30 * day_ms));
  if (read.from_ms >= read.to_ms) {
    return value_rejected("from", "it is not before to", "Pass from earlier than to.");
  }
  if (!ledger::bucket_starts(read.from_ms, read.to_ms, read.granularity)) {
    return value_rejected("granularity",
                          "there are more than " + std::to_string(base::limits::usage_buckets_max) +
                              " of it between from and to",
                          "Pass a coarser granularity, or from and to closer to each other.");
  }
  return read;
}

std::string make_billing_cursor(std::string_view account_id, Collection collection,
                                const ledger::Place& place, std::string_view cursor_key) {
  const json fields = {{"v", 1},
                       {"account", account_id},
                       {"collection", name_of(collection)},
                       {"number", place.number},
                       {"id", place.id}};
  return crypto::sign_text(text::canonical_json(fields).value(), cursor_context, cursor_key);
}

std::string make_purchase_cursor(std::string_view account_id, std::int64_t sequence,
                                 std::string_view cursor_key) {
  const json fields = {{"v", 1}, {"account", account_id}, {"before", sequence}};
  return crypto::sign_text(text::canonical_json(fields).value(), purchase_cursor_context,
                           cursor_key);
}

std::string make_delivery_cursor(std::string_view account_id, const ledger::Place& last,
                                 std::string_view cursor_key) {
  const json fields{{"v", 1}, {"account", account_id}, {"before", last.number}, {"id", last.id}};
  return crypto::sign_text(text::canonical_json(fields).value(), delivery_cursor_context,
                           cursor_key);
}

}  // namespace turnpike::hosts
