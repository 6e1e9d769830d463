// LaneCode: an error code of a lane, beside those of the gateway: its name, its HTTP status, which
// party is at fault and what a caller can do. Codes are public and stable.
//
// Constants of the plugin, valid until exit; safe on any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

// The party that is at fault for an error.
enum class Fault : std::uint8_t { caller, provider, gateway };

// The action that a caller can take after an error.
enum class Advice : std::uint8_t {
  never,
  after_delay,
  same_request,  // safe to repeat as is
  after_top_up,
  new_payment,
  restart_paging,
  after_change,  // fails again unless what the fields or the message name is changed
};

constexpr std::string_view name_of(Fault fault) noexcept {
  constexpr std::string_view names[] = {"caller", "provider", "gateway"};
  return names[static_cast<std::size_t>(fault)];
}

constexpr std::string_view name_of(Advice advice) noexcept {
  constexpr std::string_view names[] = {"never",        "after_delay", "same_request",
                                        "after_top_up", "new_payment", "restart_paging",
                                        "after_change"};
  return names[static_cast<std::size_t>(advice)];
}

// The codes that the gateway itself sends in the lane's name, or has to recognize.
enum class CodeRole : std::uint8_t {
  none,
  not_payable,      // the operation has no price in this lane; for lanes with terms only
  unavailable,      // it has one, but cannot be paid now; for lanes with terms only
  outcome_unknown,  // unknown whether the call was charged; allowed in an Unknown
};

struct LaneCode {
  std::string_view name;  // "<lane>.<word>": lower-case letters, digits and _
  int status = 0;         // 400 to 599
  Fault fault = Fault::caller;
  Advice advice = Advice::never;
  std::string_view text = {};  // sentence for the caller when the refusal brings none
  CodeRole role = CodeRole::none;
};

}  // namespace turnpike
