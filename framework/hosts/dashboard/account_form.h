// What the forms of an account's pages have in common: who may send them, and their fields. Pure
// functions; any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

// Admins, whose fresh proof is asked for on a page that offers it. Members alike where the work
// itself judges.
inline constexpr Callers form_of_admins =
    Callers::members(identity::Role::admin, identity::Standing::enrolling);
inline constexpr Callers form_of_members =
    Callers::members(identity::Role::member, identity::Standing::enrolling);

inline std::string field_of(const Asked& asked, std::string_view name) {
  return asked.form.find(name).value_or("");
}

// Names what a form does, so that it is done once however often the form is sent.
inline std::string new_form_key(const WebRooms& rooms) {
  std::array<std::uint8_t, 16> bytes{};
  rooms.random.fill(bytes);
  return base::hex(bytes);
}

}  // namespace turnpike::hosts::dashboard
