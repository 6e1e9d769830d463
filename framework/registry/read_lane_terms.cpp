#include "registry/read_lane_terms.h"

#include <string>
#include <utility>

#include "registry/read_policies.h"

namespace turnpike::registry {
namespace {

LanePart part_of(const Cursor& value, std::span<const Source> sources) {
  return {&value.tree(), &value.node(), value.path(), read_plain(value, sources)};
}

std::uint32_t add_policy(const Cursor& value, std::uint32_t over, std::span<const Source> sources,
                         LaneDraft& lane) {
  lane.policies.push_back(part_of(value, sources));
  lane.over.push_back(over);
  const auto number = static_cast<std::uint32_t>(lane.policies.size());
  lane.policy_at.emplace(&value.node(), number);
  return number;
}

// Reports the mistake at the value `where` below `at`. False: there is no such value.
bool report_at(const Cursor& at, std::string_view where, const TermsMistake& mistake) {
  if (where.starts_with('.')) where.remove_prefix(1);
  if (where.empty()) {
    if (mistake.is_of_key) {
      at.report_key(Rule::lane_terms, {mistake.message});
    } else {
      at.report(Rule::lane_terms, {mistake.message});
    }
    return true;
  }
  if (where.starts_with('[')) {
    const std::size_t close = where.find(']');
    if (close == where.npos) return false;
    const auto index = decimal_integer(where.substr(1, close - 1));
    const std::vector<Cursor> items = at.items();
    if (!index || *index < 0 || static_cast<std::size_t>(*index) >= items.size()) return false;
    return report_at(items[static_cast<std::size_t>(*index)], where.substr(close + 1), mistake);
  }
  for (const Cursor& field : at.fields()) {  // keys may hold dots
    if (!where.starts_with(field.key())) continue;
    const std::string_view rest = where.substr(field.key().size());
    const bool is_whole_key = rest.empty() || rest.front() == '.' || rest.front() == '[';
    if (is_whole_key && report_at(field, rest, mistake)) return true;
  }
  return false;
}

// The part that contains the mistake; null: the lane named a part that it was not given.
const LanePart* find_part(const LaneDraft& draft, const TermsMistake& mistake) {
  switch (mistake.part) {
    case TermsMistake::Part::section:
      return draft.section ? &*draft.section : nullptr;
    case TermsMistake::Part::price:
      return mistake.index < draft.prices.size() ? &draft.prices[mistake.index] : nullptr;
    case TermsMistake::Part::policy:
      break;
  }
  const std::uint32_t number = mistake.index - 1;  // the first is the default policy
  return number < draft.policies.size() ? &draft.policies[number] : nullptr;
}

void report(const LaneDraft& draft, const TermsMistake& mistake, Problems& problems) {
  const LanePart* const part = find_part(draft, mistake);
  if (part == nullptr) {
    return problems.add(Rule::lane_terms, {no_node}, draft.word, {mistake.message});
  }
  const Cursor at(*part->tree, *part->node, part->path, problems);
  if (!report_at(at, mistake.where, mistake)) at.report(Rule::lane_terms, {mistake.message});
}

}  // namespace

void gather_section(const Cursor& root, std::span<const Source> sources, Draft& draft) {
  LaneDraft& lane = draft.lane;
  const auto section = lane.word.empty() ? std::nullopt : root.find(lane.word);
  if (!section) return;
  if (lane.section) {
    const Place first = lane.section->tree->place(*lane.section->node);
    section->report_key(Rule::duplicate_definition,
                        {"section", lane.word, root.problems().text_of(first)});
    return;
  }
  lane.section = part_of(*section, sources);
}

void gather_price(const Cursor& price, std::span<const Source> sources, std::uint32_t index,
                  Draft& draft) {
  LaneDraft& lane = draft.lane;
  const auto terms = lane.word.empty() ? std::nullopt : price.find(lane.word);
  if (!terms) return;
  lane.prices.push_back(part_of(*terms, sources));
  lane.price_of.push_back(index);
}

void gather_policies(const Cursor& root, std::span<const Source> sources, Draft& draft) {
  LaneDraft& lane = draft.lane;
  if (lane.word.empty()) return;
  std::uint32_t of_defaults = 0;
  if (const auto defaults = root.find("defaults")) {
    if (const auto policy = defaults->find(lane.word)) {
      of_defaults = add_policy(*policy, 0, sources, lane);
    }
  }
  const auto routes = root.find("routes");
  if (!routes) return;
  for (const Cursor& route : routes->items()) {
    const auto policy = route.find(lane.word);
    if (policy) static_cast<void>(add_policy(*policy, of_defaults, sources, lane));
  }
}

void read_lane_terms(const Lane& lane, Draft& draft, Problems& problems) {
  LaneDraft& gathered = draft.lane;
  std::vector<const Settings*> prices;
  for (const LanePart& part : gathered.prices) prices.push_back(&part.settings);
  std::vector<RegistryParts::Policy> policies(1);
  for (std::size_t at = 0; at < gathered.policies.size(); ++at) {
    policies.push_back({&gathered.policies[at].settings, gathered.over[at]});
  }
  auto read =
      lane.read_terms({gathered.section ? &gathered.section->settings : nullptr, prices, policies});
  if (!read.ok()) {
    return problems.add(Rule::lane_failed, {no_node}, gathered.word,
                        {gathered.word, read.error().message});
  }
  for (const TermsMistake& mistake : read->mistakes) report(gathered, mistake, problems);
  if (!read->mistakes.empty()) return;
  for (std::size_t at = 0; at < prices.size(); ++at) {
    if (gathered.price_of[at] == no_node) continue;
    LanePrice terms{std::move(read->prices[at]), gathered.word};
    draft.prices.entries()[gathered.price_of[at]].value.terms =
        std::make_shared<const LanePrice>(std::move(terms));
  }
  LaneTerms& terms = draft.lane_terms.emplace();
  terms.traits = lane.traits();
  terms.is_enabled = read->is_enabled;
  if (gathered.section) {
    terms.canonical = std::move(read->canonical);
    terms.section = std::move(gathered.section->settings);
  }
  terms.policies = std::move(read->policies);
}

}  // namespace turnpike::registry
