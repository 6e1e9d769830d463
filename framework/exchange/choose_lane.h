// Lane choice: the one way of payment that a request has selected, from its credentials and what
// its target allows. A pure function; there is no fallback between lanes, and the headers that
// select a lane are data in the LaneTable, so one table test covers every lane, present and future.
//
// Values; safe on any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>

#include "base/error.h"
#include "identity/bearer.h"

namespace turnpike::exchange {

inline constexpr std::size_t lanes_max = 8;

enum class LaneRole : std::uint8_t {
  credits,  // selected by a Bearer token
  free,     // selected by a Bearer token and `:free`
  payment,  // selected by its header, or without a credential where it sells the operation
  other,    // selected by headers of its own
};

struct LaneRow {
  LaneRole role = LaneRole::other;
  bool is_bound = false;       // a lane serves this row
  bool needs_account = false;  // an API key is required in addition
  std::string name;
  std::vector<std::string> headers;  // lower case; Authorization is not listed
};

struct LaneTable {
  std::vector<LaneRow> rows;  // at most lanes_max

  [[nodiscard]] const LaneRow* find(LaneRole role) const noexcept;
};

using identity::Authorization;

enum class Presence : std::uint8_t { absent, once, repeated };

// The parsed credentials of a request. `lanes` is parallel to the rows: `repeated` when a header of
// the row occurred twice.
struct Credentials {
  Authorization authorization = Authorization::none;
  std::string_view token;  // of a well-formed Bearer credential
  Presence service_api_key = Presence::absent;
  std::array<Presence, lanes_max> lanes{};
};

[[nodiscard]] Credentials read_credentials(Headers headers, const LaneTable& table) noexcept;

// Facts about the operation of the request's path and method.
enum class Target : std::uint8_t { path_malformed, not_found, method_not_allowed, operation };

struct Asked {
  Target target = Target::not_found;
  bool free_suffix = false;       // the path ends in `:free`
  bool has_free_variant = false;  // the route has a free variant
  bool sold_per_call = false;     // by the payment lane
  bool credential_required = false;
};

struct LaneChoice {
  const LaneRow* lane = nullptr;  // null: refused
  base::ErrorCode refusal = base::ErrorCode::gateway_internal;
  std::string_view message = {};  // overrides the code's message; static storage
};

// Steps 2 to 4 of the order of refusal, except the look-up of the key: conflicting credentials,
// then the target, then a credential that is missing, useless or not accepted for it.
[[nodiscard]] LaneChoice choose_lane(const LaneTable& table, const Credentials& credentials,
                                     const Asked& asked) noexcept;

}  // namespace turnpike::exchange
