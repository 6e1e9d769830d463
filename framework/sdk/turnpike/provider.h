// Provider: the slot for adapters to an upstream. A Provider is made once per process. bind() is
// called for each upstream in each registry generation that changed its settings; it makes an
// Upstream that serves all operations routed to it.
//
// Life: factory -> bind() (may fail, may wait) -> execute(), state(), probe() concurrently from any
// host Thread -> destruction, after the last call has returned. The host owns all three objects.
// Plugins start no threads. A plugin whose descriptor says `cooperative` waits only through Host
// and Call; one that says `blocking` runs on the blocking pool and may block its thread.
//
// A provider may also publish documents, answer requests to paths of its own, run periodic work and
// add commands to the gateway's command line: turnpike/offers.h.
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
  // Price of a call without an account, by the first of its terms (PriceTerms::amount); empty: the
  // operation needs an account.
  std::string_view per_call_amount;
};

struct Binding {
  std::string_view upstream_id;
  const Settings& settings;
  std::span<const BoundOperation> operations;
  // The folder for a plugin's own files. Relative paths in its settings are relative to this
  // folder.
  std::string_view data_dir = {};
  // Whether probe() may send the credential that execute() sends, as the registry says of the
  // upstream. Otherwise a probe sends no credential.
  bool probe_uses_credential = false;
};

struct UpstreamRequest {
  std::uint32_t operation = 0;
  Method method = Method::get;
  std::string_view path;   // raw path as received, without query and `:free`
  std::string_view query;  // raw query without '?', exactly the caller's bytes
  std::span<const PathParameter> parameters;
  std::string_view content_type;  // empty when there is no body
  std::string_view body;          // exactly the caller's bytes
  Headers headers;                // allow-listed headers of the caller; never a credential
  std::uint64_t reply_bytes_max = 0;
};

// Receives the upstream's reply: head() once, then body() any number of times. When one of them
// returns false, execute() must stop and return. Both may suspend the fiber. The gateway passes on
// only the headers that it allows.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual bool head(int status, Headers headers, std::optional<std::uint64_t> length) = 0;
  virtual bool body(std::string_view bytes) = 0;
};

// An operation as a named tool that models can call at the MCP host's endpoint for accounts. A call
// of the tool is a call of the operation, with its price and limits: the tool's arguments are sent
// unchanged as the body of a POST, and the JSON object of the reply is the result. A reply with a
// status of 400 or more is a failure of the tool. All views are valid until the process ends.
struct OperationTool {
  // "service.<plugin>." and more; up to 64 bytes in all of a-z, 0-9, '_' and '.'.
  std::string_view name;
  std::string_view title = {};          // for people
  std::string_view description = {};    // models choose tools by this text
  std::string_view input_schema = {};   // JSON Schema: "type": "object", no combinators at the root
  std::string_view output_schema = {};  // JSON Schema of the reply, likewise; empty: none
  bool is_read_only = false;            // a call changes nothing anywhere
  // Makes the text for clients that read text alone from a successful reply. A null pointer or an
  // empty result means the reply itself. Must not wait; called on any Thread.
  std::string (*text_of)(std::string_view reply) = nullptr;
};

class Upstream : public BoundObject {
 public:
  // Runs one operation. Ok means that the complete reply, of any status, was given to `sink`.
  virtual Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) = 0;
  // Called before every execution and for every catalog page: must not wait, lock or allocate.
  [[nodiscard]] virtual State state(std::uint32_t operation) const noexcept = 0;
  // Checks once whether the upstream answers. Called periodically, never during a caller's request.
  // A status of 401 to 403, 429 or 500 and above is a failure (turnpike/helpers/probe.h). The
  // plugin must not take a failure for a sign of health, such as to close a circuit breaker.
  virtual Done probe(Call& call) = 0;
  // The operation as a named tool; null: it is none. Returns the same value on every call; must not
  // wait. When several operations return the same tool, it is that of the first one in the program.
  [[nodiscard]] virtual const OperationTool* tool(std::uint32_t /*operation*/) const noexcept {
    return nullptr;
  }
};

class Provider : public SlotObject {
 public:
  virtual Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) = 0;
};

}  // namespace turnpike
