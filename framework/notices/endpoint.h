// Endpoint: a server of an account's, to which its events are sent. What its URL may be, which
// events it asks for, and why nothing is sent to it any more.
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

inline constexpr std::uint32_t endpoints_max = 10;  // of an account
inline constexpr std::size_t url_bytes_max = 2'048;
inline constexpr std::size_t description_characters_max = 200;
inline constexpr std::int64_t old_secret_ms = 24 * 3'600'000;  // signs beside the new one so long

enum class DisabledReason : std::uint8_t {
  none,       // it is enabled
  by_member,
  gone,       // it answered 410
  failing,    // every delivery failed for failing_ms_max
};
std::string_view name_of(DisabledReason reason) noexcept;
// none for a name that is not known.
DisabledReason disabled_reason_of(std::string_view name) noexcept;

// The secrets that sign are not part of it: nobody is shown them again.
struct Endpoint {
  std::string id;  // "ntf_..."
  std::string account_id;
  std::string url;
  std::string description;
  std::vector<EventType> types;  // empty: all
  DisabledReason disabled = DisabledReason::none;
  std::int64_t disabled_at_ms = -1;
  std::int64_t old_secret_until_ms = 0;
  std::int64_t failing_since_ms = -1;  // -1: the last delivery went well, or there was none
  std::int64_t delivered_at_ms = -1;   // the last that went well
  std::int64_t created_at_ms = 0;

  [[nodiscard]] bool is_enabled() const noexcept { return disabled == DisabledReason::none; }
};

// What may be asked for.
struct EndpointRules {
  bool allows_http_nearby = false;  // http to this machine: in development
  bool allows_private = false;      // addresses of private networks and this machine
};

// What somebody wants of one; what is not there stays as it is.
struct EndpointWish {
  std::optional<std::string> url = {};
  std::optional<std::string> description = {};
  std::optional<std::vector<EventType>> types = {};
  std::optional<bool> is_enabled = {};
};

// Why it cannot be; nothing: it can. notification.endpoint_invalid with the fields that are wrong.
std::optional<base::Error> problem_of(const EndpointWish& wish, const EndpointRules& rules);

// "purchase.credited credits.low": as rows keep them; empty for all. Names that this build does not
// know are left out when they are read.
std::string types_text(const std::vector<EventType>& types);
std::vector<EventType> types_of(std::string_view text);

// The host of its URL, for lists and log lines: a path or a query may hold a token.
std::string host_of(std::string_view url);

}  // namespace turnpike::notices
