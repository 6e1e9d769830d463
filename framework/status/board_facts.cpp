#include "status/board_facts.h"

#include <algorithm>

#include "status/rules.h"
#include "text/encoding.h"

namespace turnpike::status {
namespace {

bool is_signed_by_its_key(const BoardInput& input) {
  const SignedRound& round = input.newest->round;
  for (const SigningKey& key : input.keys) {
    if (key.kid != round.head.kid) continue;
    const auto bytes = text::from_base64url(key.public_key);
    crypto::Ed25519PublicKey public_key{};
    if (!bytes || bytes->size() != public_key.size()) return false;
    std::copy(bytes->begin(), bytes->end(), public_key.begin());
    return is_signed_by(round, public_key);
  }
  return false;
}

bool is_of_installed(const BoardInput& input) {
  if (input.newest == nullptr || input.book == nullptr) return false;
  const RoundHead& head = input.newest->round.head;
  return head.generation == input.generation.id && input.book->round() == head.round &&
         is_signed_by_its_key(input);
}

void lower_time(std::map<std::string, std::int64_t, std::less<>>& times, const std::string& name,
           std::int64_t until_ms) {
  if (name.empty()) return;
  const auto [found, is_new] = times.emplace(name, until_ms);
  if (!is_new) found->second = std::min(found->second, until_ms);
}

}  // namespace

Level levels_together(const std::vector<Level>& levels) noexcept {
  if (levels.empty()) return Level::unknown;
  const auto is_out = [](Level level) { return level == Level::major_outage; };
  if (std::all_of(levels.begin(), levels.end(), is_out)) return Level::major_outage;
  const Level worst = *std::max_element(levels.begin(), levels.end());
  return std::min(worst, Level::degraded);
}

Evidence evidence_together(const std::vector<Evidence>& evidence) noexcept {
  const auto all_are = [&](Evidence one) {
    return std::all_of(evidence.begin(), evidence.end(),
                       [&](Evidence each) { return each == one; });
  };
  if (evidence.empty()) return Evidence::missing_or_stale;
  if (all_are(Evidence::current)) return Evidence::current;
  if (all_are(Evidence::stale)) return Evidence::stale;
  const bool is_unverified =
      std::find(evidence.begin(), evidence.end(), Evidence::unverified) != evidence.end();
  return is_unverified ? Evidence::unverified : Evidence::missing_or_stale;
}

std::string operation_name(const registry::Program& program, const registry::Operation& operation) {
  return program.routes()[operation.route].id + ":" + std::string(name_of(operation.method));
}

BoardFacts::BoardFacts(const BoardInput& input)
    : input_(input), is_verified_(is_of_installed(input)) {
  const std::int64_t last_day_ms = input.made_at_ms - input.made_at_ms % history_day_ms;
  for (const Segment& day : input.days) {
    const bool is_within = day.started_at_ms > last_day_ms - history_days * history_day_ms;
    if (day.length_ms == history_day_ms && is_within) days_[day.scope].push_back(&day);
  }
  for (auto& [scope, days] : days_) {
    std::sort(days.begin(), days.end(), [](const Segment* left, const Segment* right) {
      return left->started_at_ms < right->started_at_ms;
    });
  }
  operations_.resize(input.program.providers().size());
  for (const registry::Operation& operation : input.program.operations()) {
    operations_[input.program.routes()[operation.route].provider].push_back(operation.index);
    names_.push_back(operation_name(input.program, operation));
  }
  valid_until_ms_ = as_of_ms();
  if (!is_verified_) return;
  valid_until_ms_ += stale_after_intervals * input.targets.round_ms;
  for (const Target& target : input.targets.targets) {
    const std::int64_t until_ms = believed_until_ms(target);
    if (until_ms <= as_of_ms()) continue;  // not fresh: the round already counts it as unknown
    valid_until_ms_ = std::min(valid_until_ms_, until_ms);
    lower_time(of_providers_, target.provider, until_ms);
    lower_time(of_operations_, target.operation, until_ms);
  }
}

std::int64_t BoardFacts::as_of_ms() const noexcept {
  return is_verified_ ? input_.newest->round.head.ended_at_ms : input_.made_at_ms;
}

const ScopeFigures* BoardFacts::scope_figures(std::string_view name) const noexcept {
  return is_verified_ ? input_.book->scope(name) : nullptr;
}

const TargetFigures* BoardFacts::figures(std::string_view target) const noexcept {
  return is_verified_ ? input_.book->target(target) : nullptr;
}

ShownLevel BoardFacts::scope(std::string_view name, Reading reading) const {
  if (!is_verified_) return {Level::unknown, Evidence::unverified, 0};
  const ScopeFigures* const found = scope_figures(name);
  if (reading == Reading::stale) {
    return {Level::unknown, Evidence::stale, found == nullptr ? 0 : found->observed_at_ms};
  }
  if (found == nullptr) return {};
  return {found->level, found->evidence, found->observed_at_ms};
}

ShownLevel BoardFacts::target(const Target& target, Reading reading) const {
  if (!is_verified_) return {Level::unknown, Evidence::unverified, 0};
  const TargetFigures* const found = figures(target.name);
  const bool has_look = found != nullptr && found->last.has_value();
  const std::int64_t at_ms = has_look ? found->last->at_ms : 0;
  if (reading == Reading::stale) return {Level::unknown, Evidence::stale, at_ms};
  if (!has_look) return {};
  if (!is_fresh(target, at_ms)) return {Level::unknown, Evidence::stale, at_ms};
  return {found->level, Evidence::current, at_ms};
}

bool BoardFacts::is_fresh(const Target& target, std::int64_t at_ms) const noexcept {
  return believed_until_ms(target, at_ms) > as_of_ms();
}

std::int64_t BoardFacts::believed_until_ms(const Target& target,
                                           std::int64_t at_ms) const noexcept {
  if (target.monitoring == MonitoringClass::manual) return at_ms + manual_holds_ms;
  return fresh_until_ms(at_ms, target.interval_ms, input_.targets.round_ms);
}

// 0: no look at the target is fresh.
std::int64_t BoardFacts::believed_until_ms(const Target& target) const noexcept {
  const TargetFigures* const found = figures(target.name);
  if (found == nullptr) return 0;
  if (target.kind == TargetKind::traffic) {
    const bool counts = found->traffic && !found->traffic->is_thin;
    return counts ? believed_until_ms(target, as_of_ms()) : 0;
  }
  return found->last ? believed_until_ms(target, found->last->at_ms) : 0;
}

std::int64_t BoardFacts::of(const Times& times, std::string_view name) const noexcept {
  const auto found = times.find(name);
  return found == times.end() ? valid_until_ms_ : found->second;
}

std::int64_t BoardFacts::valid_until_ms_of_provider(std::string_view key) const noexcept {
  return of(of_providers_, key);
}

std::int64_t BoardFacts::valid_until_ms_of_operation(std::string_view name) const noexcept {
  return of(of_operations_, name);
}

const std::vector<const Segment*>& BoardFacts::days_of(std::string_view scope) const noexcept {
  static const std::vector<const Segment*> none;
  const auto found = days_.find(scope);
  return found == days_.end() ? none : found->second;
}

BoardDocument BoardFacts::document(std::int64_t valid_until_ms, const Write& write) const {
  BoardDocument made{write(Reading::found), {}, valid_until_ms};
  // An unverified document already says unknown, until the next round.
  made.stale = is_verified_ ? write(Reading::stale) : made.current;
  return made;
}

}  // namespace turnpike::status
