// Providers and sweeps: from the board, the newest round of the evidence, and operators'
// statements.
#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/operator/console.h"
#include "hosts/operator/console_text.h"
#include "status/book.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using nlohmann::json;

constexpr std::int64_t incidents_shown_ms = 7 * 86'400'000LL;
constexpr std::size_t targets_shown_max = 200;
constexpr std::uint32_t sweeps_shown_max = 10;

std::string text_in(const json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void set_state(site::Slots slots, std::string_view prefix, const std::string& level) {
  const std::string name = level.empty() ? "unknown" : level;
  slots.set(std::string(prefix) + "STATE", words_of(name));
  slots.set(std::string(prefix) + "CLASS", class_of(name));
}

void show_provider(const ConsoleLook& look, const registry::Provider& provider,
                   site::Slots slots) {
  site::Slots row = slots.add("PROVIDER");
  row.set("KEY", provider.key);
  row.set("NAME", provider.name);
  const status::BoardDocument* const found =
      look.facts.board == nullptr ? nullptr : look.facts.board->provider(provider.key);
  const json document =
      found == nullptr ? json::object() : text::parse_json(found->at(look.now_ms()));
  if (!document.is_object()) return;
  set_state(row, "", text_in(document, "status"));
  set_state(row, "REACH_", text_in(document, "reachability_status"));
  set_state(row, "CONTRACT_", text_in(document, "operation_family_status"));
  const std::string observed = text_in(document, "observed_at");
  row.set("OBSERVED", time_text(text::parse_rfc3339(observed).value_or(0)));
}

// The probes made today, of the daily budget.
void show_budgets(const ConsoleLook& look, const status::NewestRound& newest, site::Slots slots) {
  const auto targets = status::read_target_set(newest.targets);
  const auto book = status::Book::read(newest.book);
  if (!targets.ok() || !book.ok()) return;
  std::size_t shown = 0;
  for (const status::Target& target : targets->targets) {
    if (target.per_day_max == 0 || ++shown > targets_shown_max) continue;
    const status::TargetFigures* const figures = book->target(target.name);
    const std::uint32_t used = figures == nullptr ? 0 : figures->looks_on(look.today());
    site::Slots row = slots.add("BUDGET");
    row.set("TARGET", target.name);
    row.set("USED", count_text(used));
    row.set("MOST", count_text(target.per_day_max));
    row.set("SHARE", share_text(used, target.per_day_max));
  }
  slots.show_if(shown != 0, "HAS_BUDGET");
}

void show_upstreams(const ConsoleLook& look, site::Slots slots) {
  for (const UpstreamNow& upstream : look.parts.source.upstreams()) {
    site::Slots row = slots.add("UPSTREAM");
    row.set("ID", upstream.id);
    row.set("PROVIDER", upstream.provider);
    row.set("PLUGIN", upstream.plugin);
    row.set("CALLS", count_text(upstream.calls));
    row.set("READY", count_text(upstream.ready) + " of " + count_text(upstream.operations));
    row.set("CLASS", upstream.ready == upstream.operations ? "ok"
                     : upstream.ready == 0                 ? "bad"
                                                           : "warn");
    for (const std::string& reason : upstream.reasons) row.add("REASON").set("TEXT", reason);
  }
}

void show_incident(const status::ShownIncident& shown, bool may_annotate, site::Slots slots) {
  const status::Incident& incident = shown.incident;
  const bool is_open = incident.state != status::IncidentState::resolved;
  site::Slots row = slots.add("INCIDENT");
  row.set("ID", incident.id);
  row.set("SCOPE", incident.scope);
  row.set("SOURCE", shown.source == status::IncidentSource::operators ? "said by operators"
                                                                      : "found by the evidence");
  row.set("STATE", words_of(status::name_of(incident.state)));
  row.set("CLASS", is_open ? class_of(status::name_of(incident.severity)) : "ok");
  row.set("SEVERITY", words_of(status::name_of(incident.severity)));
  row.set("STARTED", time_text(incident.started_at_ms));
  row.set_if("RESOLVED", incident.resolved_at_ms == 0 ? "" : time_text(incident.resolved_at_ms));
  row.set_if("DIFFERENCE", incident.difference);
  row.set("REFUSED", count_text(static_cast<std::int64_t>(shown.calls_refused)));
  for (const status::IncidentNote& note : shown.notes) {
    site::Slots word = row.add("NOTE");
    word.set("AT", time_text(note.at_ms));
    word.set("WHO", note.operator_id);
    word.set("TEXT", note.text);
  }
  row.show_if(may_annotate, "CAN_NOTE");
  row.show_if(is_open && shown.source == status::IncidentSource::operators, "CAN_RESOLVE");
}

void add_scopes(const ConsoleLook& look, site::Slots slots) {
  std::vector<std::string> scopes = {"gateway", "pricing"};
  if (look.facts.view != nullptr) {
    for (const registry::Provider& provider : look.facts.view->program().providers()) {
      scopes.push_back("provider:" + provider.key);
    }
  }
  for (const std::string& scope : scopes) slots.add("SCOPE_CHOICE").set("SCOPE", scope);
}

std::string result_of(const status::SweepTarget& target) {
  return target.result ? std::string(status::name_of(*target.result)) : std::string("open");
}

void show_sweep(const status::Sweep& sweep, site::Slots slots) {
  using status::LookResult;
  site::Slots row = slots.add("SWEEP");
  row.set("ID", sweep.id);
  row.set("RELEASE", sweep.release);
  row.set("GENERATION", sweep.generation_id);
  row.set("WHO", sweep.principal);
  row.set("STATE", status::name_of(sweep.state));
  row.set("CLASS", sweep.state == status::SweepState::complete ? "ok"
                   : sweep.state == status::SweepState::failed ? "bad"
                                                               : "unknown");
  row.set_if("REASON", words_of(sweep.reason));
  row.set("STARTED", time_text(sweep.started_at_ms));
  row.set("ENDED", sweep.completed_at_ms == 0 ? "it runs" : time_text(sweep.completed_at_ms));
  std::int64_t passed = 0;
  std::int64_t open = 0;
  std::size_t shown = 0;
  for (const status::SweepTarget& target : sweep.targets) {
    const bool has_passed = target.result == LookResult::pass;
    passed += has_passed ? 1 : 0;
    open += target.result ? 0 : 1;
    if (++shown > targets_shown_max) continue;
    site::Slots line = row.add("TARGET");
    line.set("NAME", target.target);
    line.set("RESULT", words_of(result_of(target)));
    line.set("CLASS", has_passed ? "ok" : target.result == LookResult::fail ? "bad" : "unknown");
    line.set("REASON", words_of(status::name_of(target.reason)));
    line.set("AT", target.observed_at_ms == 0 ? "-" : time_text(target.observed_at_ms));
  }
  row.set("TARGETS", static_cast<std::int64_t>(sweep.targets.size()));
  row.set("PASSED", passed);
  row.set("OPEN", open);
  row.show_if(shown > targets_shown_max, "HAS_MORE");
}

}  // namespace

std::optional<Error> fill_providers(const ConsoleLook& look, site::Slots slots) {
  const auto incidents = look.status.recent_incidents(look.now_ms() - incidents_shown_ms);
  if (!incidents.ok()) return incidents.error();
  const auto maintenance = look.status.maintenance(look.now_ms());
  if (!maintenance.ok()) return maintenance.error();
  const auto newest = look.status.newest(look.parts.source.stream());
  if (!newest.ok()) return newest.error();
  if (look.facts.view != nullptr) {
    for (const registry::Provider& provider : look.facts.view->program().providers()) {
      show_provider(look, provider, slots);
    }
  }
  show_upstreams(look, slots);
  if (*newest) show_budgets(look, **newest, slots);
  const bool may_annotate = look.visitor.may(identity::Authority::status_annotate);
  for (auto at = incidents->rbegin(); at != incidents->rend(); ++at) {
    show_incident(*at, may_annotate, slots);
  }
  slots.show_if(incidents->empty(), "HAS_NO_INCIDENT");
  for (const status::Maintenance& one : *maintenance) {
    site::Slots row = slots.add("MAINTENANCE");
    row.set("ID", one.id);
    row.set("SCOPE", one.scope);
    row.set("FROM", time_text(one.starts_at_ms));
    row.set("TO", time_text(one.ends_at_ms));
    row.set("TEXT", one.text);
    row.set("WHO", one.operator_id);
    row.show_if(may_annotate, "CAN_CANCEL");
  }
  slots.show_if(maintenance->empty(), "HAS_NO_MAINTENANCE");
  slots.show_if(!maintenance->empty(), "HAS_MAINTENANCE");
  add_scopes(look, slots);
  return std::nullopt;
}

std::optional<Error> fill_sweeps(const ConsoleLook& look, site::Slots slots) {
  const auto sweeps = look.status.sweeps(sweeps_shown_max);
  if (!sweeps.ok()) return sweeps.error();
  for (const status::Sweep& sweep : *sweeps) show_sweep(sweep, slots);
  slots.show_if(sweeps->empty(), "HAS_NO_SWEEP");
  return std::nullopt;
}

}  // namespace turnpike::hosts::operators
