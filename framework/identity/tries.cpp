#include "identity/tries.h"

#include <arpa/inet.h>

#include <bit>
#include <span>
#include <string>

#include "text/encoding.h"

namespace turnpike::identity {

using base::Error;
using base::ErrorCode;

Result<Unit, Error> Tries::judge(const Actor& actor) {
  const auto wait_seconds =
      audit_.throttled(source_of(actor), bound_.window_ms, bound_.failures_max);
  if (!wait_seconds.ok()) return wait_seconds.error();
  if (*wait_seconds == 0) return Unit{};
  return Error{ErrorCode::auth_throttled,
               "Too many tries from your address have failed: wait a moment.", *wait_seconds};
}

// Errors of the gateway itself do not count as failed tries. A source that keeps failing gets an
// audit event for its first, second, fourth, eighth, ... failure of a window, so that the log shows
// the size of a flood without an event for each failure.
Error Tries::failed(const Error& error, std::string_view method, const Actor& actor) {
  if (base::info_of(error.code).fault == base::Fault::gateway) return error;
  const auto failures = audit_.count_try(source_of(actor), bound_.window_ms);
  if (!failures.ok()) return failures.error();
  if (!std::has_single_bit(static_cast<std::uint64_t>(*failures))) return error;
  std::string detail(base::info_of(error.code).name);
  if (*failures > 1) {
    detail += ", failure " + std::to_string(*failures) + " within " +
              std::to_string(bound_.window_ms / 60'000) + " min";
  }
  auto recorded = audit_.record({.actor = actor,
                                 .action = "session.begin",
                                 .outcome = AuditOutcome::refused,
                                 .method = std::string(method),
                                 .detail = std::move(detail)});
  if (!recorded.ok()) return std::move(recorded).error();
  return error;
}

std::string Tries::source_of(const Actor& actor) const {
  constexpr std::size_t network_bytes = 8;
  in6_addr address{};
  const std::string name = std::string(bound_.name) + ":";
  const bool is_v6 = inet_pton(AF_INET6, actor.address.c_str(), &address) == 1;
  if (!is_v6 || IN6_IS_ADDR_V4MAPPED(&address)) return name + actor.address;
  return name + text::hex(std::span(address.s6_addr).first(network_bytes)) + "/64";
}

}  // namespace turnpike::identity
