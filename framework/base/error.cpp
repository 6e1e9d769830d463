#include "base/error.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace turnpike::base {
namespace {

constexpr std::size_t own_codes = std::size(error_infos);
constexpr std::size_t lane_codes_max = error_codes_max - own_codes;

// Filled from the front and never changed again, so readers need no lock. The texts belong to the
// plugin, which stays mapped until exit.
constinit std::array<LaneError, lane_codes_max> lane_errors{};
std::atomic<std::size_t> lane_errors_count{0};

std::span<const LaneError> known_lane_errors() noexcept {
  return {lane_errors.data(), lane_errors_count.load(std::memory_order_acquire)};
}

bool is_word(std::string_view text) noexcept {
  constexpr std::size_t bytes_max = 64;
  return !text.empty() && text.size() <= bytes_max &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

bool is_same(const LaneError& known, const LaneCode& code) noexcept {
  return known.info.name == code.name && known.info.fault == code.fault &&
         known.info.advice == code.advice && known.status == code.status &&
         known.text == code.text && known.role == code.role;
}

// The fault of a code that `lane` adds; empty: none.
std::string_view fault_of(std::string_view lane, const LaneCode& code) noexcept {
  const bool is_prefixed = code.name.starts_with(lane) &&
                           code.name.substr(lane.size()).starts_with('.') &&
                           is_word(code.name.substr(lane.size() + 1));
  if (!is_prefixed) return "is not the lane's name, a dot and a word of a-z, 0-9 and _";
  if (code.status < 400 || code.status > 599) return "has a status outside 400 to 599";
  if (code.fault > Fault::gateway || code.advice > Advice::after_change ||
      code.role > CodeRole::outcome_unknown) {
    return "has an unknown fault, advice or role";
  }
  if (code.text.empty()) return "has no text";
  const ErrorInfo* const known = find_error(code.name);
  if (known == nullptr) return {};
  const LaneError* const other = lane_error(known->code);
  return other != nullptr && is_same(*other, code) ? "" : "is known with another meaning";
}

}  // namespace

const LaneError* lane_error(ErrorCode code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < own_codes ? nullptr : &lane_errors[index - own_codes];
}

std::string_view oauth_word(ErrorCode code) noexcept {
  constexpr std::string_view prefix = "oauth.";
  const std::string_view name = info_of(code).name;
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view();
}

Result<Unit, std::string> add_lane_codes(std::string_view lane, std::span<const LaneCode> codes) {
  std::size_t count = known_lane_errors().size();
  const std::size_t known = count;
  for (const LaneCode& code : codes) {
    if (const std::string_view fault = fault_of(lane, code); !fault.empty()) {
      return "its error code \"" + std::string(code.name) + "\" " + std::string(fault);
    }
    const auto added = std::span(lane_errors).subspan(known, count - known);
    const bool is_twice = std::any_of(added.begin(), added.end(), [&](const LaneError& other) {
      return other.info.name == code.name;
    });
    if (is_twice) return "its error code \"" + std::string(code.name) + "\" is there twice";
    if (find_error(code.name) != nullptr) continue;
    if (count == lane_codes_max) {
      return std::string("its error codes are more than there is room for");
    }
    lane_errors[count] = {
        {static_cast<ErrorCode>(own_codes + count), code.name, code.fault, code.advice},
        code.status,
        code.text,
        code.role};
    ++count;
  }
  lane_errors_count.store(count, std::memory_order_release);
  return Unit{};
}

ErrorCode code_of(CodeRole role) noexcept {
  for (const LaneError& known : known_lane_errors()) {
    if (known.role == role && role != CodeRole::none) return known.info.code;
  }
  switch (role) {
    case CodeRole::not_payable:
      return ErrorCode::auth_credential_conflict;
    case CodeRole::unavailable:
      return ErrorCode::billing_ledger_unavailable;
    case CodeRole::outcome_unknown:
    case CodeRole::none:
      break;
  }
  return ErrorCode::billing_settlement_unknown;
}

CodeRole role_of(ErrorCode code) noexcept {
  const LaneError* const known = lane_error(code);
  if (known != nullptr) return known->role;
  return code == ErrorCode::billing_settlement_unknown ? CodeRole::outcome_unknown : CodeRole::none;
}

std::vector<ErrorInfo> all_errors() {
  std::vector<ErrorInfo> all;
  for (const ErrorInfo& info : error_infos) {
    if (info.code == ErrorCode::catalog_limit_invalid) {
      for (const LaneError& known : known_lane_errors()) all.push_back(known.info);
    }
    all.push_back(info);
  }
  return all;
}

const ErrorInfo* find_error(std::string_view name) noexcept {
  for (const ErrorInfo& info : error_infos) {
    if (info.name == name) return &info;
  }
  for (const LaneError& known : known_lane_errors()) {
    if (known.info.name == name) return &known.info;
  }
  return nullptr;
}

}  // namespace turnpike::base
