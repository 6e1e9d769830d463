#include "x402/protocol/extensions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace turnpike::x402 {
namespace {

// Members of `info` that differ from challenge to challenge, so an echo may come from an older one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> passing_members{{
    {"offer-receipt", "offers"},
    {"sign-in-with-x", "nonce"},
    {"sign-in-with-x", "issuedAt"},
    {"sign-in-with-x", "expirationTime"},
}};

bool is_passing(std::string_view extension, JsonValue member) {
  return std::any_of(passing_members.begin(), passing_members.end(), [&](const auto& passing) {
    return passing.first == extension && member.equals(passing.second);
  });
}

bool contains(JsonValue echo, JsonValue offered) {
  if (!offered.is(JsonKind::object)) return json_equal(echo, offered);
  return echo.is(JsonKind::object) && std::all_of(offered.begin(), offered.end(), [&](auto member) {
           return contains(echo[member.name.string()], member.value);
         });
}

// For builder-code's service codes: callers may append their own, up to ten in all.
bool extends(JsonValue echo, JsonValue offered) {
  constexpr std::ptrdiff_t codes_max = 10;
  return echo.is(JsonKind::array) && std::distance(echo.begin(), echo.end()) <= codes_max &&
         std::all_of(offered.begin(), offered.end(), [&](auto code) {
           return std::any_of(echo.begin(), echo.end(),
                              [&](auto echoed) { return json_equal(echoed.value, code.value); });
         });
}

bool echoes_one(std::string_view name, JsonValue echo, JsonValue offered) {
  if (!echo.is(JsonKind::object)) return false;
  const bool is_builder_code = name == "builder-code";
  if (is_builder_code) {
    // Only we may give the app's code; the list of services may be the caller's alone.
    if (offered["a"].is_missing() && !echo["a"].is_missing()) return false;
    if (!echo["s"].is_missing() && !extends(echo["s"], offered["s"])) return false;
  }
  return std::all_of(offered.begin(), offered.end(), [&](auto member) {
    if (is_passing(name, member.name)) return true;
    const JsonValue echoed = echo[member.name.string()];
    if (is_builder_code && member.name.equals("s")) return !echoed.is_missing();
    return contains(echoed, member.value);
  });
}

}  // namespace

bool echoes(const PaymentPayload& payload, std::span<const OfferedExtension> offered) {
  return std::all_of(offered.begin(), offered.end(), [&](const OfferedExtension& extension) {
    const JsonValue echo = payload.extension(extension.name);
    return echo.is_missing() || echoes_one(extension.name, echo["info"], extension.info.root());
  });
}

}  // namespace turnpike::x402
