// Judges looks: derives the result of a look from an upstream's reply to a sample or a probe. A
// reply passes if it is a declared success of its operation and matches `expect`; 401 to 403 and
// 429 never pass, and neither does an unknown outcome.
//
// Pure functions; any Thread. One pass over the body per pointer of the expectation, without
// recursion, so the cost of hostile replies is linear in their length.
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

// Longer replies are counted and not kept; their contents cannot be checked.
inline constexpr std::size_t judged_reply_bytes_max = 256 * 1024;
inline constexpr std::size_t difference_bytes_max = 200;

// True if the reply must be kept to be judged.
bool needs_body(const registry::Expectation& expect) noexcept;

// The reply to a sample.
struct ReplySeen {
  int status = 0;                 // 0: no head was received
  std::size_t content_types = 0;  // number of such header fields
  std::string content_type;       // the first of them
  std::string last_modified;
  std::string body;           // empty unless needs_body()
  bool is_body_cut = false;   // longer than judged_reply_bytes_max
  bool is_too_large = false;  // longer than the operation allows
};

// `done`: the result of execute(); `is_late`: it came after the deadline. Latency is left to the
// caller.
Look judge(const registry::ResponsePolicy& policy, const registry::Expectation& expect,
           const ReplySeen& reply, const Done& done, bool is_late, std::int64_t now_ms);

// `done`: the result of probe(). A probe without a credential that is answered with 401 to 403
// shows that the host responds, and nothing about its service: the result is unknown.
Look judge_probe(const Done& done, bool sent_credential);

// The reason that a plugin's failure is recorded under.
Reason reason_of(FailureKind kind) noexcept;

// The kind of a JSON text; nullopt for an empty text.
std::optional<registry::JsonKind> kind_of(std::string_view json) noexcept;
std::string_view name_of(registry::JsonKind kind) noexcept;  // "array"

// Cuts the text to difference_bytes_max, so that records stay readable.
std::string bounded_difference(std::string text);

// Reads a time as replies give it, in milliseconds since 1970: RFC 3339 text with an offset and an
// optional fraction, or a JSON number of seconds or, from 10^11 on, of milliseconds.
std::optional<std::int64_t> told_time_ms(std::string_view json);
// Reads an HTTP date (RFC 9110 section 5.6.7) in the form that senders must generate.
std::optional<std::int64_t> http_date_ms(std::string_view text);

}  // namespace turnpike::status
