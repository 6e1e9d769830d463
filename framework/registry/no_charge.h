// No-charge conditions: when a success of the upstream is free nevertheless. A price states them
// for all operations that have it, a route adds further ones; an operation has both. All are part
// of the program and its hash.
//
// Values; safe on any Thread. read_no_charge() is internal to registry/.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "text/json_pointer.h"

namespace turnpike::registry {

// The reply has no body.
struct EmptyBody {
  friend auto operator<=>(const EmptyBody&, const EmptyBody&) = default;
};
// The body is JSON with null or an empty list at the pointer. Bodies without a value at the
// pointer, and those beyond base::limits::judged_body_bytes_max, are charged.
struct EmptyAt {
  text::JsonPointer pointer;
  friend auto operator<=>(const EmptyAt&, const EmptyAt&) = default;
};
// The reply took longer, from sending the request until the reply was complete or its streaming
// began: how fast a caller reads a stream says nothing about the upstream.
struct UpstreamOver {
  std::uint32_t ms = 0;
  friend auto operator<=>(const UpstreamOver&, const UpstreamOver&) = default;
};
using NoCharge = std::variant<EmptyBody, EmptyAt, UpstreamOver>;
using NoCharges = std::vector<NoCharge>;  // in order, none twice

// {"kind": "empty_body"}, {"kind": "empty_at", "pointer": P} or {"kind": "upstream_over", "ms": N}
void append_canonical(std::string& out, const NoCharge& condition);

NoCharges joined(const NoCharges& left, const NoCharges& right);

class Cursor;

// A list of `empty_body`, `{empty_at: POINTER}` and `{upstream_over_ms: N}`.
NoCharges read_no_charge(const Cursor& list);

}  // namespace turnpike::registry
