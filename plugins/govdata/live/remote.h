// One request to a polled source over the gateway's HTTP, limited in time and size. Redirects are
// not followed, and nothing is retried. The reply is untrusted. Descriptions of failures contain no
// text of the source, since callers can read them. Any Thread of the pool may call the functions;
// the Host must outlive the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/host.h>

#include "govdata/import/json_records.h"
#include "govdata/live/settings.h"

namespace turnpike::govdata {

// The result of a source's step.
enum class StepKind : std::uint8_t {
  more,     // the round continues with another request
  done,     // the round is over
  limited,  // the source limits the rate: wait for `wait_ms`
  failed,   // `problem` says why; nothing of the reply was kept
};
struct Step {
  StepKind kind = StepKind::more;
  std::int64_t wait_ms = 0;
  std::string problem;
};

struct RemoteRequest {
  Method method = Method::get;
  std::string url;
  std::vector<OwnedHeader> headers;
  std::string body;
  std::uint64_t reply_bytes_max = 32u << 20;
};

struct RemoteReply {
  int status = 0;
  std::string body;
  std::optional<std::int64_t> retry_after_s;  // from Retry-After
  std::optional<std::int64_t> reset_at_s;     // from X-Api-Key-Reset: Unix seconds
};

Result<RemoteReply> ask_remote(Host& host, const SourceSettings& source,
                               const RemoteRequest& request, Call& call);

// Describes why there is no reply, without text of the source.
std::string problem_of(const Failure& failure);
// The step that follows from a status other than 200; empty for 200.
std::optional<Step> judge_status(const RemoteReply& reply, std::int64_t now_ms);
Step failed_step(std::string problem);

// The whole text as one JSON object. Empty if it is not one, or has more values than a record may
// have.
std::optional<JsonValue> object_of(std::string_view text);
// The elements of a text that is one JSON array; empty if it is not one.
std::optional<std::vector<JsonValue>> array_of(std::string_view text);

}  // namespace turnpike::govdata
