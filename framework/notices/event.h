// Events that accounts are told of, and what their webhooks say. The body of a webhook is that of
// Standard Webhooks 1.0 (standardwebhooks.com, "Payload structure"): `type`, whose parts are
// divided by full stops, `timestamp`, when it happened, and `data`, whose members are the same for
// every event of a type.
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
  purchase_credited,   // Credits that were bought are there
  auto_top_up_paused,  // nothing is bought by itself any more until somebody acts
  credits_low,         // the balance fell below the account's threshold
  key_cap_reached,     // a capped key cannot pay a call any more until its day or month ends
  price_changed,       // calls that the account made lately cost something else now
  endpoint_test,       // somebody asked for it, for one endpoint
};
// All of them, in the order in which people are shown them.
std::span<const EventType> all_event_types() noexcept;
// "purchase.credited"
std::string_view name_of(EventType type) noexcept;
std::optional<EventType> event_type_of(std::string_view name) noexcept;
// Every endpoint may ask for it; a test is sent to the one that is tested, whatever it asks for.
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
  std::string state;   // "paused_failure" and the like, as the policy has it
  std::string reason;  // a code: "card_declined"
  std::string purchase_id = {};  // the run after which it paused; empty: there was none
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
// More are counted, not named: a body stays small, as Standard Webhooks asks.
inline constexpr std::size_t price_changes_named_max = 50;
std::string data_of(const PriceChanged& event);

struct EndpointTest {
  std::string account_id;
  std::string endpoint_id;
};
std::string data_of(const EndpointTest& event);

// The body of its webhooks, the same bytes at every try. `data` is a JSON object.
std::string body_of(EventType type, std::int64_t happened_at_ms, std::string_view data);

}  // namespace turnpike::notices
