#include "identity/session.h"

#include <array>

namespace turnpike::identity {
namespace {

constexpr std::array<std::string_view, 2> transport_names{"cookie", "bearer"};
constexpr std::array<std::string_view, 3> strength_names{"enrol", "single", "multi"};

template <class Enum, std::size_t count>
std::optional<Enum> value_named(const std::array<std::string_view, count>& names,
                                std::string_view name) noexcept {
  for (std::size_t at = 0; at < count; ++at) {
    if (names[at] == name) return static_cast<Enum>(at);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(SessionTransport transport) noexcept {
  return transport_names[static_cast<std::size_t>(transport)];
}

std::optional<SessionTransport> session_transport(std::string_view name) noexcept {
  return value_named<SessionTransport>(transport_names, name);
}

std::string_view name_of(Strength strength) noexcept {
  return strength_names[static_cast<std::size_t>(strength)];
}

std::optional<Strength> strength(std::string_view name) noexcept {
  return value_named<Strength>(strength_names, name);
}

}  // namespace turnpike::identity
