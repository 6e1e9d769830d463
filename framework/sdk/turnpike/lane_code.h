// LaneCode: an error code that a lane brings, beside those of the gateway: what it is called, which
// HTTP status it gives, whose fault it is and what a caller can do. Codes are public and stable.
//
// Constants of the plugin, valid until exit; safe on any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

// Whose fault an error is.
enum class Fault : std::uint8_t { caller, provider, gateway };

// What a caller can do about an error.
enum class Advice : std::uint8_t {
  never,
  after_delay,
  same_request,  // safe to repeat as is
  after_top_up,
  new_payment,
  restart_paging,
  after_change,  // of what the fields or the message name; as it is it fails again
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

// What the gateway itself may have to say in the lane's stead, or has to recognize.
enum class CodeRole : std::uint8_t {
  none,
  not_payable,      // the operation cannot be paid for this way; of lanes with terms alone
  unavailable,      // it can, but not now; of lanes with terms alone
  outcome_unknown,  // whether the call was charged is not known: what Unknown may refuse with
};

struct LaneCode {
  std::string_view name;  // "<lane>.<word>": lower-case letters, digits and _
  int status = 0;         // 400 to 599
  Fault fault = Fault::caller;
  Advice advice = Advice::never;
  std::string_view text = {};  // one sentence for the caller, where nobody has a better one
  CodeRole role = CodeRole::none;
};

}  // namespace turnpike
