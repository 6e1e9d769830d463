#include "status/published.h"

#include <array>
#include <cmath>

#include "status/rules.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;

constexpr std::size_t compared_max = 100'000;  // entries of a list

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 200 ? text : text.substr(0, 200) + "...";
}

// Compares the document with the book and keeps the first difference.
class Comparison {
 public:
  explicit Comparison(std::uint64_t round) : round_(round) {}

  // JSON null if the member is absent, so that an omitted figure differs from a known one.
  static const json& at(const json& object, const char* name) {
    static const json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(name);
    return found == object.end() ? nothing : *found;
  }

  void same(const std::string& place, const json& published, const json& right) {
    if (difference_ || published == right) return;
    tell(place, published, right);
  }
  void same(const std::string& place, const json& published, std::string_view right) {
    same(place, published, json(right));
  }
  void same(const std::string& place, const json& published, const std::string& right) {
    same(place, published, json(right));
  }
  // A percentage in hundredths; nullopt: null.
  void percent(const std::string& place, const json& published,
               std::optional<std::uint32_t> hundredths) {
    if (difference_) return;
    if (hundredths && published.is_number()) {
      if (std::fabs(published.get<double>() * 100 - *hundredths) < 1e-6) return;
    } else if (!hundredths && published.is_null()) {
      return;
    }
    tell(place, published, hundredths ? json(*hundredths / 100.0) : json());
  }
  void tell(const std::string& place, const json& published, const json& right) {
    if (difference_) return;
    difference_ = place + " was published as " + shown(published) + "; after round " +
                  std::to_string(round_) + " the evidence says " + shown(right);
  }
  void say(std::string difference) {
    if (!difference_) difference_ = std::move(difference);
  }
  [[nodiscard]] bool is_over() const noexcept { return difference_.has_value(); }
  std::optional<std::string> take() { return std::move(difference_); }

 private:
  const std::uint64_t round_;
  std::optional<std::string> difference_;
};

const json& member(const json& object, const char* name) { return Comparison::at(object, name); }

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string_view level_text(const std::optional<Level>& level) {
  return name_of(level.value_or(Level::unknown));
}

std::string_view level_text(const ScopeFigures* figures) {
  return name_of(figures == nullptr ? Level::unknown : figures->level);
}

void compare_traffic(Comparison& comparison, const std::string& place, const json& published,
                     const TargetFigures* figures) {
  const bool is_known = figures != nullptr && figures->traffic && !figures->traffic->is_thin;
  const Traffic traffic = is_known ? *figures->traffic : Traffic();
  const std::uint64_t whole = is_known ? traffic_parts : 0;
  const auto part = [&](const char* name, std::uint32_t value) {
    comparison.percent(place + "." + name, member(published, name),
                       percent_hundredths(value, whole));
  };
  part("good_percentage", traffic.good);
  part("provider_fault_percentage", traffic.provider_fault);
  part("gateway_fault_percentage", traffic.gateway_fault);
  json requests;
  if (const auto& counts = traffic.counts) {
    requests = counts->good + counts->provider_fault + counts->gateway_fault;
  }
  comparison.same(place + ".requests", member(published, "requests"), requests);
}

// Operations without a status, which are not in the set, are published as unknown.
void compare_operations(Comparison& comparison, const std::string& place, const json& published,
                        const std::string& key, const Book& book, const TargetSet& targets) {
  std::array<std::uint64_t, 4> counts{};
  for (const Target& target : targets.targets) {
    if (target.kind != TargetKind::contract || target.provider != key) continue;
    const ScopeFigures* const figures = book.scope(target.name);
    ++counts[static_cast<std::size_t>(figures == nullptr ? Level::unknown : figures->level)];
  }
  for (const Level level : {Level::operational, Level::degraded, Level::major_outage}) {
    const std::string name(name_of(level));
    comparison.same(place + "." + name, member(published, name.c_str()),
                    json(counts[static_cast<std::size_t>(level)]));
  }
}

void compare_provider(Comparison& comparison, const json& published, const Book& book,
                      const TargetSet& targets) {
  const std::string key = text_of(member(published, "provider_key"));
  const std::string place = "providers[" + key + "].";
  const ScopeFigures* const figures = book.scope("provider:" + key);
  if (figures == nullptr) return;  // no target, so no figures
  comparison.same(place + "status", member(published, "status"), name_of(figures->level));
  comparison.same(place + "reachability_status", member(published, "reachability_status"),
                  level_text(figures->reachability));
  comparison.same(place + "operation_family_status", member(published, "operation_family_status"),
                  level_text(figures->contract));
  compare_operations(comparison, place + "operations", member(published, "operations"), key, book,
                     targets);
  compare_traffic(comparison, place + "traffic", member(published, "traffic"),
                  book.target("traffic:provider:" + key));
}

void compare_providers(Comparison& comparison, const json& published, const Book& book,
                       const TargetSet& targets) {
  std::map<std::string, const json*> by_key;
  if (published.is_array()) {
    for (const json& each : published) by_key[text_of(member(each, "provider_key"))] = &each;
  }
  for (const Target& target : targets.targets) {
    if (target.kind != TargetKind::reachability || by_key.contains(target.provider)) continue;
    comparison.say("the provider " + target.provider + " was not published");
  }
  for (const auto& [key, provider] : by_key) {
    if (comparison.is_over()) return;
    compare_provider(comparison, *provider, book, targets);
  }
}

void compare_sentinels(Comparison& comparison, const json& published, const Book& book,
                       const TargetSet& targets) {
  std::map<std::pair<std::string, std::string>, const json*> by_name;
  if (published.is_array()) {
    for (const json& each : published) {
      by_name[{text_of(member(each, "sentinel")), text_of(member(each, "node"))}] = &each;
    }
  }
  for (const Target& target : targets.targets) {
    if (target.kind != TargetKind::sentinel) continue;
    const TargetFigures* const figures = book.target(target.name);
    if (figures == nullptr) continue;
    const std::string check = target.name.substr(target.name.find(':') + 1);
    for (const auto& [node, look] : figures->by_node) {
      const std::string place = "sentinel_observations[" + check + " on " + node + "]";
      const auto found = by_name.find({check, node});
      if (found == by_name.end()) {
        comparison.say(place + " was not published");
        return;
      }
      comparison.same(place + ".result", member(*found->second, "result"), name_of(look.result));
    }
  }
}

void compare_incident(Comparison& comparison, const std::string& place, const json& published,
                      const Incident& incident) {
  comparison.same(place + ".scope", member(published, "scope"), incident.scope);
  comparison.same(place + ".state", member(published, "state"), name_of(incident.state));
  comparison.same(place + ".severity", member(published, "severity"), name_of(incident.severity));
  comparison.same(place + ".started_at", member(published, "started_at"),
                  text::rfc3339(incident.started_at_ms));
}

void compare_incidents(Comparison& comparison, const json& published, const Book& book) {
  std::map<std::string, const Incident*> ours;
  for (const Incident& incident : book.incidents()) ours[incident.id] = &incident;
  std::map<std::string, bool> told;
  if (published.is_array()) {
    for (const json& each : published) {
      if (member(each, "source") != "automatic") continue;
      const std::string id = text_of(member(each, "incident_id"));
      const std::string place = "incidents[" + id + "]";
      const auto found = ours.find(id);
      told[id] = true;
      if (found != ours.end()) {
        compare_incident(comparison, place, each, *found->second);
      } else if (member(each, "state") != "resolved") {
        comparison.say(place + " was published as " + shown(member(each, "state")) +
                       "; the evidence has no such incident");
      }
    }
  }
  for (const auto& [id, incident] : ours) {
    if (is_ongoing(incident->state) && !told.contains(id)) {
      comparison.say("the incident " + id + " of " + incident->scope + " is " +
                     std::string(name_of(incident->state)) + " and was not published");
    }
  }
}

// The sums of one object of the published history.
struct Sums {
  std::uint64_t expected = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  bool are_there = true;

  explicit Sums(const json& object) {
    const auto read = [&](const char* name) -> std::uint64_t {
      const json& value = member(object, name);
      are_there = are_there && value.is_number_unsigned();
      return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
    };
    expected = read("active_expected_targets");
    passed = read("active_passed_targets");
    failed = read("active_failed_targets");
    unknown = read("active_unknown_targets");
  }
};

void compare_sums(Comparison& comparison, const std::string& place, const json& published) {
  const Sums sums(published);
  const auto is_small = [](std::uint64_t value) { return value < std::uint64_t{1} << 50; };
  if (!sums.are_there || !is_small(sums.expected) || !is_small(sums.passed) ||
      !is_small(sums.failed) || !is_small(sums.unknown) ||
      sums.expected != sums.passed + sums.failed + sums.unknown) {
    comparison.say("the sums of " + place + " do not add up");
    return;
  }
  const std::uint64_t looks = sums.passed + sums.failed;
  comparison.percent(place + ".active_check_percentage",
                     member(published, "active_check_percentage"),
                     percent_hundredths(sums.passed, looks));
  comparison.percent(place + ".active_coverage_percentage",
                     member(published, "active_coverage_percentage"),
                     percent_hundredths(looks, sums.expected));
}

void compare_day(Comparison& comparison, const std::string& place, const json& published,
                 const Segment& day) {
  comparison.same(place + ".status", member(published, "status"), name_of(day.status));
  comparison.same(place + ".active_expected_targets",
                  member(published, "active_expected_targets"), json(day.expected));
  comparison.same(place + ".active_passed_targets", member(published, "active_passed_targets"),
                  json(day.passed));
  comparison.same(place + ".active_failed_targets", member(published, "active_failed_targets"),
                  json(day.failed));
  comparison.same(place + ".active_unknown_targets", member(published, "active_unknown_targets"),
                  json(day.unknown));
  comparison.percent(place + ".traffic_good_percentage",
                     member(published, "traffic_good_percentage"),
                     percent_hundredths(day.good, day.traffic_rounds * traffic_parts));
  comparison.same(place + ".rounds", member(published, "rounds"),
                  json::array({day.first_round, day.last_round}));
}

void compare_history(Comparison& comparison, const json& published,
                     const std::map<std::int64_t, Segment>& days, std::int64_t now_ms) {
  const json& segments = member(published, "segments");
  compare_sums(comparison, "health_history", published);
  if (!segments.is_array() || segments.size() > compared_max) {
    comparison.say("health_history has no segments");
    return;
  }
  std::map<std::int64_t, bool> told;
  std::array<std::uint64_t, 4> all{};
  for (const json& each : segments) {
    const std::string start = text_of(member(each, "started_at"));
    const std::string place = "health_history.segments[" + start + "]";
    compare_sums(comparison, place, each);
    const Sums sums(each);
    all[0] += sums.expected;
    all[1] += sums.passed;
    all[2] += sums.failed;
    all[3] += sums.unknown;
    const auto started_at_ms = text::parse_rfc3339(start);
    if (!started_at_ms) return comparison.say(place + " has no time");
    told[*started_at_ms] = true;
    const auto ours = days.find(*started_at_ms);
    if (ours != days.end()) compare_day(comparison, place, each, ours->second);
    if (comparison.is_over()) return;
  }
  const Sums whole(published);
  if (all != std::array{whole.expected, whole.passed, whole.failed, whole.unknown}) {
    comparison.say("the sums of health_history are not those of its segments");
  }
  // The window moves on.
  const std::int64_t oldest_ms = now_ms - now_ms % Segment::day_ms - 88 * Segment::day_ms;
  for (const auto& [started_at_ms, day] : days) {
    if (started_at_ms < oldest_ms || started_at_ms > now_ms || told.contains(started_at_ms)) {
      continue;
    }
    comparison.say("the day " + text::rfc3339(started_at_ms) + " is not in health_history");
  }
}

bool claims_nothing(const json& document) {
  const json& evidence = member(document, "evidence_status");
  if (evidence != "stale" && evidence != "unverified") return false;
  if (member(document, "status") != "unknown") return false;
  for (const json& provider : member(document, "providers")) {
    for (const char* const name : {"status", "reachability_status", "operation_family_status"}) {
      if (member(provider, name) != "unknown") return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> published_after(const json& document) {
  const json& round = member(member(document, "evidence"), "round");
  if (member(document, "schema_version") != "service.status.gateway.v1") return std::nullopt;
  if (!round.is_number_unsigned() || round.get<std::uint64_t>() == 0) return std::nullopt;
  return round.get<std::uint64_t>();
}

std::optional<std::string> compare_published(const json& document, const RoundHead& head,
                                             const Book& book, const TargetSet& targets,
                                             const std::map<std::int64_t, Segment>& days) {
  Comparison comparison(head.round);
  const json& evidence = member(document, "evidence");
  comparison.same("evidence.stream", member(evidence, "stream"), head.stream);
  comparison.same("evidence.head", member(evidence, "head"), head.head);
  if (!claims_nothing(document)) {
    comparison.same("status", member(document, "status"), level_text(book.scope("gateway")));
    comparison.same("operation_pricing_status", member(document, "operation_pricing_status"),
                    level_text(book.scope("pricing")));
    compare_providers(comparison, member(document, "providers"), book, targets);
    compare_sentinels(comparison, member(document, "sentinel_observations"), book, targets);
  }
  compare_incidents(comparison, member(document, "incidents"), book);
  compare_history(comparison, member(document, "health_history"), days, head.ended_at_ms);
  return comparison.take();
}

}  // namespace turnpike::status
