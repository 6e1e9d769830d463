#include "identity/tries.h"

#include <bit>
#include <string>

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::int64_t minute_ms = 60'000;

std::string source_of(const Actor& actor) { return "sign_in:" + actor.address; }

}  // namespace

Result<Unit, Error> Tries::judge(const Actor& actor) {
  const auto wait_seconds = audit_.throttled(source_of(actor), minute_ms, failures_max);
  if (!wait_seconds.ok()) return wait_seconds.error();
  if (*wait_seconds == 0) return Unit{};
  return Error{ErrorCode::auth_throttled,
               "Too many tries from your address have failed: wait a moment.", *wait_seconds};
}

// What the store could not do is nobody's failed try. A source that fails again and again gets an
// event for its first, second, fourth, eighth, ... failure of a minute, so that a flood of them
// leaves its size in the log and not a line for each.
Error Tries::failed(const Error& error, std::string_view method, const Actor& actor) {
  if (error.code == ErrorCode::auth_unavailable) return error;
  const auto failures = audit_.count_try(source_of(actor), minute_ms);
  if (!failures.ok()) return failures.error();
  if (!std::has_single_bit(static_cast<std::uint64_t>(*failures))) return error;
  std::string detail(base::info_of(error.code).name);
  if (*failures > 1) detail += ", failure " + std::to_string(*failures) + " in this minute";
  auto recorded = audit_.record({.actor = actor,
                                 .action = "session.begin",
                                 .outcome = AuditOutcome::refused,
                                 .method = std::string(method),
                                 .detail = std::move(detail)});
  if (!recorded.ok()) return std::move(recorded).error();
  return error;
}

}  // namespace turnpike::identity
