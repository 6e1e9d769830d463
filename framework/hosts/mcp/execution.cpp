#include "hosts/mcp/execution.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error_envelope.h"
#include "base/limits.h"
#include "base/strict_object.h"
#include "exchange/reply.h"
#include "hosts/status_table.h"
#include "identity/bearer.h"
#include "text/canonical_json.h"
#include "text/encoding.h"
#include "text/json_pointer.h"

namespace turnpike::hosts::mcp {
namespace {

using base::ErrorCode;

constexpr const char* payment_key = "x402/payment";
constexpr std::string_view api_key_prefix = "turnpike_sk_";
constexpr std::string_view payment_header = "payment-signature";
constexpr std::array<std::string_view, 2> account_headers = {"authorization", "x-service-api-key"};
constexpr std::array<std::string_view, 3> trace_headers = {"traceparent", "tracestate", "baggage"};

void append_text(std::string& out, std::string_view name, std::string_view value) {
  out.append(",\"").append(name).append("\":");
  text::append_canonical_string(out, value);
}

bool is_json_content(std::string_view content_type) noexcept {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; \t"));
  return same_header_name(type, "application/json") ||
         (type.size() > 5 && same_header_name(type.substr(type.size() - 5), "+json"));
}

bool is_json(std::string_view text) {
  static const text::JsonPointer whole = text::JsonPointer::parse("").value();
  return text::point(text, whole) != text::Pointed::malformed && text::is_utf8(text);
}

// Appends a JSON value unchanged, text as a string, anything else in base64.
void append_body(std::string& out, std::string_view content_type, bool is_encoded,
                 std::string_view body) {
  out += ",\"body\":";
  if (!is_encoded && is_json_content(content_type) && is_json(body)) {
    out += body;
  } else if (!is_encoded && text::is_utf8(body)) {
    text::append_canonical_string(out, body);
  } else {
    out.append(R"({"base64":")").append(text::base64(body)).append("\"}");
  }
}

// Appends the only member of the ErrorEnvelope, `error`.
void append_error(std::string& out, const base::Error& error, std::string_view request_id) {
  std::string envelope;
  base::append_envelope(envelope, error, request_id);
  out.append(",").append(envelope, 1, envelope.size() - 2);
}

std::string begin_structured(std::string_view status, int http_status) {
  std::string out = R"({"execution_status":")";
  out.append(status).append(R"(","http_status":)");
  text::append_canonical_integer(out, http_status);
  return out;
}

void append_facts(std::string& out, const exchange::ReplyFacts& facts,
                  std::string_view request_id) {
  out += ",\"credits_charged\":";
  text::append_canonical_integer(out, static_cast<std::int64_t>(facts.credits_charged));
  if (facts.credits_remaining >= 0) {
    out += ",\"credits_remaining\":";
    text::append_canonical_integer(out, facts.credits_remaining);
  }
  append_text(out, "request_id", request_id);
  if (!facts.generation.empty()) append_text(out, "generation", facts.generation);
  append_text(out, "reply_from", exchange::name_of(facts.from));
}

std::string lower(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// Returns the header value of a payment in `_meta`, which holds the object itself or its base64.
std::optional<std::string> payment_of(const RpcRequest& request) {
  const Json* const payment = request.meta(payment_key);
  if (payment == nullptr) return std::nullopt;
  if (const auto* text = payment->get_ptr<const std::string*>()) return *text;
  return text::base64(text_of(*payment));
}

// Returns the status of a refused execution, by its endpoint.
std::string_view refused_status(Door door) noexcept {
  return door == Door::payment ? "x402_error" : "refused";
}

// One running execution: the request for serve(), and its outcome.
class Execution final : public exchange::BodySource,
                        public exchange::Caller,
                        public exchange::ReplyWriter {
 public:
  Execution(const RpcRequest& request, const RouteAsk& ask, std::string_view api_url)
      : request_(request), ask_(ask), api_url_(api_url) {
    take_credentials();
    take_trace();
  }

  [[nodiscard]] exchange::Invocation invocation() {
    exchange::Invocation invocation;
    invocation.method = ask_.method;
    invocation.path = ask_.path;
    invocation.query = ask_.query;
    invocation.headers = headers_;
    invocation.content_type = ask_.content_type;
    invocation.request_id = request_.turn.request_id();
    invocation.client_request_id = request_.turn.client_request_id();
    invocation.idempotency_key = ask_.idempotency_key;
    invocation.body = ask_.body ? this : nullptr;
    invocation.caller = this;
    invocation.found = ask_.found ? &*ask_.found : nullptr;
    return invocation;
  }
  // Returns the result that the writer received; nothing: the caller is gone or the reply was cut.
  [[nodiscard]] std::optional<RpcResult> take_result() { return std::move(result_); }
  [[nodiscard]] const std::optional<base::Error>& refusal() const noexcept { return refusal_; }

  // The interface BodySource.
  [[nodiscard]] std::optional<std::uint64_t> declared_length() const noexcept override {
    return ask_.body->size();
  }
  [[nodiscard]] Result<std::string_view, base::Error> read(std::uint64_t bytes_max) override {
    if (ask_.body->size() <= bytes_max) return std::string_view(*ask_.body);
    return base::Error{ErrorCode::request_body_too_large, "The body is too long."};
  }

  // The interface Caller.
  [[nodiscard]] exchange::Standing standing() const noexcept override {
    if (request_.turn.request.client_gone() || request_.is_cancelled()) {
      return exchange::Standing::gone;
    }
    return request_.is_stopping.load(std::memory_order_relaxed) ? exchange::Standing::stopping
                                                                : exchange::Standing::waiting;
  }

  // The interface ReplyWriter. A tool result is one JSON object, so streamed replies are collected,
  // too.
  bool reply(const exchange::ReplyHead& head, std::string_view body) override {
    take_head(head);
    return end(body);
  }
  bool begin(const exchange::ReplyHead& head, std::optional<std::uint64_t>) override {
    take_head(head);
    return standing() != exchange::Standing::gone;
  }
  bool write(std::string_view bytes) override {
    gathered_ += bytes;
    return standing() != exchange::Standing::gone;
  }
  bool finish(std::string_view last_bytes) override {
    gathered_ += last_bytes;
    return end(gathered_);
  }
  void cut() noexcept override { result_.reset(); }
  bool refuse(const base::Error& error, const exchange::RefusalHead& head) override;

 private:
  void take_credentials();
  void take_trace();
  void take_head(const exchange::ReplyHead& head);
  [[nodiscard]] base::Error with_way_out(base::Error error) const;
  bool take_content_header(std::string_view name, std::string_view value);
  bool end(std::string_view body);
  bool end_tool(std::string_view body);
  void take_lane_headers(std::span<const OwnedHeader> lane_headers);
  void keep(std::string_view name, std::string value) {
    owned_.push_back({std::string(name), std::move(value)});
  }

  const RpcRequest& request_;
  const RouteAsk& ask_;
  const std::string_view api_url_;
  std::vector<OwnedHeader> owned_;
  std::vector<HeaderField> headers_;

  int status_ = 0;
  std::string content_type_;
  std::string content_coding_;  // of the reply, such as "gzip"; empty: none
  std::string facts_;           // members after the body
  std::string lane_headers_;    // the member `headers`, or empty
  std::string meta_;
  std::string_view execution_status_;
  std::string gathered_;
  std::optional<RpcResult> result_;
  std::optional<base::Error> refusal_;
};

// Only the credentials among the request's header fields belong to the call; the other fields
// belong to the transport.
void Execution::take_credentials() {
  for (const HeaderField& field : request_.turn.request.headers()) {
    const bool is_credential =
        same_header_name(field.name, payment_header) ||
        (request_.door == Door::account &&
         std::any_of(account_headers.begin(), account_headers.end(),
                     [&](std::string_view name) { return same_header_name(field.name, name); }));
    if (is_credential) headers_.push_back(field);
  }
  if (auto payment = payment_of(request_)) keep(payment_header, *std::move(payment));
}

void Execution::take_trace() {
  for (const std::string_view name : trace_headers) {
    const Json* const value = request_.meta(name.data());
    const auto* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
    const bool is_plain =
        text != nullptr && text->size() <= 8'192 &&
        std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c < 0x7F; });
    if (is_plain) keep(name, *text);
  }
  for (const OwnedHeader& field : owned_) headers_.push_back({field.name, field.value});
}

void Execution::take_lane_headers(std::span<const OwnedHeader> lane_headers) {
  for (const OwnedHeader& field : lane_headers) {
    if (same_header_name(field.name, "payment-required")) continue;
    if (take_content_header(field.name, field.value)) continue;  // of a stored reply
    if (same_header_name(field.name, "payment-response")) {
      const auto json = text::from_base64(field.value);
      if (!json || !is_json(*json)) continue;
      meta_ += meta_.empty() ? "" : ",";
      meta_.append(R"("x402/payment-response":)").append(*json);
      continue;
    }
    lane_headers_ += lane_headers_.empty() ? ",\"headers\":{" : ",";
    text::append_canonical_string(lane_headers_, lower(field.name));
    lane_headers_ += ':';
    text::append_canonical_string(lane_headers_, field.value);
  }
  if (!lane_headers_.empty()) lane_headers_ += '}';
}

// Takes a header field that describes the body; false: it is another field.
bool Execution::take_content_header(std::string_view name, std::string_view value) {
  if (same_header_name(name, "content-type")) {
    content_type_ = value;
  } else if (same_header_name(name, "content-encoding")) {
    content_coding_ = same_header_name(value, "identity") ? "" : value;
  } else {
    return false;
  }
  return true;
}

void Execution::take_head(const exchange::ReplyHead& head) {
  status_ = head.status;
  for (const HeaderField& field : head.headers) take_content_header(field.name, field.value);
  execution_status_ = head.facts.lane == "free"        ? "registry_free_route_executed"
                      : request_.door == Door::payment ? "registry_x402_route_executed"
                                                       : "registry_paid_route_executed";
  append_facts(facts_, head.facts, request_.turn.request_id());
  take_lane_headers(head.lane_headers);
}

// Ends a successful call of a plugin's tool: the reply is the result, and the facts of the call are
// in `_meta`.
bool Execution::end_tool(std::string_view body) {
  const bool is_result = ask_.tool != nullptr && status_ < 400 && content_coding_.empty() &&
                         body.starts_with('{') && is_json(body);
  if (!is_result) return false;
  const std::string text = ask_.tool->text_of == nullptr ? "" : ask_.tool->text_of(body);
  result_ = tool_result(body, false, text.empty() ? body : text);
  meta_.append(meta_.empty() ? "" : ",").append(R"("turnpike/execution":)");
  meta_.append(begin_structured(execution_status_, status_)).append(facts_).append("}");
  result_->meta = std::move(meta_);
  return true;
}

bool Execution::end(std::string_view body) {
  // A reply that was charged before the cancellation arrived is still sent, unless the client left.
  if (request_.turn.request.client_gone()) return false;
  if (end_tool(body)) return true;
  std::string structured = begin_structured(execution_status_, status_);
  if (!content_type_.empty()) append_text(structured, "content_type", content_type_);
  // Some upstreams compress whatever was requested; the base64 then holds the compressed bytes.
  if (!content_coding_.empty()) append_text(structured, "content_encoding", content_coding_);
  append_body(structured, content_type_, !content_coding_.empty(), body);
  structured.append(facts_).append(lane_headers_).append("}");
  result_ = tool_result(structured, status_ >= 400);
  result_->meta = std::move(meta_);
  return true;
}

// Adds advice: a tool result carries less than a reply over HTTP.
base::Error Execution::with_way_out(base::Error error) const {
  const bool is_ours = error.fault == base::Fault::gateway;  // not a ceiling of the route
  if (error.code != ErrorCode::gateway_upstream_response_too_large || !is_ours) return error;
  error.message += " A tool result carries less than HTTP does; over HTTP: " + ask_.method + " ";
  error.message.append(api_url_).append(ask_.path);
  if (!ask_.query.empty()) error.message.append("?").append(ask_.query);
  return error;
}

bool Execution::refuse(const base::Error& refused, const exchange::RefusalHead& head) {
  refusal_ = refused;
  const base::Error error = with_way_out(refused);
  if (!head.allow.empty()) {
    const OwnedHeader allow[] = {{"allow", std::string(head.allow)}};
    take_lane_headers(allow);
  } else {
    take_lane_headers(head.lane_headers);
  }
  const bool is_challenge = !head.body.empty() && is_json(head.body);
  std::string structured = begin_structured(
      is_challenge ? "payment_required" : refused_status(request_.door), call_status(error.code));
  append_facts(structured, head.facts, request_.turn.request_id());
  structured += lane_headers_;
  if (!is_challenge) append_error(structured, error, request_.turn.request_id());
  structured += '}';
  // Clients look for the bare PaymentRequired in two places.
  result_ = tool_result(is_challenge ? head.body : structured, true);
  if (is_challenge) {
    meta_.append(meta_.empty() ? "" : ",").append(R"("x402/error":)").append(head.body);
    meta_.append(R"(,"turnpike/execution":)").append(structured);
  }
  result_->meta = std::move(meta_);
  return standing() != exchange::Standing::gone;
}

// Whether a header field of the account lane is present, valid or not: it selects the lane.
bool has_account_header(const RpcRequest& request) noexcept {
  return std::any_of(account_headers.begin(), account_headers.end(), [&](std::string_view name) {
    return request.turn.request.find(name).has_value();
  });
}

bool has_payment(const RpcRequest& request) noexcept {
  return request.meta(payment_key) != nullptr ||
         request.turn.request.find(payment_header).has_value();
}

bool is_api_key(std::string_view authorization) noexcept {
  return authorization.find(api_key_prefix) != authorization.npos;
}

bool is_unauthorized(const std::optional<base::Error>& error) noexcept {
  return error && http_status(error->code) == 401;
}

}  // namespace

Executions::Executions(Parts parts)
    : parts_(std::move(parts)), challenge_(parts_.resource_metadata) {}

Answer Executions::run(const RpcRequest& request, const RouteAsk& ask) const {
  if (auto document = run_service_document(request, ask)) return *std::move(document);
  if (auto refused = refuse_without_key(request)) return *std::move(refused);
  return serve(request, ask);
}

std::optional<RpcResult> Executions::refuse_without_key(const RpcRequest& request) const {
  if (auto refused = refuse_payment(request)) return refused;
  if (request.door == Door::payment || has_account_header(request)) return std::nullopt;
  return unauthorized(request, {ErrorCode::auth_credential_required,
                                "This tool needs an API key or an OAuth access token: send it as "
                                "the HTTP header \"Authorization: Bearer <key>\"."});
}

RpcResult Executions::read_result(const RpcRequest& request, std::string_view json) const {
  if (json.size() <= parts_.reply_bytes_max) return tool_result(json, false);
  return refused_result(request,
                        {ErrorCode::request_query_rejected,
                         "The answer is longer than the " + std::to_string(parts_.reply_bytes_max) +
                             " bytes that a tool result carries here. Ask for less."});
}

std::optional<RpcResult> Executions::run_service_document(const RpcRequest& request,
                                                          const RouteAsk& ask) const {
  if (ask.method != "GET") return std::nullopt;
  ServiceDocument document;
  if (ask.path == "/healthz") {
    document = liveness_document();
  } else if (ask.path == "/readyz") {
    document = readiness_document(parts_.backend.health());
  } else if (ask.path == "/version") {
    document = version_document(parts_.build, parts_.backend.view().get());
  } else {
    return std::nullopt;
  }
  if (auto refused = refuse_public(request)) return refused;
  if (!ask.query.empty() || ask.body) {
    return refused_result(
        request, {ErrorCode::request_malformed, "This route takes neither a query nor a body."});
  }
  std::string structured = begin_structured("free_health_executed", document.status);
  append_text(structured, "content_type", json_type);
  append_body(structured, json_type, false, document.body);
  append_facts(structured, {}, request.turn.request_id());
  return tool_result(structured += '}', document.status >= 400);
}

Answer Executions::serve(const RpcRequest& request, const RouteAsk& ask) const {
  Execution execution(request, ask, parts_.api_url);
  exchange::Invocation invocation = execution.invocation();
  invocation.reply_bytes_max = parts_.reply_bytes_max;
  invocation.accepts = accepted_at(request.door);
  Turn& turn = request.turn;
  exchange::Served served = parts_.backend.serve(invocation, execution);
  const bool is_caller_gone = served.ending == exchange::Ending::caller_gone;
  const std::optional<ErrorCode> error = served.error;
  turn.keep_served(std::move(served));
  const auto& refusal = execution.refusal();
  if (is_unauthorized(refusal)) {
    if (request.door == Door::account) return unauthorized(request, *refusal);
    return refused_result(request, {base::code_of(base::CodeRole::not_payable),
                                    "This call cannot be paid for per call. Run it at the endpoint "
                                    "that takes API keys."});
  }
  if (auto result = execution.take_result()) return *std::move(result);
  turn.record.is_whole = false;
  if (request.is_cancelled() && is_caller_gone) {
    return RpcError{RpcCode::request_cancelled,
                    "The call was ended by a notifications/cancelled of this credential with the "
                    "id of this request; nothing was charged."};
  }
  RpcResult broken =
      refused_result(request, {error.value_or(ErrorCode::gateway_internal),
                               "The reply broke off before its end, so nothing of it is given."});
  turn.record.error = error;  // a cancelled call is not logged as an error
  return broken;
}

std::optional<RpcResult> Executions::refuse_payment(const RpcRequest& request) const {
  if (request.door == Door::payment || !has_payment(request)) return std::nullopt;
  if (has_account_header(request)) {
    return refused_result(request,
                          {ErrorCode::auth_credential_conflict,
                           "The request carries an API key and a payment. Send one of them."});
  }
  return refused_result(
      request, {base::code_of(base::CodeRole::not_payable),
                "This endpoint takes no payments. Send them to " + parts_.payment_url + "."});
}

std::optional<base::Error> Executions::credential_problem(const RpcRequest& request) const {
  const identity::Bearer bearer = identity::read_bearer(request.turn.request.headers());
  if (bearer.form == identity::Authorization::none) return std::nullopt;
  if (bearer.form == identity::Authorization::repeated) {
    return base::Error{ErrorCode::auth_credential_conflict,
                       "Authorization comes more than once. Send exactly one credential."};
  }
  if (bearer.form != identity::Authorization::bearer) {
    return base::Error{ErrorCode::auth_credential_invalid,
                       "The credential is not a valid API key. Send it as \"Authorization: Bearer "
                       "<key>\"."};
  }
  auto principal = parts_.authenticator.authenticate(
      bearer.token, runtime::Deadline::after_ms(base::limits::authentication_timeout_ms),
      accepted_at(request.door));
  if (principal.ok()) request.turn.keep_principal(*principal);
  if (principal.ok() || http_status(principal.error().code) != 401) return std::nullopt;
  return std::move(principal).error();
}

std::optional<RpcResult> Executions::refuse_public(const RpcRequest& request) const {
  if (auto refused = refuse_payment(request)) return refused;
  const auto problem = credential_problem(request);
  if (!problem) return std::nullopt;
  return is_unauthorized(problem) ? unauthorized(request, *problem)
                                  : refused_result(request, *problem);
}

std::string Executions::www_authenticate(const RpcRequest& request) const {
  const auto authorization = request.turn.request.find("authorization");
  if (!authorization) return challenge_.missing();
  if (is_api_key(*authorization)) return std::string(api_key_challenge);
  return challenge_.invalid("The credential is not valid");
}

RpcResult Executions::unauthorized(const RpcRequest& request, const base::Error& error) const {
  RpcResult result = refused_result(request, error);
  result.http_status = 401;
  result.www_authenticate = www_authenticate(request);
  const auto authorization = request.turn.request.find("authorization");
  if (authorization && is_api_key(*authorization)) return result;
  result.meta = R"("mcp/www_authenticate":[)";
  text::append_canonical_string(result.meta,
                                challenge_.invalid(!authorization ? "A credential is required"
                                                                  : "The credential is not valid"));
  result.meta += ']';
  return result;
}

RpcResult refused_result(const RpcRequest& request, const base::Error& error) {
  request.turn.record.error = error.code;
  std::string structured = begin_structured(refused_status(request.door), call_status(error.code));
  append_facts(structured, {}, request.turn.request_id());
  append_error(structured, error, request.turn.request_id());
  return tool_result(structured += '}', true);
}

RpcResult refused_by_query(const RpcRequest& request, base::Error error) {
  constexpr std::string_view prefix = "query.";
  for (base::FieldProblem& field : error.fields) {
    if (!field.location.starts_with(prefix)) continue;
    field.location = base::pointer_to(std::string_view(field.location).substr(prefix.size()));
  }
  return refused_result(request, error);
}

std::string_view body_argument_text(const RpcRequest& request) {
  static const auto pointer = text::JsonPointer::parse("/params/arguments/body").value();
  return text::text_at(request.message.text, pointer).value_or(std::string_view());
}

// No member is required and others are allowed, since clients also validate challenges and
// refusals.
const Json& execution_output_schema() {
  static const Json schema = {
      {"type", "object"},
      {"properties",
       {{"execution_status",
         {{"type", "string"},
          {"enum",
           {"registry_free_route_executed", "registry_paid_route_executed",
            "registry_x402_route_executed", "free_health_executed", "payment_required",
            "x402_error", "refused"}}}},
        {"http_status", {{"type", "integer"}}},
        {"content_type", {{"type", "string"}}},
        {"body", {{"description", "A JSON value, a text, or {\"base64\"} of other bytes."}}},
        {"credits_charged", {{"type", "integer"}, {"minimum", 0}}},
        {"credits_remaining",
         {{"type", "integer"}, {"description", "Of the account, where it is known."}}},
        {"request_id", {{"type", "string"}}},
        {"generation", {{"type", "string"}}},
        {"reply_from", {{"type", "string"}, {"enum", {"gateway", "provider"}}}},
        {"headers", {{"type", "object"}}},
        // An object; in a challenge, where x402 v2 defines it, a text.
        {"error", {{"description", "Why the call was refused: an object with a code."}}}}}};
  return schema;
}

}  // namespace turnpike::hosts::mcp
