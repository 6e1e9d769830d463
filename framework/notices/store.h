// NoticeStore: the port under notices/ (storage/ implements it, on SQLite and on PostgreSQL).
// Blocks; for the blocking pool and plain Threads, several at once. Its errors are those of its
// functions and notification.unavailable: the database was not reached, or did not confirm.
//
// Events are written by whoever makes them happen, in the same transaction
// (storage/notifications/notice_rows.h), or by the scans here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "identity/audit.h"
#include "notices/delivery.h"
#include "notices/endpoint.h"

namespace turnpike::notices {

struct NewEndpoint {
  std::string account_id;
  std::string url;
  std::string description;
  std::vector<EventType> types;  // empty: all
  bool is_enabled = true;
  std::string secret;  // bytes
};

struct DeliveryQuery {
  std::string account_id;
  // The last one of the page before: when it was made, and its id; 0: from the newest.
  std::int64_t before_ms = 0;
  std::string before_id = {};
  std::uint32_t limit = 50;
};

struct NoticeSettings {
  std::int64_t credits_low = -1;  // the threshold of credits.low; -1: none
};

// What a call of an operation costs in the program in service.
struct RoutePrice {
  std::string route_id;
  std::string method;
  std::string path;
  std::int64_t credit_cost = 0;
};

// Sums for the operator, of all accounts.
struct NoticeStanding {
  std::int64_t pending = 0;
  std::int64_t oldest_due_ms = -1;  // since when the one that waits longest is due; -1: none is
  std::int64_t disabled_endpoints = 0;
};

// Scans that one node at a time makes.
enum class Scan : std::uint8_t { accounts, sweep };
std::string_view name_of(Scan scan) noexcept;

class NoticeStore {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;
  virtual ~NoticeStore() = default;

  // ---- endpoints; whoever changes one is an admin of the account, judged in the transaction:
  // auth.role_missing. Nothing: the account has none with this id.

  // notification.too_many_endpoints; account.absent, account.closed.
  [[nodiscard]] virtual Answer<Endpoint> create(const NewEndpoint& wanted,
                                                const identity::Actor& actor) = 0;
  // By when they were made.
  [[nodiscard]] virtual Answer<std::vector<Endpoint>> endpoints(std::string_view account_id) = 0;
  // One that is disabled has its pending deliveries cancelled; one that is enabled again begins
  // without the failures of before.
  [[nodiscard]] virtual Answer<std::optional<Endpoint>> change(std::string_view account_id,
                                                               std::string_view id,
                                                               const EndpointWish& wish,
                                                               const identity::Actor& actor) = 0;
  // With its deliveries.
  [[nodiscard]] virtual Answer<bool> remove(std::string_view account_id, std::string_view id,
                                            const identity::Actor& actor) = 0;
  // The secret that signed until now signs beside the new one for old_secret_ms.
  [[nodiscard]] virtual Answer<std::optional<Endpoint>> rotate(std::string_view account_id,
                                                               std::string_view id,
                                                               std::string_view secret,
                                                               const identity::Actor& actor) = 0;
  // An endpoint.test for it; the one that is pending, if there is one.
  // notification.endpoint_invalid: it is disabled.
  [[nodiscard]] virtual Answer<std::optional<Delivery>> test(std::string_view account_id,
                                                             std::string_view id,
                                                             const identity::Actor& actor) = 0;

  // ---- deliveries

  // Newest first.
  [[nodiscard]] virtual Answer<std::vector<Delivery>> deliveries(const DeliveryQuery& query) = 0;
  // Due now, with all its tries before it; one that was delivered is sent anew. Nothing: there is
  // none. notification.endpoint_invalid: its endpoint is disabled, or what it said is not kept any
  // more.
  [[nodiscard]] virtual Answer<std::optional<Delivery>> retry(std::string_view account_id,
                                                              std::string_view id,
                                                              const identity::Actor& actor) = 0;

  // ---- what an account wants to be told

  [[nodiscard]] virtual Answer<NoticeSettings> settings(std::string_view account_id) = 0;
  [[nodiscard]] virtual Answer<NoticeSettings> set(std::string_view account_id,
                                                   const NoticeSettings& settings,
                                                   const identity::Actor& actor) = 0;

  // ---- sending

  // Up to `limit` deliveries that are due, the one that is due longest first, leased to the caller;
  // one for each endpoint at a time, whatever node asks.
  [[nodiscard]] virtual Answer<std::vector<DueDelivery>> take_due(std::int64_t lease_ms,
                                                                  std::uint32_t limit) = 0;
  // What became of it, for whoever has its lease still. The endpoint's reason if it is disabled by
  // that.
  [[nodiscard]] virtual Answer<DisabledReason> finish(const DueDelivery& delivery,
                                                      const Attempt& attempt,
                                                      std::uint32_t chance) = 0;
  [[nodiscard]] virtual Answer<NoticeStanding> standing() = 0;

  // ---- scans

  // Whether the caller is to make the scan: nobody did within `each_ms`.
  [[nodiscard]] virtual Answer<bool> take_scan(Scan scan, std::int64_t each_ms) = 0;
  // Tells accounts whose balance is below their threshold, once until it was above it by a fifth or
  // they bought Credits. How many.
  [[nodiscard]] virtual Answer<std::uint32_t> tell_low_credits() = 0;
  // Tells accounts whose capped keys have less left in the day or month than the least that a call
  // of the key cost in it; once for each. How many.
  [[nodiscard]] virtual Answer<std::uint32_t> tell_reached_caps() = 0;
  // Tells accounts that called an operation in the last 30 days whose price is another than it was
  // when this was last called, once for each generation; from now on these are the prices. How
  // many.
  [[nodiscard]] virtual Answer<std::uint32_t> note_prices(std::string_view generation,
                                                          std::span<const RoutePrice> prices) = 0;
  // Forgets deliveries that ended so long ago, and what their events said.
  [[nodiscard]] virtual Answer<std::uint32_t> sweep(std::int64_t kept_ms) = 0;
};

}  // namespace turnpike::notices
