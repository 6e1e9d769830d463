// Endpoint: a server of an account, to which its events are sent: the rules for its URL, its event
// types, and the reason why it is disabled.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "notices/event.h"

namespace turnpike::notices {

inline constexpr std::uint32_t endpoints_max = 10;  // per account
inline constexpr std::size_t url_bytes_max = 2'048;
inline constexpr std::size_t description_characters_max = 200;
inline constexpr std::int64_t old_secret_ms = 24 * 3'600'000;  // the old one still signs

enum class DisabledReason : std::uint8_t {
  none,       // enabled
  by_member,
  gone,       // replied 410
  failing,    // no delivery succeeded for failing_ms_max
};
std::string_view name_of(DisabledReason reason) noexcept;
// Unknown names become none.
DisabledReason disabled_reason_of(std::string_view name) noexcept;

// An endpoint without its signing secrets, which are never shown again.
struct Endpoint {
  std::string id;  // "ntf_..."
  std::string account_id;
  std::string url;
  std::string description;
  std::vector<EventType> types;  // empty: all
  DisabledReason disabled = DisabledReason::none;
  std::int64_t disabled_at_ms = -1;
  std::int64_t old_secret_until_ms = 0;
  std::int64_t failing_since_ms = -1;  // -1: the last delivery succeeded, or there was none
  std::int64_t delivered_at_ms = -1;   // the last success
  std::int64_t created_at_ms = 0;

  [[nodiscard]] bool is_enabled() const noexcept { return disabled == DisabledReason::none; }
};

// The rules for URLs of endpoints.
struct EndpointRules {
  bool allows_http_nearby = false;  // http to this machine: in development
  bool allows_private = false;      // addresses of private networks and this machine
};

// Requested values of an endpoint; absent members stay unchanged.
struct EndpointWish {
  std::optional<std::string> url = {};
  std::optional<std::string> description = {};
  std::optional<std::vector<EventType>> types = {};
  std::optional<bool> is_enabled = {};
};

// Returns why the wish is invalid, as notification.endpoint_invalid with the invalid fields;
// nothing: it is valid.
std::optional<base::Error> problem_of(const EndpointWish& wish, const EndpointRules& rules);

// Writes and reads "purchase.credited credits.low", the form in the database; empty means all.
// Reading skips names that this build does not know.
std::string types_text(const std::vector<EventType>& types);
std::vector<EventType> types_of(std::string_view text);

// Returns the host of a URL, for lists and log lines: a path or a query may hold a token.
std::string host_of(std::string_view url);

}  // namespace turnpike::notices
