// Overview and errors, from the metrics, the health and the warnings of this process.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "hosts/operator/console.h"
#include "hosts/operator/console_text.h"
#include "site/terms_text.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using base::Reading;

constexpr std::size_t unknown_shown_max = 20;
constexpr std::size_t rows_shown_max = 100;

std::string milliseconds(const std::optional<double>& value) {
  if (!value) return "-";
  return rate_text(*value) + " ms";
}

void show_pace(const PaceNow& pace, site::Slots slots) {
  slots.set("PER_SECOND", rate_text(pace.calls_per_second));
  slots.set("GOOD", share_text(pace.good, pace.good + pace.bad));
  slots.set("P50", milliseconds(pace.p50_ms));
  slots.set("P99", milliseconds(pace.p99_ms));
  slots.set("SPAN", age_text(pace.span_ms));
}

void show_unknown(const std::vector<ledger::OpenCall>& calls, site::Slots slots) {
  slots.set("UNKNOWN", static_cast<std::int64_t>(calls.size()));
  slots.set("UNKNOWN_OLDEST", calls.empty() ? "none is open" : "the oldest for " +
                                                                   age_text(calls.front().age_ms));
  slots.show_if(!calls.empty(), "HAS_UNKNOWN");
  for (std::size_t at = 0; at < std::min(calls.size(), unknown_shown_max); ++at) {
    site::Slots row = slots.add("UNKNOWN_CALL");
    row.set("MESSAGE", calls[at].call.message_id);
    row.set("ACCOUNT", calls[at].call.account_id);
    row.set("CREDITS", count_text(calls[at].call.units));
    row.set("AGE", age_text(calls[at].age_ms));
  }
}

void show_health(const Health& health, site::Slots slots) {
  const auto is_ready = [](const HealthCheck& check) { return check.ready; };
  const bool is_well = std::all_of(health.checks.begin(), health.checks.end(), is_ready);
  slots.set("HEADLINE", is_well ? "This node serves." : "This node is not ready.");
  for (const HealthCheck& check : health.checks) {
    site::Slots row = slots.add("CHECK");
    row.set("NAME", check.name);
    row.set("CLASS", check.ready ? "ok" : "bad");
    row.set("STATE", check.ready ? "ready" : "not ready");
    row.set("DETAIL", check.detail);
  }
}

void show_sentences(const std::vector<std::string>& sentences, std::string_view section,
                    site::Slots slots) {
  for (const std::string& sentence : sentences) slots.add(section).set("TEXT", sentence);
  slots.show_if(!sentences.empty(), "HAS_" + std::string(section));
}

std::string_view name_of_fault(base::Fault fault) noexcept { return base::name_of(fault); }

std::string label_of(const Reading& reading, const char* name) {
  const auto found = reading.labels.find(name);
  return found == reading.labels.end() ? std::string() : found->second;
}

// The readings above 0, largest first.
std::vector<Reading> counted(std::vector<Reading> readings) {
  std::erase_if(readings, [](const Reading& reading) { return reading.value <= 0; });
  std::stable_sort(readings.begin(), readings.end(), [](const Reading& one, const Reading& other) {
    return one.value > other.value;
  });
  return readings;
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

void show_codes(const ConsoleLook& look, site::Slots slots) {
  std::map<base::Fault, double> by_fault;
  for (const Reading& reading : counted(look.metrics.read("turnpike_errors_total"))) {
    const base::ErrorInfo* const error = base::find_error(label_of(reading, "code"));
    if (error == nullptr) continue;
    by_fault[error->fault] += reading.value;
    site::Slots row = slots.add("CODE");
    row.set("NAME", error->name);
    row.set("FAULT", name_of_fault(error->fault));
    row.set("COUNT", count_text(whole(reading.value)));
  }
  slots.show_if(by_fault.empty(), "HAS_NO_CODE");
  slots.show_if(!by_fault.empty(), "HAS_CODE");
  constexpr base::Fault faults[] = {base::Fault::caller, base::Fault::gateway,
                                    base::Fault::provider};
  for (const base::Fault fault : faults) {
    site::Slots row = slots.add("FAULT_SUM");
    row.set("FAULT", name_of_fault(fault));
    row.set("COUNT", count_text(whole(by_fault[fault])));
  }
}

void show_routes(const ConsoleLook& look, site::Slots slots) {
  std::size_t shown = 0;
  for (const Reading& reading : counted(look.metrics.read("turnpike_route_calls_total"))) {
    const std::string outcome = label_of(reading, "outcome");
    if (outcome == "answered") continue;
    if (++shown > rows_shown_max) break;
    const base::ErrorInfo* const error = base::find_error(outcome);
    site::Slots row = slots.add("ROUTE");
    row.set("PROVIDER", label_of(reading, "provider"));
    row.set("ROUTE", label_of(reading, "route"));
    row.set("OUTCOME", outcome == "caller_gone" ? "the caller left" : outcome);
    row.set("FAULT", error == nullptr ? "caller" : name_of_fault(error->fault));
    row.set("COUNT", count_text(whole(reading.value)));
  }
  slots.show_if(shown != 0, "HAS_ROUTE");
  slots.show_if(shown == 0, "HAS_NO_ROUTE");
  slots.show_if(shown > rows_shown_max, "HAS_MORE_ROUTES");
}

}  // namespace

std::optional<Error> fill_overview(const ConsoleLook& look, site::Slots slots) {
  const auto leased = look.parts.reports.leased();
  if (!leased.ok()) return leased.error();
  const auto incidents = look.status.recent_incidents(look.now_ms());
  if (!incidents.ok()) return incidents.error();
  show_pace(look.pace, slots);
  show_health(look.health, slots);
  site::set_credits(slots, "LEASED", leased->units);
  slots.set("LEASES", count_text(leased->leases));
  show_unknown(look.parts.source.unknown_calls(1'000), slots);
  show_sentences(look.health.relaxed, "RELAXED", slots);
  show_sentences(look.parts.source.warnings(), "WARNING", slots);
  const RegistryNews news = look.parts.source.news();
  slots.set_if("STANDING", news.standing);
  slots.show_if(news.is_refused, "IS_REFUSED");
  slots.show_if(!news.missing_secrets.empty(), "LACKS_SECRETS");
  slots.set("INCIDENTS", static_cast<std::int64_t>(incidents->size()));
  slots.set("STARTED", time_text(look.parts.source.started_at_ms()));
  slots.set("UP", age_text(look.now_ms() - look.parts.source.started_at_ms()));
  return std::nullopt;
}

std::optional<Error> fill_errors(const ConsoleLook& look, site::Slots slots) {
  slots.set("STARTED", time_text(look.parts.source.started_at_ms()));
  show_codes(look, slots);
  show_routes(look, slots);
  return std::nullopt;
}

}  // namespace turnpike::hosts::operators
