// One request to a polled place over the gateway's HTTP: bounded in time and size, never
// redirected, never repeated. What comes back is untrusted; what is said about a failure is our own
// words, for callers read it. Plain functions on a Host that outlives them; any Thread of the pool.
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

// What a step of a source came to.
enum class StepKind : std::uint8_t {
  more,     // the round goes on with another request
  done,     // the round is over
  limited,  // the place asks for patience: `wait_ms`
  failed,   // `problem` says why; nothing of what came was kept
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
  std::optional<std::int64_t> retry_after_s;  // of Retry-After in seconds
  std::optional<std::int64_t> reset_at_s;     // of X-Api-Key-Reset: Unix seconds
};

Result<RemoteReply> ask_remote(Host& host, const SourceSettings& source,
                               const RemoteRequest& request, Call& call);

// Our words for why nothing was answered.
std::string problem_of(const Failure& failure);
// What any status but 200 means; nullopt: 200.
std::optional<Step> judge_status(const RemoteReply& reply, std::int64_t now_ms);
Step failed_step(std::string problem);

// The whole text as one JSON object; nullopt: it is none, or has more values than a record may
// have.
std::optional<JsonValue> object_of(std::string_view text);
// The elements of a text that is one JSON array.
std::optional<std::vector<JsonValue>> array_of(std::string_view text);

}  // namespace turnpike::govdata
