#include "identity/tries.h"

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

// What the store could not do is nobody's failed try.
Error Tries::failed(const Error& error, std::string_view method, const Actor& actor) {
  if (error.code == ErrorCode::auth_unavailable) return error;
  if (auto counted = audit_.count_try(source_of(actor), minute_ms); !counted.ok()) {
    return std::move(counted).error();
  }
  auto recorded = audit_.record({.actor = actor,
                                 .action = "session.begin",
                                 .outcome = AuditOutcome::refused,
                                 .method = std::string(method),
                                 .detail = std::string(base::info_of(error.code).name)});
  if (!recorded.ok()) return std::move(recorded).error();
  return error;
}

}  // namespace turnpike::identity
