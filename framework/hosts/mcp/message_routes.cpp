#include "hosts/mcp/message_routes.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "hosts/mcp/envelope.h"
#include "hosts/mcp/progress.h"
#include "hosts/refusal.h"
#include "hosts/status_table.h"
#include "identity/bearer.h"
#include "text/canonical_json.h"
#include "text/http_field.h"

namespace turnpike::hosts::mcp {
namespace {

using base::ErrorCode;
namespace limits = base::limits;

constexpr std::uint32_t long_messages_max = 2;  // read at a time
constexpr std::uint32_t long_messages_queued_max = 64;
constexpr std::uint32_t discovery_ttl_ms = 3'600'000;

constexpr std::string_view instructions_for_all =
    " runs operations of third-party data providers and charges each call. Find one "
    "with service.capabilities.list, read its price and parameters with "
    "service.capabilities.get, run it with service.route.execute. ";

constexpr std::string_view instructions_for_accounts =
    "service.route.read runs routes of GET alone. "
    "Calls cost what their billing says; those with a free variant can be run for nothing, within "
    "limits, with free: true. service.account.balance tells what is left. Give an idempotency_key "
    "to a call that you may have to repeat: it is "
    "charged once.";

constexpr std::string_view instructions_for_payers =
    "Each call is paid by itself: without a payment the result is a PaymentRequired that says what "
    "to pay; send the same call again with the signed payment in _meta[\"x402/payment\"]. It is "
    "charged once, however often it is sent.";

std::string instructions(const ServiceName& service, Door door, ToolNames names) {
  return service.name +
         with_listed_names(
             std::string(instructions_for_all)
                 .append(door == Door::account ? instructions_for_accounts
                                               : instructions_for_payers),
             names);
}

// Whether the type is "application/json", with or without parameters.
bool is_message_type(std::string_view content_type) noexcept {
  return same_header_name(text::media_type_of(content_type), json_type);
}

RpcError not_found(std::string_view method, Era era) {
  return {RpcCode::method_not_found, "There is no method " + std::string(method) + " here.",
          era == Era::modern ? 404 : 200};
}

// Returns the cursor of a list request; null: none was sent.
Result<const std::string*, RpcError> cursor_of(const Json& params) {
  const Json* const cursor = find(params, "cursor");
  if (cursor == nullptr || cursor->is_null()) return static_cast<const std::string*>(nullptr);
  if (const auto* text = cursor->get_ptr<const std::string*>()) return text;
  return invalid_params("params.cursor must be a string.");
}

bool is_list(std::string_view method) noexcept {
  return method == "tools/list" || method == "resources/list" ||
         method == "resources/templates/list" || method == "prompts/list";
}

// Returns an object in params, an empty one for absent or JSON null; null: the member is not an
// object.
const Json* object_or_empty(const Json& params, const char* name) {
  static const Json empty = Json::object();
  const Json* const found = find(params, name);
  if (found == nullptr || found->is_null()) return &empty;
  return found->is_object() ? found : nullptr;
}

// Maps refusals of the wire, for which JSON-RPC has only the code of an invalid request.
RpcError error_of(const base::Error& error) {
  if (error.code == ErrorCode::gateway_overloaded) {
    return {RpcCode::internal_error, "The gateway reads too much now.", 503};
  }
  return {RpcCode::invalid_request, error.message, http_status(error.code)};
}

// Returns the credential that identifies the caller of a call. There is none at the payment
// endpoint: there the same payment, which is not charged twice, fetches an abandoned call.
std::string_view key_of(const Turn& turn, Door door) noexcept {
  return door == Door::payment ? std::string_view()
                               : identity::read_bearer(turn.request.headers()).token;
}

// Returns JSON text; empty: the client asked for no progress, or does not accept a stream.
std::string progress_token(const RpcRequest& request) {
  const Json* const token = request.meta("progressToken");
  if (token == nullptr || (!token->is_string() && !token->is_number_integer())) return {};
  return takes_event_stream(request.turn.request.headers()) ? text_of(*token) : std::string();
}

// Returns the tool or prompt that a log names besides the method.
std::string_view named_in(const Message& message) noexcept {
  const std::string* const name = find_text(message.params, "name");
  return name == nullptr ? std::string_view() : *name;
}

}  // namespace

MessageRoutes::MessageRoutes(const Parts& parts)
    : parts_(parts),
      server_info_(server_info_object(parts.service, parts.release)),
      budget_(parts.messages_bytes_max, limits::mcp_message_bytes_max,
              limits::mcp_long_message_bytes_max),
      pool_user_(parts.pool.add_user("mcp_messages", long_messages_max, long_messages_queued_max)) {
}

void MessageRoutes::answer(Turn& turn, Door door) {
  MeteredBody body(budget_, turn.request, parts_.executions.authenticator());
  const auto message = read(turn, body, door);
  if (!message.ok()) {
    turn.record.error = message.error().code.value_or(ErrorCode::request_malformed);
    return send_error(turn, {}, message.error().error);
  }
  answer_request(turn, door, *message);
}

// Long messages are only for tools with long arguments, which need an account.
std::uint64_t MessageRoutes::bytes_max(const Turn& turn, MeteredBody& metered, Door door) {
  const auto announced = turn.request.body_length();
  const bool is_long = !announced || *announced > limits::mcp_message_bytes_max;
  return door == Door::account && is_long && metered.is_known()
             ? limits::mcp_long_message_bytes_max
             : limits::mcp_message_bytes_max;
}

// Long messages are parsed on the pool, so that the loop can serve other requests meanwhile.
Result<Message, RpcError> MessageRoutes::parse(std::string_view body) const {
  if (body.size() <= limits::heavy_json_bytes) return read_message(body);
  std::optional<Result<Message, RpcError>> message;
  const auto read = [&]() noexcept {
    try {
      message.emplace(read_message(body));
      if (message->ok()) (*message)->arguments = arguments_of(body);
    } catch (...) {  // out of memory
      message.emplace(RpcError{RpcCode::internal_error, "The gateway reads too much now.", 503});
    }
  };
  if (!parts_.pool.run_to_end(pool_user_, read)) {
    return RpcError{RpcCode::internal_error, "The gateway reads too much now.", 503};
  }
  return *std::move(message);
}

Result<Message, MessageRoutes::Refused> MessageRoutes::read(Turn& turn, MeteredBody& metered,
                                                            Door door) const {
  // The header Idempotency-Key is ignored: here the key is an argument of the call.
  if (turn.header_problem() == "content-type" || !is_message_type(turn.content_type())) {
    return Refused{{RpcCode::invalid_request, "Content-Type must be application/json.", 415},
                   ErrorCode::request_media_type_rejected};
  }
  if (!turn.content_coding().empty()) {
    return Refused{{RpcCode::invalid_request, "Send the message without Content-Encoding.", 415},
                   ErrorCode::request_content_coding_rejected};
  }
  const auto body = metered.read(bytes_max(turn, metered, door));
  if (!body.ok()) return Refused{error_of(body.error()), body.error().code};
  turn.record.request_bytes = body->size();
  auto message = parse(*body);
  if (!message.ok()) return Refused{std::move(message).error()};
  return *std::move(message);
}

void MessageRoutes::answer_request(Turn& turn, Door door, const Message& message) {
  const auto era = read_envelope(message, turn.request.headers());
  if (!era.ok()) {
    turn.record.error = ErrorCode::request_malformed;
    return send_error(turn, message.id, era.error());
  }
  const bool is_call = message.method == "tools/call";
  const CallsInFlight::Call call(calls_, is_call ? key_of(turn, door) : "", message.id);
  const RpcRequest request{message, *era, door, turn, parts_.is_stopping, &call};
  turn.keep_rpc(message.method, named_in(message));
  if (const auto challenged = judge_credentials(request)) {
    turn.record.error = challenged->code;
    return send_error(turn, message.id, challenged->error, challenged->www_authenticate);
  }
  if (message.is_notification()) return take_notification(request);
  Progress progress(turn, is_call ? progress_token(request) : "", parts_.progress_interval_ms);
  const Answer answer = dispatch(request);
  progress.stop();
  if (answer.ok()) return send_result(request, *answer);
  RpcError error = answer.error();
  const bool has_left = error.code == RpcCode::request_cancelled;  // not logged as an error
  if (!turn.record.error && !has_left) turn.record.error = ErrorCode::request_malformed;
  if (*era == Era::legacy && message.method == "resources/read" && error.data.is_object()) {
    error.code = RpcCode::resource_not_found_legacy;
  }
  send_error(turn, message.id, error);
}

// A cancellation is the only notification that has an effect. It does not affect a call with
// another credential, or one that has ended, and the sender does not learn which.
void MessageRoutes::take_notification(const RpcRequest& request) {
  const Message& message = request.message;
  if (message.method == "notifications/cancelled") {
    const Json* const id = find(message.params, "requestId");
    const std::string_view key = key_of(request.turn, request.door);
    if (id != nullptr && !key.empty()) calls_.cancel(key, text_of(*id));
  }
  ReplyFields fields;
  fields.add("Cache-Control", "no-store");
  request.turn.send(202, fields, {});
}

std::optional<MessageRoutes::Challenged> MessageRoutes::judge_credentials(
    const RpcRequest& request) const {
  const wire::Request& http = request.turn.request;
  if (request.door == Door::payment) {
    if (!http.find("authorization") && !http.find("x-service-api-key")) return std::nullopt;
    // Never 401: clients would begin a sign-in that cannot end (docs/protocols.md, "Challenges").
    return Challenged{{RpcCode::invalid_request,
                       "This endpoint takes no credentials of an account: calls are paid one by "
                       "one. Send the request without Authorization, or to the endpoint that takes "
                       "API keys.",
                       403},
                      ErrorCode::auth_credential_conflict};
  }
  // A tool reports the problem in its result.
  if (request.message.method == "tools/call") return std::nullopt;
  const auto problem = parts_.executions.credential_problem(request);
  if (!problem) return std::nullopt;
  const int status = http_status(problem->code);
  return Challenged{{RpcCode::invalid_request, problem->message, status},
                    problem->code,
                    status == 401 ? parts_.executions.www_authenticate(request) : ""};
}

Answer MessageRoutes::dispatch(const RpcRequest& request) const {
  const std::string& method = request.message.method;
  const bool is_modern = request.era == Era::modern;
  if (method == "tools/call") return call_tool(request);
  if (method == "resources/read" && parts_.features.resources != nullptr) {
    return read_resource(request);
  }
  if (method == "prompts/get" && parts_.features.prompts != nullptr) return get_prompt(request);
  if (method == "initialize" && !is_modern) return initialize(request);
  if (method == "ping" && !is_modern) return RpcResult{};
  if (method == "server/discover" && is_modern) return discover(request);
  return is_list(method) ? list(request) : dispatch_extra(request);
}

Answer MessageRoutes::list(const RpcRequest& request) const {
  const std::string& method = request.message.method;
  const Features& features = parts_.features;
  const auto cursor = cursor_of(request.message.params);
  if (!cursor.ok()) return cursor.error();
  if (method == "tools/list") return features.toolsets.toolset()->list(request.door, *cursor);
  if (method == "prompts/list" && features.prompts != nullptr) {
    return features.prompts->list(request, *cursor);
  }
  if (method == "resources/list" && features.resources != nullptr) {
    return features.resources->list(request, *cursor);
  }
  if (method == "resources/templates/list" && features.resources != nullptr) {
    return features.resources->templates(request, *cursor);
  }
  return not_found(method, request.era);
}

Answer MessageRoutes::dispatch_extra(const RpcRequest& request) const {
  for (const ExtraMethod& extra : parts_.features.extra) {
    if (extra.name != request.message.method) continue;
    if (extra.is_legacy_only && request.era == Era::modern) break;
    return extra.answer(request);
  }
  return not_found(request.message.method, request.era);
}

Answer MessageRoutes::initialize(const RpcRequest& request) const {
  const std::string* const asked = find_text(request.message.params, "protocolVersion");
  if (asked == nullptr) return invalid_params("params.protocolVersion must be a string.");
  const auto known = std::find(legacy_versions.begin(), legacy_versions.end(), *asked);
  RpcResult result;
  result.members = R"("protocolVersion":")";
  result.members += known == legacy_versions.end() ? legacy_versions.front() : *known;
  result.members.append(R"(","capabilities":)").append(parts_.features.legacy_capabilities);
  result.members.append(R"(,"serverInfo":)").append(server_info_);
  result.members += R"(,"instructions":)";
  text::append_canonical_string(
      result.members, instructions(parts_.service, request.door,
                                   parts_.features.toolsets.toolset()->names()));
  return result;
}

Answer MessageRoutes::discover(const RpcRequest& request) const {
  RpcResult result;
  result.members = R"("supportedVersions":[")";
  result.members.append(modern_version).append(R"("],"capabilities":)");
  result.members.append(parts_.features.capabilities).append(R"(,"instructions":)");
  text::append_canonical_string(
      result.members, instructions(parts_.service, request.door,
                                   parts_.features.toolsets.toolset()->names()));
  result.ttl_ms = discovery_ttl_ms;
  return result;
}

Answer MessageRoutes::call_tool(const RpcRequest& request) const {
  const Json& params = request.message.params;
  const std::string* const name = find_text(params, "name");
  if (name == nullptr) return invalid_params("params.name must be a string.");
  const Json* const arguments = object_or_empty(params, "arguments");
  if (arguments == nullptr) return invalid_params("params.arguments must be an object.");
  const auto toolset = parts_.features.toolsets.toolset();
  const Tool* const tool = toolset->find(*name, request.door);
  if (tool == nullptr) {
    if (auto refused = parts_.executions.refuse_public(request)) return *std::move(refused);
    return invalid_params("There is no tool " + *name + " here; tools/list names those there are.");
  }
  if (request.era == Era::modern) {
    const auto wrong = check_mirrored(tool->mirrored(), *arguments, request.turn.request.headers());
    if (wrong) return *wrong;
  }
  return tool->call(request, *arguments);
}

Answer MessageRoutes::read_resource(const RpcRequest& request) const {
  const std::string* const uri = find_text(request.message.params, "uri");
  if (uri == nullptr) return invalid_params("params.uri must be a string.");
  return parts_.features.resources->read(request, *uri);
}

Answer MessageRoutes::get_prompt(const RpcRequest& request) const {
  const Json& params = request.message.params;
  const std::string* const name = find_text(params, "name");
  if (name == nullptr) return invalid_params("params.name must be a string.");
  const Json* const arguments = object_or_empty(params, "arguments");
  if (arguments == nullptr) return invalid_params("params.arguments must be an object.");
  return parts_.features.prompts->get(request, *name, *arguments);
}

void MessageRoutes::send_result(const RpcRequest& request, const RpcResult& result) const {
  send(request.turn, result.http_status,
       result_text(request.message.id, request.era, result, server_info_), result.www_authenticate);
}

void MessageRoutes::send_error(Turn& turn, std::string_view id, const RpcError& error,
                               std::string_view www_authenticate) {
  send(turn, error.http_status, error_text(id, error), www_authenticate);
}

void MessageRoutes::send(Turn& turn, int status, std::string_view json,
                         std::string_view www_authenticate) {
  if (turn.responder.begun()) {  // progress was sent
    turn.record.is_whole =
        turn.responder.write(as_event(json)) && turn.responder.finish() && turn.record.is_whole;
    return;
  }
  const bool is_whole = !wants_event_stream(turn.request.headers());
  RefusalHead head;  // used for results, too: a tool's refusal is a result
  head.challenge = www_authenticate;
  head.retry_after_seconds = status == 503 ? 1 : 0;
  ReplyFields fields;
  add_refusal_fields(head, is_whole ? json_type : "text/event-stream", fields);
  if (!is_whole) fields.add("X-Accel-Buffering", "no");
  turn.send(status, fields, is_whole ? json : std::string_view(as_event(json)));
}

}  // namespace turnpike::hosts::mcp
