// Judging looks: what an upstream's reply to a sample or to a probe says about it. A reply passes
// when it is a declared success of its operation and is as `expect` says; 401 to 403 and 429 never
// pass, and neither does what is not known.
//
// Pure functions; any Thread. One pass over the body for each pointer of the expectation, without
// recursion, so hostile replies cost no more than their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "registry/program.h"
#include "status/look.h"

namespace turnpike::status {

// Longer replies are counted and not kept; nothing can be expected of what is in them.
inline constexpr std::size_t judged_reply_bytes_max = 256 * 1024;
inline constexpr std::size_t difference_bytes_max = 200;

// Whether the reply must be kept to be judged.
bool needs_body(const registry::Expectation& expect) noexcept;

// What came back for a sample.
struct ReplySeen {
  int status = 0;                 // 0: no head came
  std::size_t content_types = 0;  // header fields of that name
  std::string content_type;       // the first of them
  std::string last_modified;
  std::string body;           // empty unless it was to be kept
  bool is_body_cut = false;   // it was longer than judged_reply_bytes_max
  bool is_too_large = false;  // it was longer than the operation allows
};

// `done` is what execute() returned; `is_late`: after the deadline. Latency is left to the caller.
Look judge(const registry::ResponsePolicy& policy, const registry::Expectation& expect,
           const ReplySeen& reply, const Done& done, bool is_late, std::int64_t now_ms);

// What probe() returned. A probe that sent no credential and was answered with 401 to 403 says that
// the host answers, and nothing of its service: it is unknown.
Look judge_probe(const Done& done, bool sent_credential);

// Why a plugin's failure is no pass.
Reason reason_of(FailureKind kind) noexcept;

// Of a JSON text: its kind, or nothing for an empty one.
std::optional<registry::JsonKind> kind_of(std::string_view json) noexcept;
std::string_view name_of(registry::JsonKind kind) noexcept;  // "array"

// At most difference_bytes_max bytes of it, so that it stays readable in a record.
std::string bounded_difference(std::string text);

// Milliseconds since 1970 of a time as replies tell it: text by RFC 3339, with an offset and a
// fraction if they like, or a JSON number of seconds or, from 10^11 on, of milliseconds.
std::optional<std::int64_t> told_time_ms(std::string_view json);
// The same of an HTTP date (RFC 9110 section 5.6.7), in the form that senders must use.
std::optional<std::int64_t> http_date_ms(std::string_view text);

}  // namespace turnpike::status
