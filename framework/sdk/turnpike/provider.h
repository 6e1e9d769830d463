// Provider: the slot for adapters to an upstream. A Provider is made once per process; bind() is
// called for each upstream of each registry generation in which its settings changed, and gives an
// Upstream that serves all operations routed to it.
//
// Life: factory -> bind() (may fail, may wait) -> execute(), state(), probe() concurrently from any
// host Thread -> destruction, after the last call has returned. The host owns all three objects.
// Plugins start no threads. A plugin whose descriptor says `cooperative` waits only through Host
// and Call; one that says `blocking` is run on the blocking pool and may wait on what it likes.
//
// A provider may also publish documents, answer requests to paths of its own, do work of its own
// now and then and add commands to the gateway's command line: turnpike/offers.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/message.h>
#include <turnpike/offers.h>
#include <turnpike/result.h>
#include <turnpike/settings.h>
#include <turnpike/state.h>

namespace turnpike {

// One operation that the registry routes to the upstream; its index in Binding::operations is
// UpstreamRequest::operation. Views are valid during bind().
struct BoundOperation {
  std::string_view route_id;
  Method method = Method::get;
  std::string_view path;  // the matcher's pattern, such as "/v1/gateway/x/daos/{dao_id}"
  std::span<const std::string_view> parameter_names;
  const Settings* settings = nullptr;  // the route's own `upstream_settings`; may be null
  std::uint32_t credit_cost = 0;       // 0 when unpriced
  // What a call costs without an account, by the first of its terms (PriceTerms::amount); empty: it
  // is not offered so.
  std::string_view per_call_amount;
};

struct Binding {
  std::string_view upstream_id;
  const Settings& settings;
  std::span<const BoundOperation> operations;
  // Where a plugin may keep files of its own; relative paths in its settings are meant below it.
  std::string_view data_dir = {};
  // Whether probe() may send what execute() sends to authenticate, as the registry says of the
  // upstream. Without it a probe spends no credential.
  bool probe_uses_credential = false;
};

struct UpstreamRequest {
  std::uint32_t operation = 0;
  Method method = Method::get;
  std::string_view path;   // raw path the caller sent, without query and `:free`
  std::string_view query;  // raw query without '?', exactly the caller's bytes
  std::span<const PathParameter> parameters;
  std::string_view content_type;  // empty when there is no body
  std::string_view body;          // exactly the caller's bytes
  Headers headers;                // the allow-listed caller headers; never a credential
  std::uint64_t reply_bytes_max = 0;
};

// Receives the upstream's reply: head() once, then body() any number of times. False means stop:
// return at once. Both may suspend the fiber. Header names are sent on only if the gateway allows.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual bool head(int status, Headers headers, std::optional<std::uint64_t> length) = 0;
  virtual bool body(std::string_view bytes) = 0;
};

// An operation as a tool that models may call by a name of its own, at the MCP host's endpoint for
// accounts. A call of it is a call of the operation, with the operation's price and limits: the
// tool's arguments, as they were written, are the body of a POST, and the JSON object that the
// operation replies is the result. A reply with a status of 400 or more is a failure of the tool.
// All views are valid until the process ends.
struct OperationTool {
  // "service.<plugin>." and up to 64 bytes in all of a-z, 0-9, '_' and '.'.
  std::string_view name;
  std::string_view title = {};          // for people
  std::string_view description = {};    // models choose tools by it
  std::string_view input_schema = {};   // JSON Schema: "type": "object", no combinators at the root
  std::string_view output_schema = {};  // likewise, of the reply; empty: none is told
  bool is_read_only = false;            // nothing changes anywhere by a call
  // What is told to readers of text alone of a reply that is a success; null, or an empty answer:
  // the reply itself. Must not wait; called on any Thread.
  std::string (*text_of)(std::string_view reply) = nullptr;
};

class Upstream : public BoundObject {
 public:
  // Runs one operation. Ok means that the whole reply was given to `sink` (any upstream status).
  virtual Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) = 0;
  // Asked before every execution and for every catalog page: must not wait, lock or allocate.
  [[nodiscard]] virtual State state(std::uint32_t operation) const noexcept = 0;
  // Looks once whether the upstream answers. Called periodically, never on a caller's path. An
  // answer of 401 to 403, 429 or from 500 on is a failure (turnpike/helpers/probe.h), and a failure
  // never counts as a sign of health inside the plugin, such as to close a circuit breaker.
  virtual Done probe(Call& call) = 0;
  // The operation as a tool of its own; null: it is none. The same whenever it is asked; must not
  // wait. Of several operations that are the same tool, the first of the program is it.
  [[nodiscard]] virtual const OperationTool* tool(std::uint32_t /*operation*/) const noexcept {
    return nullptr;
  }
};

class Provider : public SlotObject {
 public:
  virtual Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) = 0;
};

}  // namespace turnpike
