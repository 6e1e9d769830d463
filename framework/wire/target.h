// The request target (RFC 9112 section 3.2). No decoding, no copies: every view points into the
// given text. Pure functions; safe on any Thread, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike::wire {

enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };

// The parts of a target. `path` is unchanged from the wire; "/" for an absolute form without a
// path, and "*" for the asterisk form. `query` excludes the '?'.
struct Target {
  TargetForm form = TargetForm::origin;
  std::string_view authority;  // absolute and authority form only
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};

// nullopt when the text has none of the four forms. Characters of path and query are not checked
// (text/uri.h does that).
std::optional<Target> split_target(std::string_view text) noexcept;

// host [ ":" port ] as allowed in a Host field or an authority; no user information.
bool is_valid_authority(std::string_view authority) noexcept;

}  // namespace turnpike::wire
