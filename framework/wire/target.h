// The request target (RFC 9112 section 3.2). Nothing is decoded or copied: every view points into
// the text that was given. Pure functions; safe on any Thread, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike::wire {

enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };

// A target taken apart. `path` is as it stood on the wire, "/" when an absolute form has none, and
// "*" for the asterisk form; `query` is without its '?'.
struct Target {
  TargetForm form = TargetForm::origin;
  std::string_view authority;  // absolute and authority form only
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};

// None when the text is in none of the four forms. Characters of path and query are not checked
// (base/uri.h does).
std::optional<Target> split_target(std::string_view text) noexcept;

// host [ ":" port ] as a Host field or an authority may hold it; no user information.
bool is_valid_authority(std::string_view authority) noexcept;

}  // namespace turnpike::wire
