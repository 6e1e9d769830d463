// PrincipalKind: the kind of principal that a request acts for. The id of a principal is unique
// within its kind only, so a text that names any principal has both. Plain values; any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

enum class PrincipalKind : std::uint8_t {
  api_key,
  person,               // a user with a session
  grant,                // an OAuth client, within what a person granted
  operator_credential,  // of an operator of the gateway
  system,               // the gateway itself
};

constexpr std::string_view name_of(PrincipalKind kind) noexcept {
  constexpr std::string_view names[] = {"key", "user", "grant", "operator", "system"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace turnpike
