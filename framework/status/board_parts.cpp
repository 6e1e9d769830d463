#include "status/board_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "status/documents.h"
#include "status/rules.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

BoardJson identity_json(const std::string& id, std::uint32_t revision) {
  return {{"id", id}, {"revision", revision}};
}

BoardJson percentage_json(std::uint64_t part, std::uint64_t whole) {
  const auto hundredths = percent_hundredths(part, whole);
  return hundredths ? BoardJson(*hundredths / 100.0) : BoardJson();
}

BoardJson last_check_json(const BoardFacts& facts, const std::string& name) {
  const TargetFigures* const found = facts.figures("operation:" + name);
  if (found == nullptr || !found->last) return nullptr;
  const LastLook& look = *found->last;
  return {{"result", name_of(look.result)},
          {"reason", look.reason == Reason::none ? BoardJson() : BoardJson(name_of(look.reason))},
          {"at", text::rfc3339(look.at_ms)},
          {"latency_ms", look.latency_ms ? BoardJson(*look.latency_ms) : BoardJson()},
          {"round", look.round}};
}

BoardJson percentile_json(const std::vector<std::uint32_t>& counts, std::uint32_t percent) {
  const auto bound_ms = latency_percentile_ms(counts, percent);
  return bound_ms ? BoardJson(*bound_ms) : BoardJson();
}

// Percentiles of the looks of today and yesterday.
BoardJson latency_json(const BoardFacts& facts, const std::string& name) {
  const std::int64_t now_ms = facts.as_of_ms();
  const std::int64_t from_ms = now_ms - now_ms % history_day_ms - history_day_ms;
  std::vector<std::uint32_t> counts;
  for (const Segment* const day : facts.days_of("operation:" + name)) {
    if (day->started_at_ms < from_ms) continue;
    counts.resize(std::max(counts.size(), day->latencies.size()));
    for (std::size_t at = 0; at < day->latencies.size(); ++at) counts[at] += day->latencies[at];
  }
  return {{"p50", percentile_json(counts, 50)},
          {"p95", percentile_json(counts, 95)},
          {"p99", percentile_json(counts, 99)}};
}

// The provider's level by looks of one kind.
Level level_by(const BoardFacts& facts, const std::string& key, Reading reading,
               std::optional<Level> ScopeFigures::*kind) {
  const ScopeFigures* const found = facts.scope_figures("provider:" + key);
  if (found == nullptr || reading == Reading::stale) return Level::unknown;
  return (found->*kind).value_or(Level::unknown);
}

BoardJson level_counts_json(const BoardFacts& facts, std::uint32_t provider, Reading reading) {
  std::uint64_t counts[4] = {};
  for (const std::uint32_t index : facts.operations_of(provider)) {
    const Level level = facts.scope("operation:" + facts.name_of_operation(index), reading).level;
    ++counts[static_cast<std::size_t>(level)];
  }
  BoardJson shown = BoardJson::object();
  for (const Level level :
       {Level::operational, Level::degraded, Level::major_outage, Level::unknown}) {
    shown[std::string(name_of(level))] = counts[static_cast<std::size_t>(level)];
  }
  return shown;
}

bool is_shown(const ShownIncident& shown) {
  return shown.incident.resolution != Resolution::not_confirmed;
}

bool concerns(const Incident& incident, const std::vector<std::string>& scopes) {
  const auto is_among = [&](std::string_view scope) {
    return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
  };
  return is_among(incident.scope) ||
         std::any_of(incident.affected.begin(), incident.affected.end(),
                     [&](const std::string& name) { return is_among("operation:" + name); });
}

// ---- history

// One day of one or more scopes.
struct HistoryDay {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  std::uint64_t traffic_rounds = 0;
  std::uint64_t good = 0;
  std::optional<Level> status;
  std::uint64_t first_round = 0;
  std::uint64_t last_round = 0;

  [[nodiscard]] std::uint64_t expected() const noexcept { return passed + failed + unknown; }
  void add(const Segment& one) {
    passed += one.passed;
    failed += one.failed;
    unknown += one.unknown;
    traffic_rounds += one.traffic_rounds;
    good += one.good;
    status = status ? worse(*status, one.status) : one.status;
    first_round = first_round == 0 ? one.first_round : std::min(first_round, one.first_round);
    last_round = std::max(last_round, one.last_round);
  }
};

void append_number(std::string& out, std::string_view name, std::uint64_t value) {
  out.append(name).append(std::to_string(value));
}

// Appends the members that history and segment share; "null" if there were no looks.
void append_sums(std::string& out, const HistoryDay& sums) {
  append_number(out, R"("active_expected_targets":)", sums.expected());
  append_number(out, R"(,"active_passed_targets":)", sums.passed);
  append_number(out, R"(,"active_failed_targets":)", sums.failed);
  append_number(out, R"(,"active_unknown_targets":)", sums.unknown);
  const std::uint64_t judged = sums.passed + sums.failed;
  out.append(R"(,"active_check_percentage":)").append(percentage_text(sums.passed, judged));
  out.append(R"(,"active_coverage_percentage":)").append(percentage_text(judged, sums.expected()));
}

void append_day(std::string& out, std::int64_t started_at_ms, const HistoryDay& day) {
  out.append(R"({"started_at":")").append(text::rfc3339(started_at_ms));
  out.append(R"(","ended_at":")").append(text::rfc3339(started_at_ms + history_day_ms));
  out.append(R"(","status":")").append(name_of(day.status.value_or(Level::unknown))).append("\",");
  append_sums(out, day);
  out.append(R"(,"traffic_good_percentage":)");
  out += percentage_text(day.good, day.traffic_rounds * traffic_parts);
  out += R"(,"rounds":[)";
  if (day.last_round > 0) {
    append_number(out, "", day.first_round);
    append_number(out, ",", day.last_round);
  }
  out += "]}";
}

}  // namespace

std::string board_text(const BoardJson& value) {
  return value.dump(-1, ' ', false, BoardJson::error_handler_t::replace);
}

BoardJson time_or_null(std::int64_t at_ms) {
  return at_ms == 0 ? BoardJson() : BoardJson(text::rfc3339(at_ms));
}

BoardJson generation_json(const registry::Generation& generation) {
  return {{"epoch_id", generation.epoch_id},
          {"id", generation.id},
          {"sequence", generation.sequence},
          {"codec", "canonical_json_v1"},
          {"payload_hash", generation.payload_hash}};
}

BoardJson manifest_json(const registry::Generation& generation) {
  return {{"registry_epoch_id", generation.epoch_id},
          {"manifest_sequence", generation.manifest_sequence},
          {"manifest_payload_hash", generation.payload_hash}};
}

BoardJson evidence_json(const BoardFacts& facts) {
  const NewestRound* const newest = facts.input().newest;
  if (newest == nullptr) {
    return {{"stream", facts.input().stream},
            {"round", 0},
            {"head", first_prev},
            {"rules_hash", rules_hash()}};
  }
  const RoundHead& head = newest->round.head;
  return {{"stream", head.stream},
          {"round", head.round},
          {"head", head.head},
          {"rules_hash", head.rules_hash}};
}

std::string_view name_of_class(MonitoringClass monitoring) noexcept {
  switch (monitoring) {
    case MonitoringClass::continuous:
      return "continuous";
    case MonitoringClass::manual:
      return "manual";
    case MonitoringClass::not_applicable:
      return "not_applicable";
    case MonitoringClass::unreviewed:
      break;
  }
  return "unreviewed";
}

BoardJson traffic_json(const BoardFacts& facts, std::string_view target, Reading reading) {
  const TargetFigures* const found = facts.figures(target);
  const bool is_known = reading == Reading::found && found != nullptr && found->traffic &&
                        !found->traffic->is_thin;
  const Traffic traffic = is_known ? *found->traffic : Traffic{};
  const std::uint64_t whole = is_known ? traffic_parts : 0;
  BoardJson shown = {{"window_seconds", traffic_window_ms / 1000},
                     {"good_percentage", percentage_json(traffic.good, whole)},
                     {"provider_fault_percentage", percentage_json(traffic.provider_fault, whole)},
                     {"gateway_fault_percentage", percentage_json(traffic.gateway_fault, whole)},
                     {"requests", nullptr}};
  if (traffic.counts) {
    const Traffic::Counts& counts = *traffic.counts;
    shown["requests"] = counts.good + counts.provider_fault + counts.gateway_fault;
  }
  return shown;
}

BoardJson method_json(const BoardFacts& facts, const registry::Operation& operation,
                      Reading reading) {
  const std::string& name = facts.name_of_operation(operation.index);
  const registry::Route& route = facts.program().routes()[operation.route];
  BoardJson variants = {"paid"};
  if (route.free_policy) variants.push_back("free");
  const Target* const pricing = facts.input().targets.find("pricing:" + name);
  const Level price = pricing == nullptr ? Level::unknown : facts.target(*pricing, reading).level;
  return {{"method", turnpike::name_of(operation.method)},
          {"status", name_of(facts.scope("operation:" + name, reading).level)},
          {"offered", bool(facts.input().offered[operation.index])},
          {"monitoring_class", name_of_class(operation.monitoring->kind)},
          {"variants", std::move(variants)},
          {"pricing_status", name_of(price)},
          {"last_check", last_check_json(facts, name)},
          {"traffic", traffic_json(facts, "traffic:operation:" + name, reading)},
          {"latency_ms", latency_json(facts, name)}};
}

CapabilityShown capability_shown(const BoardFacts& facts, const registry::Route& route,
                                 Reading reading) {
  CapabilityShown shown;
  shown.methods = BoardJson::array();
  std::vector<Level> levels;
  std::vector<Evidence> evidence;
  for (const std::uint32_t index : route.operations) {
    const ShownLevel one = facts.scope("operation:" + facts.name_of_operation(index), reading);
    levels.push_back(one.level);
    evidence.push_back(one.evidence);
    shown.together.observed_at_ms = std::max(shown.together.observed_at_ms, one.observed_at_ms);
    shown.methods.push_back(method_json(facts, facts.program().operations()[index], reading));
  }
  shown.together.level = levels_together(levels);
  shown.together.evidence = evidence_together(evidence);
  return shown;
}

BoardJson provider_json(const BoardFacts& facts, std::uint32_t provider, Reading reading) {
  const registry::Provider& shown = facts.program().providers()[provider];
  const ShownLevel standing = facts.scope("provider:" + shown.key, reading);
  const auto level_of = [&](std::optional<Level> ScopeFigures::*kind) {
    return name_of(level_by(facts, shown.key, reading, kind));
  };
  return {{"provider_key", shown.key},
          {"provider_name", shown.name},
          {"provider", identity_json(shown.id, shown.revision)},
          {"status", name_of(standing.level)},
          {"reachability_status", level_of(&ScopeFigures::reachability)},
          {"operation_family_status", level_of(&ScopeFigures::contract)},
          {"health_status", nullptr},  // no statement of its own
          {"evidence_status", name_of(standing.evidence)},
          {"observed_at", time_or_null(standing.observed_at_ms)},
          {"operations", level_counts_json(facts, provider, reading)},
          {"traffic", traffic_json(facts, "traffic:provider:" + shown.key, reading)}};
}

BoardJson incidents_json(const BoardFacts& facts, const std::vector<std::string>& scopes) {
  BoardJson shown = BoardJson::array();
  for (const ShownIncident& one : facts.input().incidents) {
    if (is_shown(one) && concerns(one.incident, scopes)) shown.push_back(incident_json(one));
  }
  return shown;
}

BoardJson all_incidents_json(const BoardFacts& facts) {
  BoardJson shown = BoardJson::array();
  for (const ShownIncident& one : facts.input().incidents) {
    if (is_shown(one)) shown.push_back(incident_json(one));
  }
  return shown;
}

std::string history_text(const BoardFacts& facts, const std::vector<std::string>& scopes) {
  std::map<std::int64_t, HistoryDay> days;
  HistoryDay all;
  for (const std::string& scope : scopes) {
    for (const Segment* const one : facts.days_of(scope)) {
      days[one->started_at_ms].add(*one);
      all.add(*one);
    }
  }
  // A day without data is listed as such: a gap must not look like a good day.
  if (!days.empty()) {
    const std::int64_t last_ms = days.rbegin()->first;
    std::int64_t at_ms = days.begin()->first;
    for (; at_ms < last_ms; at_ms += history_day_ms) days[at_ms];
  }
  std::string out = R"({"window_days":)" + std::to_string(history_days) +
                    R"(,"segment_duration_seconds":)" + std::to_string(history_day_ms / 1000) + ",";
  append_sums(out, all);
  out += R"(,"segments":[)";
  bool is_first = true;
  for (const auto& [started_at_ms, day] : days) {
    if (!std::exchange(is_first, false)) out += ',';
    append_day(out, started_at_ms, day);
  }
  return out += "]}";
}

std::string with_history(const BoardJson& head, std::string_view history, const BoardFacts& facts) {
  std::string text = board_text(head);
  text.pop_back();  // the closing brace
  text.append(R"(,"health_history":)").append(history);
  return text.append(R"(,"evidence":)").append(board_text(evidence_json(facts))).append("}");
}

std::string percentage_text(std::uint64_t part, std::uint64_t whole) {
  const auto found = percent_hundredths(part, whole);
  if (!found) return "null";
  const std::uint32_t hundredths = *found;
  std::string text = std::to_string(hundredths / 100);
  const std::uint32_t rest = hundredths % 100;
  text += '.';
  text += static_cast<char>('0' + rest / 10);
  if (rest % 10 != 0) text += static_cast<char>('0' + rest % 10);
  return text;
}

}  // namespace turnpike::status
