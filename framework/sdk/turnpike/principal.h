// PrincipalKind: what kind of caller a request speaks for. Within its kind the id of a principal
// is unique; a text that is to name any principal has both. Plain values; any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

enum class PrincipalKind : std::uint8_t {
  api_key,
  person,               // with a session
  grant,                // what a person lets an OAuth client do
  operator_credential,  // of the people who run the gateway
  system,               // the gateway itself
};

constexpr std::string_view name_of(PrincipalKind kind) noexcept {
  constexpr std::string_view names[] = {"key", "user", "grant", "operator", "system"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace turnpike
