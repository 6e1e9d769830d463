#include "hosts/operator/operator_host.h"

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "hosts/service_documents.h"

namespace turnpike::hosts::operators {
namespace {

constexpr std::int64_t fiber_list_wait_ms = 1'000;

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

void send_metrics(const OperatorRooms& rooms, Turn& turn, const Asked&) {
  turn.reply(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = rooms.metrics.text()});
}

void correct(const OperatorRooms& rooms, Turn& turn, const Asked& asked) {
  const auto receipt = rooms.corrections.answer(asked, turn.idempotency_key());
  if (receipt.ok()) {
    turn.reply({.body = *receipt});
  } else {
    turn.refuse(receipt.error());
  }
}

constexpr Route<OperatorRooms> routes[] = {
    {.facts = {.method = "GET", .path = "/metrics", .endpoint = "metrics", .answers_head = true},
     .answer = send_metrics},
    {.facts =
         {.method = "GET", .path = "/debug/fibers", .endpoint = "fibers", .answers_head = true},
     .answer = [](const OperatorRooms& rooms, Turn& turn,
                  const Asked&) { turn.reply({.body = fibers_json(rooms.runtime)}); }},
    {.facts = {.method = "GET", .path = "/healthz", .endpoint = "health", .answers_head = true},
     .answer = [](const OperatorRooms&, Turn& turn,
                  const Asked&) { send(turn, liveness_document()); }},
    {.facts = {.method = "POST",
               .path = "/internal/v1/billing-accounts/{billing_account_id}/usage/"
                       "{original_message_id}/corrections",
               .endpoint = "usage_corrections",
               .callers = Callers::operators(identity::Authority::usage_correct),
               .needs_idempotency_key = true,
               .body = BodyForm::json,
               .body_bytes_max = base::limits::operator_body_bytes_max},
     .answer = correct},
};

HostRules rules(const CorrectionRoute& corrections) {
  return {.cors = Cors(Origins({}), {}),
          .nothing_here =
              "The operator listener has /metrics, /debug/fibers, /healthz and the corrections "
              "below /internal/v1.",
          .authenticates = {PrincipalKind::operator_credential},
          .authenticate = [&corrections](const Presented& presented) {
            return corrections.authenticate(presented.headers);
          }};
}

}  // namespace

OperatorHost::OperatorHost(const OperatorHostParts& parts)
    : corrections_({parts.operators, parts.corrections, parts.runtime.pool(), parts.log}),
      rooms_{parts.runtime, parts.metrics, corrections_},
      host_({parts.runtime, parts.clock, parts.random, parts.access_log},
            bind_routes<OperatorRooms>(routes, rooms_), rules(corrections_)) {}

}  // namespace turnpike::hosts::operators
