#include "app/services/sentinels.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "exchange/live_call.h"
#include "identity/token.h"
#include "runtime/runtime.h"
#include "text/json_text.h"

namespace turnpike::app {
namespace {

using status::Look;
using status::LookResult;
using status::Reason;

constexpr std::size_t body_bytes_max = 256 * 1024;

// Returns the path of an operation that is sold per call and that `is_wanted` accepts.
template <class IsWanted>
std::optional<std::string> path_sold_per_call(const InService& program, IsWanted is_wanted) {
  const registry::Program& registry = program.service->program();
  for (const registry::Operation& operation : registry.operations()) {
    const registry::Route& route = registry.routes()[operation.route];
    const bool is_plain = operation.method == Method::get && route.readiness.ready &&
                          !route.enforce_declared && registry.is_sold_per_call(operation);
    if (!is_plain || !is_wanted(operation)) continue;
    // The challenge is made before the path's values are checked, so any values will do.
    std::string path;
    for (const registry::Segment& segment : route.matcher.segments) {
      path += '/' + (segment.is_parameter ? std::string("status") : segment.text);
    }
    return path;
  }
  return std::nullopt;
}

Look passed(std::uint32_t http_status) {
  Look look;
  look.result = LookResult::pass;
  look.status = http_status;
  return look;
}

Look failed(Reason reason, std::uint32_t http_status = 0) {
  Look look;
  look.result = LookResult::fail;
  look.reason = reason;
  look.status = http_status;
  return look;
}

}  // namespace

// The reply to one sentinel request.
struct Sentinels::Answer final : HttpSink {
  int http_status = 0;
  std::string text;
  std::optional<Reason> failure;
  std::uint32_t latency_ms = 0;

  bool head(int status, Headers, std::optional<std::uint64_t>) override {
    http_status = status;
    return true;
  }
  bool body(std::string_view bytes) override {
    text.append(bytes.substr(0, body_bytes_max - std::min(body_bytes_max, text.size())));
    return true;
  }

  // Passes if the status is `wanted` and `is_right` accepts the JSON body.
  template <class IsRight>
  [[nodiscard]] Look judged(int wanted, IsRight is_right) const {
    Look look;
    if (failure) {
      look = failed(*failure);
    } else if (http_status != wanted) {
      look = failed(Reason::status, static_cast<std::uint32_t>(http_status));
    } else if (!is_right(text::parse_json(text))) {
      look = failed(Reason::contract, static_cast<std::uint32_t>(http_status));
    } else {
      look = passed(static_cast<std::uint32_t>(http_status));
    }
    look.latency_ms = latency_ms;
    return look;
  }
};

std::string own_url(std::string_view bound_address) {
  const std::size_t colon = bound_address.rfind(':');
  std::string host(bound_address.substr(0, colon));
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "[::]") host = "[::1]";
  return "http://" + host + std::string(bound_address.substr(colon));
}

std::vector<std::string> Sentinels::checks(const InService& program) const {
  std::vector<std::string> checks{"database"};
  if (!parts_.api_url.empty()) {
    checks.insert(checks.end(), {"catalog", "healthz", "key_refused"});
    const auto any = [](const registry::Operation&) { return true; };
    if (path_sold_per_call(program, any)) checks.emplace_back("x402_challenge");
  }
  if (!parts_.mcp_url.empty()) checks.emplace_back("mcp_ping");
  if (!parts_.web_url.empty()) checks.emplace_back("web_login");
  std::sort(checks.begin(), checks.end());
  return checks;
}

Sentinels::Answer Sentinels::ask(const HttpRequest& request, runtime::Deadline deadline) const {
  Answer answer;
  exchange::LiveCall call("", deadline, nullptr);
  HttpOptions options;
  options.allow_private_addresses = true;
  const std::int64_t began_ns = runtime::now_ns();
  const Done done = parts_.http.call(request, options, answer, call);
  answer.latency_ms = static_cast<std::uint32_t>((runtime::now_ns() - began_ns) / 1'000'000);
  if (!done.ok()) {
    answer.failure =
        done.error().kind == FailureKind::timeout ? Reason::timeout : Reason::unreachable;
  }
  return answer;
}

Look Sentinels::database() const {
  return parts_.ledger.health().available ? passed(0) : failed(Reason::ledger);
}

Look Sentinels::look(std::string_view check, const InService& program,
                     runtime::Deadline deadline) const {
  using nlohmann::json;
  const auto get = [&](const std::string& url, Headers headers = {}) {
    return ask({Method::get, url, headers, {}}, deadline);
  };
  if (check == "database") return database();
  if (check == "healthz") {
    return get(parts_.api_url + "/healthz").judged(200, [](const json& body) {
      return body.is_object();
    });
  }
  if (check == "catalog") {
    return get(parts_.api_url + "/v1/capabilities?limit=1").judged(200, [](const json& body) {
      return body.is_object() && body.contains("capabilities") && body.contains("generation");
    });
  }
  if (check == "key_refused") {
    // The checksum is wrong, so the key is refused without a database query.
    std::string token = "Bearer " + identity::make_token(parts_.environment, parts_.random);
    token.back() = token.back() == '0' ? '1' : '0';
    const HeaderField field{"Authorization", token};
    return get(parts_.api_url + "/v1/auth/context", {&field, 1})
        .judged(401, [](const json& body) { return body.is_object() && body.contains("error"); });
  }
  if (check == "x402_challenge") {
    // A provider that is unavailable now must not count against the lane.
    const auto path = path_sold_per_call(program, [&](const registry::Operation& operation) {
      return program.service->state(operation).condition == Condition::ready;
    });
    if (!path) return {};
    return get(parts_.api_url + *path).judged(402, [](const json& body) {
      const auto terms = body.is_object() ? body.find("accepts") : body.end();
      return terms != body.end() && terms->is_array() && !terms->empty();
    });
  }
  if (check == "web_login") {
    const Answer answer = get(parts_.web_url + "/login");
    // The host may redirect the browser, for example to its canonical name.
    const int wanted = answer.http_status >= 300 && answer.http_status < 400
                           ? answer.http_status
                           : 200;
    return answer.judged(wanted, [](const json&) { return true; });
  }
  const HeaderField fields[] = {{"Content-Type", "application/json"},
                                {"Accept", "application/json, text/event-stream"},
                                {"MCP-Protocol-Version", "2025-11-25"}};
  const Answer answer = ask({Method::post, parts_.mcp_url + "/", fields,
                             R"({"jsonrpc":"2.0","id":1,"method":"ping"})"},
                            deadline);
  return answer.judged(200, [](const json& body) {
    return body.is_object() && body.contains("result");
  });
}

}  // namespace turnpike::app
