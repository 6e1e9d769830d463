// Judges a probe by the status of its reply: one rule for all providers that probe over HTTP. A
// status of 401 to 403, 429 or 500 and above fails the probe: an upstream that refuses the gateway,
// limits its rate or fails gives no sign of health.
//
//   Done probe(Call& call) override {
//     StatusOnly sink;
//     const Done done = host_.http().call(request, options, sink, call);
//     return done.ok() ? judge_probe(sink.status, "GET /health", sends_credential_) : done;
//   }
//
// The failure names the status in `where` for the gateway's evidence: a 401 to a probe that sent no
// credential shows that the host answers, but nothing about its service. The gateway counts it
// neither as healthy nor as unhealthy.
//
// Helpers are compiled into the plugin that uses them (see mistakes.h). Pure functions; any thread.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include <turnpike/result.h>

namespace turnpike {

inline constexpr std::string_view refused_status_prefix = "status ";

// Without a credential that it accepts, or with an unpaid bill, an upstream serves no request.
inline bool is_refusal_of_ours(int status) noexcept { return status >= 401 && status <= 403; }

// The failure of a probe that was answered with `status`. `what` is the request: "GET /health".
inline Failure refused_probe(int status, std::string_view what, bool sent_credential) {
  const FailureKind kind = is_refusal_of_ours(status) && sent_credential ? FailureKind::credential
                                                                          : FailureKind::contract;
  return {kind,
          "the probe " + std::string(what) + " was answered with status " + std::to_string(status),
          std::string(refused_status_prefix) + std::to_string(status), true};
}

inline bool is_probe_passed(int status) noexcept {
  return status >= 200 && status < 500 && !is_refusal_of_ours(status) && status != 429;
}

inline Done judge_probe(int status, std::string_view what, bool sent_credential) {
  if (is_probe_passed(status)) return Unit{};
  return refused_probe(status, what, sent_credential);
}

// The status that failed a probe; 0: the failure is of another kind.
inline int refused_status(const Failure& failure) noexcept {
  const std::string_view where = failure.where;
  if (failure.kind == FailureKind::invalid_settings || !where.starts_with(refused_status_prefix)) {
    return 0;
  }
  int status = 0;
  const char* const end = where.data() + where.size();
  const char* const begin = where.data() + refused_status_prefix.size();
  const auto [rest, problem] = std::from_chars(begin, end, status);
  return problem == std::errc{} && rest == end && status >= 100 && status <= 599 ? status : 0;
}

}  // namespace turnpike
