#include "hosts/api/api_host.h"

#include <utility>

#include "hosts/api/gateway_call.h"
#include "hosts/api/router.h"
#include "hosts/turn.h"
#include "registry/program.h"

namespace turnpike::hosts::api {

namespace {

constexpr CorsHeaders cors_headers = {
    .exposed =
        "ETag, Idempotent-Replayed, PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, "
        "RateLimit-Policy, Retry-After, Server-Timing, Turnpike-Credits-Charged, "
        "Turnpike-Credits-Remaining, Turnpike-Generation, Turnpike-Lane, Turnpike-Reply-From, "
        "WWW-Authenticate, X-Request-Id",
    // The first is what the official x402 client sends, oddly, in its paid request.
    .requested =
        "Access-Control-Expose-Headers, Authorization, Content-Type, Idempotency-Key, "
        "If-None-Match, PAYMENT-SIGNATURE, X-Request-Id"};

}  // namespace

ApiHost::ApiHost(const ApiHostParts& parts, ApiHostSettings settings)
    : backend_(parts.backend),
      authenticator_(parts.authenticator),
      clock_(parts.clock),
      access_log_(parts.access_log),
      cors_(std::move(settings.cors_origins), cors_headers),
      public_routes_(parts.backend, parts.discovery, parts.runtime.pool(), parts.clock,
                     std::move(settings.build), std::move(settings.reference)),
      account_routes_({parts.authenticator, parts.ledger, parts.statements, parts.calls,
                       parts.free_counts, parts.backend, parts.clock},
                      std::move(settings.cursor_key)),
      ids_(parts.runtime, parts.clock, parts.random),
      bodies_(settings.bodies_bytes_max, base::limits::request_body_bytes_max) {}

void ApiHost::handle(wire::Request& request, wire::Responder& responder) noexcept {
  Turn turn(request, responder, cors_, ids_.next(), clock_.monotonic_ns());
  if (auto* fiber = runtime::Fiber::current()) fiber->set_name(turn.request_id());
  run_turn(turn, clock_, access_log_, [&] { dispatch(turn); });
}

void ApiHost::refuse(const base::Error& error, wire::Request& request,
                     wire::Responder& responder) noexcept {
  Turn turn(request, responder, cors_, ids_.next(), clock_.monotonic_ns());
  run_turn(turn, clock_, access_log_, [&] { turn.refuse(error); });
}

void ApiHost::dispatch(Turn& turn) {
  const Routed routed = route(turn.request.path());
  turn.record.endpoint = routed.endpoint;
  const std::string_view method = turn.request.method();
  if (method == "OPTIONS") return preflight(turn, routed.endpoint);
  if (!turn.header_problem().empty()) {
    turn.refuse({base::ErrorCode::request_malformed,
                 "A header field is not in its form, or comes twice.",
                 0,
                 {{"header." + turn.header_problem(), "it is not valid, or comes twice",
                   "Send it once; an Idempotency-Key has 1 to 255 visible characters."}}});
    return;
  }
  if (routed.endpoint == Endpoint::gateway) return call(turn);
  if (routed.endpoint == Endpoint::none) {
    turn.refuse({base::ErrorCode::request_not_found,
                 "There is nothing at this path; /openapi.json lists what there is."});
    return;
  }
  const std::string_view allowed = allowed_methods(routed.endpoint);
  const bool answers_head = allowed.find("HEAD") != allowed.npos;
  if (method != "GET" && !(method == "HEAD" && answers_head)) {
    turn.refuse(
        {base::ErrorCode::request_method_not_allowed, "This route does not answer this method."},
        {.allow = allowed});
    return;
  }
  if (turn.request.has_body()) {
    turn.refuse({base::ErrorCode::request_body_not_allowed, "This route takes no request body."});
    return;
  }
  std::string parameter(routed.parameter.size(), '\0');
  const auto length = registry::decode_segment(routed.parameter, parameter.data());
  if (!length) {
    turn.refuse(
        {base::ErrorCode::request_path_malformed, "The path holds an escape that is none."});
    return;
  }
  parameter.resize(*length);
  dispatch_fixed(turn, routed.endpoint, parameter);
}

void ApiHost::dispatch_fixed(Turn& turn, Endpoint endpoint, const std::string& parameter) {
  switch (endpoint) {
    case Endpoint::health:
      return public_routes_.health(turn);
    case Endpoint::readiness:
      return public_routes_.readiness(turn);
    case Endpoint::version:
      return public_routes_.version(turn);
    case Endpoint::openapi:
      return public_routes_.openapi(turn);
    case Endpoint::reference:
      return public_routes_.reference(turn, parameter);
    case Endpoint::capabilities:
      return public_routes_.capabilities(turn);
    case Endpoint::capability:
      return public_routes_.capability(turn, parameter);
    case Endpoint::inventory:
      return public_routes_.inventory(turn);
    case Endpoint::well_known:
      return public_routes_.well_known(turn);
    case Endpoint::auth_context:
      return account_routes_.auth_context(turn);
    case Endpoint::credit_balance:
      return account_routes_.credit_balance(turn, parameter);
    case Endpoint::billing:
      return account_routes_.billing(turn, parameter);
    case Endpoint::usage:
      return account_routes_.usage(turn, parameter);
    case Endpoint::call:
      return account_routes_.call(turn, parameter);
    case Endpoint::free_quotas:
      return account_routes_.free_quotas(turn, parameter);
    case Endpoint::gateway:
    case Endpoint::none:
      return;  // answered by dispatch()
    case Endpoint::mcp:
    case Endpoint::mcp_x402:
      return;  // of another host
  }
}

void ApiHost::preflight(Turn& turn, Endpoint endpoint) {
  ReplyFields fields;
  const std::string_view methods = allowed_methods(endpoint);
  fields.add("Allow", methods);
  fields.add("Cache-Control", "no-store");
  fields.add("X-Request-Id", turn.request_id());
  cors_.add_preflight_fields(turn.origin(), methods, fields);
  turn.record.status = 204;
  turn.responder.send(204, fields.view(), {});
}

void ApiHost::call(Turn& turn) {
  GatewayCall call(turn, is_stopping_, bodies_, authenticator_);
  exchange::Served served = backend_.serve(call.invocation(), call);
  const bool is_caller_gone = served.ending == exchange::Ending::caller_gone;
  turn.record.request_bytes = served.request_bytes;
  turn.keep_served(std::move(served));
  if (is_caller_gone) {
    turn.record.is_whole = false;
    if (!turn.responder.begun()) turn.responder.cut();
  }
}

}  // namespace turnpike::hosts::api
