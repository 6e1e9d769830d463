// NoticeStore: the port under notices/ (storage/ implements it, on SQLite and on PostgreSQL).
// Blocks; for the blocking pool and plain Threads, several at once. Besides the errors of each
// function: notification.unavailable, if the database was not reached or did not confirm.
//
// Events are written in the transaction that causes them (storage/notifications/notice_rows.h), or
// by the scans here.
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
  std::string secret;  // raw bytes
};

struct DeliveryQuery {
  std::string account_id;
  // The cursor: time and id of the last delivery of the previous page; 0: from the newest.
  std::int64_t before_ms = 0;
  std::string before_id = {};
  std::uint32_t limit = 50;
};

struct NoticeSettings {
  std::int64_t credits_low = -1;  // threshold of credits.low; -1: none
};

// The price of an operation in the program in service.
struct RoutePrice {
  std::string route_id;
  std::string method;
  std::string path;
  std::int64_t credit_cost = 0;
};

// Totals of all accounts, for the operator.
struct NoticeStanding {
  std::int64_t pending = 0;
  std::int64_t oldest_due_ms = -1;  // due time of the longest waiting one; -1: none is due
  std::int64_t disabled_endpoints = 0;
};

// Scans that one node at a time runs.
enum class Scan : std::uint8_t { accounts, sweep };
std::string_view name_of(Scan scan) noexcept;

class NoticeStore {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;
  virtual ~NoticeStore() = default;

  // ---- endpoints; changing one needs the role admin in the account, checked in the transaction:
  // auth.role_missing. Nothing: the account has no endpoint with this id.

  // Errors: notification.too_many_endpoints, account.absent, account.closed.
  [[nodiscard]] virtual Answer<Endpoint> create(const NewEndpoint& wanted,
                                                const identity::Actor& actor) = 0;
  // Ordered by creation.
  [[nodiscard]] virtual Answer<std::vector<Endpoint>> endpoints(std::string_view account_id) = 0;
  // Disabling an endpoint cancels its pending deliveries; enabling it again resets its failures.
  [[nodiscard]] virtual Answer<std::optional<Endpoint>> change(std::string_view account_id,
                                                               std::string_view id,
                                                               const EndpointWish& wish,
                                                               const identity::Actor& actor) = 0;
  // Removes the endpoint with its deliveries.
  [[nodiscard]] virtual Answer<bool> remove(std::string_view account_id, std::string_view id,
                                            const identity::Actor& actor) = 0;
  // The old secret continues to sign beside the new one for old_secret_ms.
  [[nodiscard]] virtual Answer<std::optional<Endpoint>> rotate(std::string_view account_id,
                                                               std::string_view id,
                                                               std::string_view secret,
                                                               const identity::Actor& actor) = 0;
  // Creates an endpoint.test for the endpoint, or returns the pending one. Error
  // notification.endpoint_invalid: the endpoint is disabled.
  [[nodiscard]] virtual Answer<std::optional<Delivery>> test(std::string_view account_id,
                                                             std::string_view id,
                                                             const identity::Actor& actor) = 0;

  // ---- deliveries

  // Newest first.
  [[nodiscard]] virtual Answer<std::vector<Delivery>> deliveries(const DeliveryQuery& query) = 0;
  // Makes the delivery due now with a full set of tries; a delivered one is sent again. Nothing:
  // there is no such delivery. Error notification.endpoint_invalid: its endpoint is disabled, or
  // its event is no longer kept.
  [[nodiscard]] virtual Answer<std::optional<Delivery>> retry(std::string_view account_id,
                                                              std::string_view id,
                                                              const identity::Actor& actor) = 0;

  // ---- settings of an account

  [[nodiscard]] virtual Answer<NoticeSettings> settings(std::string_view account_id) = 0;
  [[nodiscard]] virtual Answer<NoticeSettings> set(std::string_view account_id,
                                                   const NoticeSettings& settings,
                                                   const identity::Actor& actor) = 0;

  // ---- sending

  // Leases up to `limit` due deliveries to the caller, longest due first; one for each endpoint at
  // a time, over all nodes.
  [[nodiscard]] virtual Answer<std::vector<DueDelivery>> take_due(std::int64_t lease_ms,
                                                                  std::uint32_t limit) = 0;
  // Records the outcome of a delivery, if the caller still holds its lease. Returns the reason if
  // the endpoint is disabled by that.
  [[nodiscard]] virtual Answer<DisabledReason> finish(const DueDelivery& delivery,
                                                      const Attempt& attempt,
                                                      std::uint32_t chance) = 0;
  [[nodiscard]] virtual Answer<NoticeStanding> standing() = 0;

  // ---- scans

  // Whether the caller must run the scan: no node did within `each_ms`.
  [[nodiscard]] virtual Answer<bool> take_scan(Scan scan, std::int64_t each_ms) = 0;
  // Notifies accounts whose balance is below their threshold; once, until the balance was a fifth
  // above it or they bought Credits. Returns how many.
  [[nodiscard]] virtual Answer<std::uint32_t> tell_low_credits() = 0;
  // Notifies accounts whose capped keys have less left in the day or month than the cheapest call
  // of the key in it; once for each span. Returns how many.
  [[nodiscard]] virtual Answer<std::uint32_t> tell_reached_caps() = 0;
  // Notifies accounts that called an operation in the last 30 days whose price differs from the
  // last noted one, once for each generation; then notes these prices. Returns how many.
  [[nodiscard]] virtual Answer<std::uint32_t> note_prices(std::string_view generation,
                                                          std::span<const RoutePrice> prices) = 0;
  // Deletes deliveries that ended `kept_ms` ago, and the data of their events.
  [[nodiscard]] virtual Answer<std::uint32_t> sweep(std::int64_t kept_ms) = 0;
};

}  // namespace turnpike::notices
