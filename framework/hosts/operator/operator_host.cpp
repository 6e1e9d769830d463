#include "hosts/operator/operator_host.h"

#include <nlohmann/json.hpp>

namespace turnpike::hosts::operators {
namespace {

constexpr std::int64_t fiber_list_wait_ms = 1'000;

void send(wire::Responder& responder, int status, std::string_view type, std::string_view body) {
  const HeaderField headers[] = {{"Content-Type", type}, {"Cache-Control", "no-store"}};
  responder.send(status, headers, body);
}

void send_error(wire::Responder& responder, int status, std::string_view message) {
  const nlohmann::json body{{"error", {{"message", message}}}};
  send(responder, status, "application/json", body.dump());
}

std::string fibers_json(runtime::Runtime& runtime) {
  nlohmann::json fibers = nlohmann::json::array();
  for (const auto& fiber : runtime.list_fibers(runtime::Deadline::after_ms(fiber_list_wait_ms))) {
    fibers.push_back({{"loop", fiber.loop},
                      {"request_id", fiber.name.data()},
                      {"waits_for", fiber.waits_for},
                      {"age_ms", fiber.age_ms},
                      {"background", fiber.kind == runtime::FiberKind::background},
                      {"cancelled", fiber.cancelled}});
  }
  return nlohmann::json{{"fibers", fibers}}.dump();
}

int status_of(base::ErrorCode code) noexcept {
  switch (code) {
    case base::ErrorCode::request_timeout:
      return 408;
    case base::ErrorCode::request_target_too_long:
      return 414;
    case base::ErrorCode::request_headers_too_large:
      return 431;
    case base::ErrorCode::gateway_overloaded:
      return 503;
    case base::ErrorCode::gateway_internal:
      return 500;
    default:
      return 400;
  }
}

}  // namespace

void OperatorHost::handle(wire::Request& request, wire::Responder& responder) noexcept {
  const std::string_view path = request.path();
  const bool known = path == "/metrics" || path == "/debug/fibers" || path == "/healthz";
  if (!known) {
    send_error(responder, 404, "the operator listener has /metrics, /debug/fibers and /healthz");
  } else if (request.method() != "GET" && request.method() != "HEAD") {
    const HeaderField headers[] = {{"Content-Type", "application/json"}, {"Allow", "GET, HEAD"}};
    responder.send(405, headers, R"({"error":{"message":"use GET"}})");
  } else if (path == "/metrics") {
    send(responder, 200, "text/plain; version=0.0.4; charset=utf-8", metrics_.text());
  } else if (path == "/debug/fibers") {
    send(responder, 200, "application/json", fibers_json(runtime_));
  } else {
    send(responder, 200, "application/json", R"({"status":"ok"})");
  }
}

void OperatorHost::refuse(const base::Error& error, wire::Request&,
                          wire::Responder& responder) noexcept {
  send_error(responder, status_of(error.code), error.message);
}

}  // namespace turnpike::hosts::operators
