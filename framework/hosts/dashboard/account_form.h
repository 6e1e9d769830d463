// The common parts of forms on an account's pages: the callers who may send them, and their fields.
// Pure functions; any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hosts/dashboard/account_page.h"
#include "text/encoding.h"

namespace turnpike::hosts::dashboard {

// Admins with any session: if the session lacks a fresh proof, the handler answers with a page that
// offers it. form_of_members is the same for members, where the store checks the role.
inline constexpr Callers form_of_admins =
    Callers::members(identity::Role::admin, identity::Standing::enrolling);
inline constexpr Callers form_of_members =
    Callers::members(identity::Role::member, identity::Standing::enrolling);

inline std::string field_of(const Asked& asked, std::string_view name) {
  return asked.form.find(name).value_or("");
}

// Returns an idempotency key for a form, so that sending the form again has no second effect.
inline std::string new_form_key(const WebRooms& rooms) {
  std::array<std::uint8_t, 16> bytes{};
  rooms.random.fill(bytes);
  return text::hex(bytes);
}

}  // namespace turnpike::hosts::dashboard
