#include "status/target.h"

#include <algorithm>
#include <array>

#include "crypto/digest.h"
#include "status/text_form.h"
#include "text/json_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;
using registry::Operation;
using registry::Program;
using registry::Route;

constexpr std::array<std::string_view, 6> target_kinds = {"sentinel", "reachability", "contract",
                                                          "traffic",  "pricing",      "lane"};
constexpr std::array<std::string_view, 4> monitoring_classes = {"unreviewed", "continuous",
                                                                "manual", "not_applicable"};

// Programs have far fewer; a larger set could only exhaust a verifier.
constexpr std::size_t targets_max = 100'000;
constexpr std::size_t sentinels_max = 256;
constexpr std::int64_t interval_ms_min = 10;
constexpr std::int64_t interval_ms_max = 366LL * 86'400'000;

// Division that rounds down, also below zero.
constexpr std::int64_t divided(std::int64_t value, std::int64_t by) noexcept {
  const std::int64_t quotient = value / by;
  return quotient * by > value ? quotient - 1 : quotient;
}

class Collector {
 public:
  Collector(const Program& program, const Surroundings& surroundings)
      : program_(program), round_ms_(surroundings.round_ms) {
    for (const std::string& check : surroundings.sentinels) {
      add("gateway:" + check, TargetKind::sentinel);
    }
    for (const std::string& lane : surroundings.lanes) add("lane:" + lane, TargetKind::lane);
    add("traffic:gateway", TargetKind::traffic);
    for (const registry::Provider& provider : program.providers()) {
      add("traffic:provider:" + provider.key, TargetKind::traffic).provider = provider.key;
    }
    for (const registry::Upstream& upstream : program.upstreams()) add_upstream(upstream);
    for (const Operation& operation : program.operations()) add_operation(operation);
  }

  std::vector<Target> take() {
    std::sort(targets_.begin(), targets_.end(),
              [](const Target& left, const Target& right) { return left.name < right.name; });
    return std::move(targets_);
  }

 private:
  Target& add(std::string name, TargetKind kind) {
    Target& target = targets_.emplace_back();
    target.name = std::move(name);
    target.kind = kind;
    target.interval_ms = round_ms_;
    return target;
  }

  void add_upstream(const registry::Upstream& upstream) {
    Target& target = add("upstream:" + upstream.id, TargetKind::reachability);
    target.interval_ms = upstream.probe.interval_ms;
    target.per_day_max = upstream.probe.per_day_max;
    target.upstream = upstream.id;
    target.provider = program_.providers()[upstream.provider].key;
  }

  Target& add_of(const Operation& operation, std::string_view prefix, TargetKind kind) {
    const Route& route = program_.routes()[operation.route];
    const std::string name = route.id + ":" + std::string(turnpike::name_of(operation.method));
    Target& target = add(std::string(prefix) + name, kind);
    target.provider = program_.providers()[route.provider].key;
    target.upstream = program_.upstreams()[route.upstream].id;
    target.operation = name;
    return target;
  }

  void add_operation(const Operation& operation) {
    const registry::Monitoring& monitoring = *operation.monitoring;
    if (monitoring.kind == MonitoringClass::not_applicable) return;
    Target& look = add_of(operation, "operation:", TargetKind::contract);
    const bool is_blocked = !program_.routes()[operation.route].readiness.ready;
    look.monitoring = is_blocked ? MonitoringClass::unreviewed : monitoring.kind;
    const bool is_continuous = look.monitoring == MonitoringClass::continuous;
    look.interval_ms = is_continuous ? monitoring.interval_ms : 0;
    look.per_day_max =
        look.monitoring == MonitoringClass::unreviewed ? 0 : monitoring.per_day_max;
    add_of(operation, "traffic:operation:", TargetKind::traffic);
    if (operation.price && !is_blocked) add_of(operation, "pricing:", TargetKind::pricing);
  }

  const Program& program_;
  const std::int64_t round_ms_;
  std::vector<Target> targets_;
};

void append_target(std::string& out, const Target& target) {
  ObjectText(out)
      .integer("interval_ms", target.interval_ms)
      .text("kind", name_of(target.kind))
      .text("monitoring", monitoring_classes[static_cast<std::size_t>(target.monitoring)])
      .text("name", target.name)
      .text_unless_empty("operation", target.operation)
      .integer("per_day_max", target.per_day_max)
      .text_unless_empty("provider", target.provider)
      .text_unless_empty("upstream", target.upstream)
      .end();
}

// True if the target's name matches its kind and other members; sentinels and lanes have a free
// name after the prefix.
bool is_named_right(const Target& target) {
  const auto begins = [&](std::string_view prefix) {
    return target.name.size() > prefix.size() && target.name.starts_with(prefix);
  };
  const std::string& operation = target.operation;
  switch (target.kind) {
    case TargetKind::sentinel: return begins("gateway:");
    case TargetKind::lane: return begins("lane:");
    case TargetKind::reachability:
      return !target.provider.empty() && !target.upstream.empty() &&
             target.name == "upstream:" + target.upstream;
    case TargetKind::contract: return !operation.empty() && target.name == "operation:" + operation;
    case TargetKind::pricing: return !operation.empty() && target.name == "pricing:" + operation;
    case TargetKind::traffic:
      if (!operation.empty()) return target.name == "traffic:operation:" + operation;
      if (!target.provider.empty()) return target.name == "traffic:provider:" + target.provider;
      return target.name == "traffic:gateway";
  }
  return false;
}

bool is_sound(const Target& target) {
  if (!is_named_right(target)) return false;
  if (target.kind != TargetKind::contract) {
    return target.interval_ms > 0 && target.monitoring == MonitoringClass::continuous;
  }
  if (target.provider.empty() || target.upstream.empty()) return false;
  if (target.monitoring == MonitoringClass::not_applicable) return false;
  return (target.monitoring == MonitoringClass::continuous) == (target.interval_ms > 0);
}

Target target_from(Fields& fields) {
  Target target;
  target.interval_ms = fields.integer("interval_ms", 0, interval_ms_max);
  if (target.interval_ms != 0 && target.interval_ms < interval_ms_min) fields.refuse();
  target.kind = static_cast<TargetKind>(fields.one_of("kind", target_kinds));
  target.monitoring =
      static_cast<MonitoringClass>(fields.one_of("monitoring", monitoring_classes));
  target.name = fields.text("name");
  target.operation = fields.text_or_empty("operation");
  target.per_day_max = static_cast<std::uint32_t>(fields.integer("per_day_max", 0, 0xFFFF'FFFF));
  target.provider = fields.text_or_empty("provider");
  target.upstream = fields.text_or_empty("upstream");
  return target;
}

std::int64_t hashed_phase(const Target& target) noexcept {
  const crypto::Sha256 digest = crypto::sha256(target.name);
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < 8; ++at) number = number << 8 | digest[at];
  return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(target.interval_ms));
}

}  // namespace

std::string_view name_of(TargetKind kind) noexcept {
  return target_kinds[static_cast<std::size_t>(kind)];
}

const Target* TargetSet::find(std::string_view name) const noexcept {
  const auto is_before = [](const Target& target, std::string_view key) {
    return target.name < key;
  };
  const auto found = std::lower_bound(targets.begin(), targets.end(), name, is_before);
  return found != targets.end() && found->name == name ? &*found : nullptr;
}

std::string TargetSet::canonical() const {
  std::string out;
  out.reserve(200 * targets.size() + 100);
  ObjectText object(out);
  object.integer("evidence_lost_ms", evidence_lost_ms).integer("round_ms", round_ms);
  object.member("targets") += '[';
  for (const Target& target : targets) {
    if (&target != &targets.front()) out += ',';
    append_target(out, target);
  }
  out += ']';
  object.end();
  return out;
}

std::string TargetSet::hash() const { return hash_of(canonical()); }

TargetSet targets_of(const registry::Program& program, const Surroundings& surroundings) {
  return {.round_ms = surroundings.round_ms,
          .evidence_lost_ms = surroundings.evidence_lost_ms,
          .targets = Collector(program, surroundings).take()};
}

Result<TargetSet, std::string> read_target_set(std::string_view text) {
  const json object = text::parse_json(text);
  Fields fields(object);
  TargetSet set;
  set.evidence_lost_ms = fields.integer("evidence_lost_ms", 1, interval_ms_max);
  set.round_ms = fields.integer("round_ms", interval_ms_min, 86'400'000);
  const json& targets = fields.array("targets");
  if (targets.size() > targets_max) return std::string("the set has too many targets");
  for (const json& each : targets) {
    Fields parts(each);
    set.targets.push_back(target_from(parts));
    if (!parts.is_right() || !is_sound(set.targets.back())) {
      return "the set has a target that makes no sense, number " +
             std::to_string(set.targets.size());
    }
    const std::size_t count = set.targets.size();
    if (count > 1 && !(set.targets[count - 2].name < set.targets[count - 1].name)) {
      return "the targets of the set are not in order at " + set.targets.back().name;
    }
  }
  const auto is_sentinel = [](const Target& each) { return each.kind == TargetKind::sentinel; };
  if (std::count_if(set.targets.begin(), set.targets.end(), is_sentinel) >
      static_cast<std::ptrdiff_t>(sentinels_max)) {
    return std::string("the set has too many sentinels");
  }
  if (!fields.is_right()) return std::string("this is no set of targets");
  if (set.canonical() != text) {
    return std::string("the set of targets is not written as canonical JSON of what it states");
  }
  return set;
}

std::int64_t phase_ms(const Target& target) noexcept {
  const bool is_spread =
      target.kind == TargetKind::reachability || target.kind == TargetKind::contract;
  return is_spread && target.interval_ms > 0 ? hashed_phase(target) : 0;
}

std::int64_t due_count(std::int64_t phase, std::int64_t interval_ms, std::int64_t from_ms,
                       std::int64_t to_ms) noexcept {
  if (interval_ms <= 0 || to_ms <= from_ms) return 0;
  // The number of grid points before a time is the number of intervals before it, rounded up.
  return divided(to_ms - phase - 1, interval_ms) - divided(from_ms - phase - 1, interval_ms);
}

std::int64_t due_count(const Target& target, std::int64_t from_ms, std::int64_t to_ms) noexcept {
  return target.interval_ms <= 0
             ? 0
             : due_count(phase_ms(target), target.interval_ms, from_ms, to_ms);
}

bool is_on_grid(const Target& target, std::int64_t due_at_ms) noexcept {
  return target.interval_ms > 0 && (due_at_ms - phase_ms(target)) % target.interval_ms == 0;
}

}  // namespace turnpike::status
