#include "hosts/operator/operator_host.h"

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "hosts/asset_route.h"
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

// The handler of a row that changes the status.
using StatusAnswer = StatusRoute::Document (StatusRoute::*)(Turn&, const Asked&) const;
template <StatusAnswer answer>
void say(const OperatorRooms& rooms, Turn& turn, const Asked& asked) {
  const auto document = (rooms.status.*answer)(turn, asked);
  if (document.ok()) {
    turn.reply({.body = *document});
  } else {
    turn.refuse(document.error());
  }
}

constexpr RouteFacts word_facts(std::string_view path, std::string_view endpoint,
                                BodyForm body = BodyForm::json) {
  return {.method = "POST",
          .path = path,
          .endpoint = endpoint,
          .callers = Callers::operators(identity::Authority::status_annotate),
          .body = body,
          .body_bytes_max =
              body == BodyForm::none ? 0 : base::limits::operator_body_bytes_max};
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
    {.facts = word_facts("/internal/v1/status/incidents", "status_incidents"),
     .answer = say<&StatusRoute::open_incident>},
    {.facts = word_facts("/internal/v1/status/incidents/{incident_id}/notes", "status_notes"),
     .answer = say<&StatusRoute::add_note>},
    {.facts = word_facts("/internal/v1/status/incidents/{incident_id}/resolve", "status_resolve"),
     .answer = say<&StatusRoute::resolve_incident>},
    {.facts = word_facts("/internal/v1/status/maintenance", "status_maintenance"),
     .answer = say<&StatusRoute::announce>},
    {.facts = word_facts("/internal/v1/status/maintenance/{maintenance_id}/cancel",
                         "status_maintenance_cancel", BodyForm::none),
     .answer = say<&StatusRoute::cancel_maintenance>},
};

constexpr Route<Pages> asset_routes[] = {{.facts = asset_facts, .answer = send_asset}};

HostRules rules(const CorrectionRoute& corrections, const ConsoleRefusals& refusals) {
  return {.cors = Cors(Origins({}), {}),
          .nothing_here =
              "The operator listener has /console, /metrics, /debug/fibers, /healthz, and "
              "corrections and words on the status below /internal/v1.",
          .refusal_pages = &refusals,
          .authenticates = {PrincipalKind::operator_credential},
          .authenticate = [&corrections](const Presented& presented) {
            return corrections.authenticate(presented.headers);
          }};
}

}  // namespace

OperatorHost::OperatorHost(const OperatorHostParts& parts)
    : corrections_({parts.operators, parts.corrections, parts.runtime.pool(), parts.log}),
      status_(parts.status, parts.runtime.pool()),
      rooms_{parts.runtime, parts.metrics, corrections_, status_},
      console_(parts.console, {parts.operators, parts.corrections, parts.status, corrections_,
                               status_, parts.metrics, parts.runtime.pool(), parts.clock,
                               parts.random}),
      refusals_(parts.console.pages),
      pages_(parts.console.pages),
      host_({parts.runtime, parts.clock, parts.random, parts.access_log}, rows(),
            rules(corrections_, refusals_)) {}

std::vector<BoundRoute> OperatorHost::rows() const {
  std::vector<BoundRoute> rows = bind_routes<OperatorRooms>(routes, rooms_);
  bind_routes<Pages>(asset_routes, pages_, rows);
  bind_routes(console_routes(), console_, rows);
  return rows;
}

}  // namespace turnpike::hosts::operators
