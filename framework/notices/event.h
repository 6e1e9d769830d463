// The events that accounts receive, and the bodies of their webhooks. The body follows Standard
// Webhooks 1.0 (standardwebhooks.com, "Payload structure"): `type`, whose parts are separated by
// full stops, `timestamp`, the time of the event, and `data`, whose members are the same for every
// event of a type.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::notices {

enum class EventType : std::uint8_t {
  purchase_credited,   // the purchased Credits were granted
  auto_top_up_paused,  // automatic purchases stop until a member acts
  credits_low,         // the balance fell below the account's threshold
  key_cap_reached,     // a capped key cannot pay another call until its day or month ends
  price_changed,       // the price of an operation that the account used lately has changed
  endpoint_test,       // requested by a member for one endpoint
};
// All types, in display order.
std::span<const EventType> all_event_types() noexcept;
// "purchase.credited"
std::string_view name_of(EventType type) noexcept;
std::optional<EventType> event_type_of(std::string_view name) noexcept;
// Whether endpoints may subscribe to it; a test is always sent to the tested endpoint.
bool is_subscribable(EventType type) noexcept;

// ---- data, as JSON objects; Credits are whole numbers as text, as in all bodies

struct PurchaseCredited {
  std::string account_id;
  std::string purchase_id;
  std::string origin;  // "purchase" or "auto_top_up"
  std::string currency;
  std::string amount;  // "10.00"
  std::int64_t credits = 0;
  std::string allocation_id;
  std::int64_t credited_at_ms = 0;
};
std::string data_of(const PurchaseCredited& event);

struct AutoTopUpPaused {
  std::string account_id;
  std::string state;   // state of the policy, such as "paused_failure"
  std::string reason;  // a code: "card_declined"
  std::string purchase_id = {};  // the purchase after which it paused; empty: none
  std::int64_t paused_at_ms = 0;
};
std::string data_of(const AutoTopUpPaused& event);

struct CreditsLow {
  std::string account_id;
  std::int64_t balance = 0;
  std::int64_t threshold = 0;
};
std::string data_of(const CreditsLow& event);

struct KeyCapReached {
  std::string account_id;
  std::string key_id;
  std::string span;  // "day" or "month", in UTC
  std::int64_t cap = 0;
  std::int64_t spent = 0;
  std::int64_t resets_at_ms = 0;
};
std::string data_of(const KeyCapReached& event);

struct PriceChange {
  std::string route_id;
  std::string method;
  std::string path;
  std::int64_t old_credit_cost = 0;
  std::int64_t new_credit_cost = 0;
};
struct PriceChanged {
  std::string account_id;
  std::string generation;  // "gen_..."
  std::vector<PriceChange> changes = {};
};
// Further changes are only counted: bodies stay small, as Standard Webhooks recommends.
inline constexpr std::size_t price_changes_named_max = 50;
std::string data_of(const PriceChanged& event);

struct EndpointTest {
  std::string account_id;
  std::string endpoint_id;
};
std::string data_of(const EndpointTest& event);

// Returns the body of its webhooks, the same bytes at every try. `data`: a JSON object.
std::string body_of(EventType type, std::int64_t happened_at_ms, std::string_view data);

}  // namespace turnpike::notices
