#include "app/services/console_feed.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "app/kept_programs.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using hosts::operators::ProgramChanges;
using hosts::operators::RegistryNews;
using hosts::operators::TouchedRoute;
using hosts::operators::UpstreamNow;
using registry::Operation;
using registry::Program;
using registry::Route;

std::vector<std::string> texts_of(const std::vector<registry::Problem>& problems) {
  std::vector<std::string> texts;
  for (const registry::Problem& problem : problems) texts.push_back(problem.text());
  return texts;
}

base::Error not_kept(std::string_view generation_id, std::string_view why) {
  return {base::ErrorCode::request_not_found, "The generation '" + std::string(generation_id) +
                                                  "' cannot be compared: " + std::string(why)};
}

// Returns "3 Credits, price acme.standard version 2", or "no price".
std::string price_text(const Program& program, const Operation& operation) {
  if (!operation.price) return "no price";
  const registry::Price& price = program.prices()[*operation.price];
  return text::credits_text(price.credit_cost) + " (" + price.policy_key + " version " +
         std::to_string(price.version) + ")";
}

std::map<std::string, std::string> prices_of(const Program& program, const Route& route) {
  std::map<std::string, std::string> prices;
  for (const std::uint32_t index : route.operations) {
    const Operation& operation = program.operations()[index];
    prices[std::string(name_of(operation.method))] = price_text(program, operation);
  }
  return prices;
}

std::string name_of_route(const Program& program, const Route& route) {
  return route.matcher.pattern + " (" + program.providers()[route.provider].key + ")";
}

// Returns the names of a section's changed entries.
std::set<std::string> changed_in(const std::vector<registry::EntryChange>& changes,
                                 std::string_view section) {
  std::set<std::string> names;
  for (const registry::EntryChange& change : changes) {
    if (change.section == section) names.insert(change.name);
  }
  return names;
}

std::string free_policy_of(const Program& program, const Route& route) {
  return route.free_policy ? program.free_policies()[*route.free_policy].policy_key : "";
}

void compare_prices(const Program& before, const Route& old, const Program& after,
                    const Route& now, std::vector<std::string>& why) {
  const auto then = prices_of(before, old);
  for (const auto& [method, price] : prices_of(after, now)) {
    const auto found = then.find(method);
    if (found == then.end()) {
      why.push_back(method + " is new: " + price);
    } else if (found->second != price) {
      why.push_back(method + ": " + found->second + ", then " + price);
    }
  }
}

}  // namespace

std::vector<TouchedRoute> touched_routes(const Program& before, const Program& after,
                                         const std::vector<registry::EntryChange>& changes) {
  const auto routes = changed_in(changes, "routes");
  const auto prices = changed_in(changes, "prices");
  const auto free_policies = changed_in(changes, "free_policies");
  std::vector<TouchedRoute> touched;
  for (const Route& now : after.routes()) {
    const Route* const old = before.find_route(now.id);
    TouchedRoute route{now.id, now.matcher.pattern, after.providers()[now.provider].key, {}};
    if (old == nullptr) {
      route.why.push_back("it is new");
    } else {
      compare_prices(before, *old, after, now, route.why);
      if (routes.contains(name_of_route(after, now))) route.why.push_back("its definition changed");
      if (route.why.empty() && std::any_of(now.operations.begin(), now.operations.end(),
                                           [&](std::uint32_t index) {
                                             const auto price = after.operations()[index].price;
                                             return price && prices.contains(
                                                                 after.prices()[*price].policy_key);
                                           })) {
        route.why.push_back("other terms of its price changed");
      }
      if (free_policies.contains(free_policy_of(after, now))) {
        route.why.push_back("its free policy changed");
      }
    }
    if (!route.why.empty()) touched.push_back(std::move(route));
  }
  for (const Route& old : before.routes()) {
    if (after.find_route(old.id) != nullptr) continue;
    touched.push_back(
        {old.id, old.matcher.pattern, before.providers()[old.provider].key, {"it is gone"}});
  }
  std::sort(touched.begin(), touched.end(), [](const TouchedRoute& one, const TouchedRoute& other) {
    return std::tie(one.path, one.id) < std::tie(other.path, other.id);
  });
  return touched;
}

std::vector<std::string> ConsoleFeed::warnings() const {
  std::vector<std::string> texts;
  for (const Warning& warning : parts_.warnings) texts.push_back(warning.text);
  return texts;
}

RegistryNews ConsoleFeed::news() const {
  const LastReload last = parts_.generations.last();
  RegistryNews news;
  news.at_ms = last.at_ms;
  news.is_refused = !last.reloaded.generation;
  news.problems = texts_of(last.reloaded.problems);
  news.notes = last.reloaded.notes;
  news.standing = parts_.serving.standing();
  if (const auto program = parts_.serving.current()) {
    news.missing_secrets = texts_of(program->service->missing_secrets());
  }
  return news;
}

std::vector<UpstreamNow> ConsoleFeed::upstreams() const {
  std::vector<UpstreamNow> upstreams;
  const auto current = parts_.serving.current();
  if (current == nullptr) return upstreams;
  const exchange::Service& service = *current->service;
  const Program& program = service.program();
  for (std::uint32_t at = 0; at < program.upstreams().size(); ++at) {
    const registry::Upstream& known = program.upstreams()[at];
    UpstreamNow now;
    now.id = known.id;
    now.provider = program.providers()[known.provider].key;
    now.plugin = known.plugin;
    now.calls = service.upstream(at).in_flight.count();
    std::set<std::string> reasons;
    for (const std::uint32_t index : known.operations) {
      const State state = service.state(program.operations()[index]);
      ++now.operations;
      if (state.condition == Condition::ready) {
        ++now.ready;
      } else if (reasons.size() < 3) {
        reasons.emplace(state.reason);
      }
    }
    now.reasons.assign(reasons.begin(), reasons.end());
    upstreams.push_back(std::move(now));
  }
  return upstreams;
}

Result<std::shared_ptr<const Program>, base::Error> ConsoleFeed::program_of(
    std::string_view generation_id) const {
  const auto current = parts_.serving.current();
  if (current != nullptr && current->view->generation().id == generation_id) {
    return std::shared_ptr<const Program>(current, &current->service->program());
  }
  const auto installed = parts_.manifest.find(generation_id);
  if (!installed.ok()) return installed.error();
  if (!*installed) return not_kept(generation_id, "it was never installed.");
  auto kept = compile_kept(parts_.manifest, **installed, parts_.registry_path,
                           {{}, exchange::lane_with_terms(parts_.lanes)});
  if (!kept.ok()) return not_kept(generation_id, kept.error().front().text());
  return kept->program;
}

Result<ProgramChanges, base::Error> ConsoleFeed::changes(std::string_view before,
                                                         std::string_view after) const {
  const auto old = program_of(before);
  if (!old.ok()) return old.error();
  const auto now = program_of(after);
  if (!now.ok()) return now.error();
  ProgramChanges changes;
  changes.entries = registry::difference(**old, **now);
  changes.routes = touched_routes(**old, **now, changes.entries);
  return changes;
}

}  // namespace turnpike::app
