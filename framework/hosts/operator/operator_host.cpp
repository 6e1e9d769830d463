#include "hosts/operator/operator_host.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/error_envelope.h"
#include "hosts/operator/status_table.h"

namespace turnpike::hosts::operators {
namespace {

constexpr std::int64_t fiber_list_wait_ms = 1'000;
constexpr std::string_view json_type = "application/json";

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

}  // namespace

// One request and the one way to answer it: no reply goes without X-Request-Id.
class OperatorHost::Exchange {
 public:
  Exchange(wire::Request& from, wire::Responder& to, base::UuidText id)
      : request(from), responder_(to), id_(id) {}

  void send(int status, std::string_view type, std::string_view body,
            std::vector<HeaderField> headers = {}) {
    headers.push_back({"Content-Type", type});
    headers.push_back({"Cache-Control", "no-store"});
    headers.push_back({"X-Request-Id", base::view(id_)});
    responder_.send(status, headers, body);
  }

  void refuse(const base::Error& error, std::string_view allow = {}) {
    const int status = http_status(error.code);
    const std::string retry_after = std::to_string(error.retry_after_seconds);
    std::vector<HeaderField> headers;
    if (!allow.empty()) headers.push_back({"Allow", allow});
    if (status == 401) headers.push_back({"WWW-Authenticate", "Bearer error=\"invalid_token\""});
    if (error.retry_after_seconds > 0) headers.push_back({"Retry-After", retry_after});
    std::string body;
    base::append_envelope(body, error, base::view(id_));
    send(status, json_type, body, std::move(headers));
  }

  // False, and refused, unless the method is `allowed` or HEAD where that is GET.
  bool allows(std::string_view allowed) {
    if (request.method() == allowed || (allowed == "GET" && request.method() == "HEAD")) {
      return true;
    }
    refuse({base::ErrorCode::request_method_not_allowed, "This route does not take this method."},
           allowed == "GET" ? "GET, HEAD" : allowed);
    return false;
  }

  wire::Request& request;

 private:
  wire::Responder& responder_;
  const base::UuidText id_;
};

OperatorHost::OperatorHost(const OperatorHostParts& parts)
    : runtime_(parts.runtime),
      metrics_(parts.metrics),
      corrections_({parts.operators, parts.corrections, parts.runtime.pool(), parts.log}) {
  for (std::size_t loop = 0; loop < runtime_.loops().size(); ++loop) {
    ids_.push_back(std::make_unique<base::UuidSource>(parts.clock, parts.random));
  }
}

void OperatorHost::handle(wire::Request& request, wire::Responder& responder) {
  Exchange exchange(request, responder, ids_[runtime::Loop::current()->index()]->next());
  const std::string_view path = request.path();
  if (const auto target = CorrectionRoute::match(path)) {
    correct(exchange, *target);
  } else if (path == "/metrics") {
    if (!exchange.allows("GET")) return;
    exchange.send(200, "text/plain; version=0.0.4; charset=utf-8", metrics_.text());
  } else if (path == "/debug/fibers") {
    if (exchange.allows("GET")) exchange.send(200, json_type, fibers_json(runtime_));
  } else if (path == "/healthz") {
    if (exchange.allows("GET")) exchange.send(200, json_type, R"({"status":"ok"})");
  } else {
    exchange.refuse({base::ErrorCode::request_not_found,
                     "The operator listener has /metrics, /debug/fibers, /healthz and the "
                     "corrections below /internal/v1."});
  }
}

void OperatorHost::correct(Exchange& exchange, const CorrectionRoute::Target& target) {
  if (!exchange.allows("POST")) return;
  if (exchange.request.has_query()) {
    return exchange.refuse(
        {base::ErrorCode::request_malformed, "This route takes no query parameters."});
  }
  const auto receipt = corrections_.answer(exchange.request, target);
  if (!receipt.ok()) return exchange.refuse(receipt.error());
  exchange.send(200, json_type, *receipt);
}

void OperatorHost::refuse(const base::Error& error, wire::Request& request,
                          wire::Responder& responder) {
  Exchange(request, responder, ids_[runtime::Loop::current()->index()]->next()).refuse(error);
}

}  // namespace turnpike::hosts::operators
