#include "site/directory_index.h"

#include <algorithm>

#include "catalog/readiness.h"
#include "text/json_text.h"

namespace turnpike::site {

namespace {

void add_operation(const registry::Program& program, const registry::Operation& operation,
                   ListedProvider& listed) {
  ++listed.operations;
  if (!catalog::is_offered(program, operation)) return;
  ++listed.offered;
  const std::uint32_t cost = program.prices()[*operation.price].credit_cost;
  listed.cheapest = std::min(listed.cheapest.value_or(cost), cost);
  listed.dearest = std::max(listed.dearest.value_or(cost), cost);
  listed.is_sold_per_call = listed.is_sold_per_call || program.is_sold_per_call(operation);
  const std::uint32_t within = operation.monitoring->expect.fresh_within_seconds;
  if (within != 0 && (listed.fresh_within_seconds == 0 || within < listed.fresh_within_seconds)) {
    listed.fresh_within_seconds = within;
  }
}

void add_words(const registry::Listing& listing, std::uint32_t provider, DirectoryIndex& index) {
  index.categories[listing.category].push_back(provider);
  for (const std::string& chain : listing.chains) index.chains[chain].push_back(provider);
  for (const std::string& topic : listing.topics) index.topics[topic].push_back(provider);
}

ProviderFigures figures_in(const nlohmann::json& shown) {
  ProviderFigures figures;
  figures.status = text::text_member(shown, "status").value_or(figures.status);
  const auto traffic = shown.find("traffic");
  if (traffic == shown.end() || !traffic->is_object()) return figures;
  if (const auto good = traffic->find("good_percentage");
      good != traffic->end() && good->is_number()) {
    figures.good_percentage = good->dump();
  }
  if (const auto window = traffic->find("window_seconds");
      window != traffic->end() && window->is_number_unsigned()) {
    figures.window_seconds = window->get<std::uint64_t>();
  }
  if (const auto requests = traffic->find("requests");
      requests != traffic->end() && requests->is_number_unsigned()) {
    figures.requests = requests->get<std::uint64_t>();
  }
  return figures;
}

}  // namespace

DirectoryIndex index_of(const registry::Program& program) {
  DirectoryIndex index;
  index.providers.resize(program.providers().size());
  for (std::uint32_t at = 0; at < program.routes().size(); ++at) {
    const registry::Route& route = program.routes()[at];
    ListedProvider& listed = index.providers[route.provider];
    listed.routes.push_back(at);
    bool is_offered = false;
    for (const std::uint32_t operation : route.operations) {
      add_operation(program, program.operations()[operation], listed);
      is_offered = is_offered || catalog::is_offered(program, program.operations()[operation]);
    }
    if (is_offered && route.free_policy && !listed.free_policy) {
      listed.free_policy = route.free_policy;
    }
  }
  for (std::uint32_t at = 0; at < index.providers.size(); ++at) {
    ListedProvider& listed = index.providers[at];
    const auto pattern_of = [&](std::uint32_t route) -> const std::string& {
      return program.routes()[route].matcher.pattern;
    };
    std::sort(
        listed.routes.begin(), listed.routes.end(),
        [&](std::uint32_t one, std::uint32_t two) { return pattern_of(one) < pattern_of(two); });
    index.offered += listed.offered;
    const auto& listing = program.providers()[at].listing;
    if (listing != nullptr) add_words(*listing, at, index);
  }
  return index;
}

std::optional<std::uint32_t> provider_named(const registry::Program& program,
                                            std::string_view key) noexcept {
  const auto& providers = program.providers();
  const auto is_before = [](const registry::Provider& provider, std::string_view name) {
    return provider.key < name;
  };
  const auto found = std::lower_bound(providers.begin(), providers.end(), key, is_before);
  if (found == providers.end() || found->key != key) return std::nullopt;
  return static_cast<std::uint32_t>(found - providers.begin());
}

BoardFigures figures_of(const status::Board& board, std::int64_t now_ms) {
  BoardFigures figures;
  figures.round = board.origin().round;
  const nlohmann::json document = text::parse_json(board.gateway().at(now_ms));
  if (!document.is_object()) return figures;
  const auto providers = document.find("providers");
  if (providers == document.end() || !providers->is_array()) return figures;
  for (const nlohmann::json& shown : *providers) {
    if (const auto key = text::text_member(shown, "provider_key")) {
      figures.providers.emplace(*key, figures_in(shown));
    }
  }
  return figures;
}

std::vector<std::string> statuses_of(const status::Board* board, const registry::Route& route,
                                     std::int64_t now_ms) {
  std::vector<std::string> statuses(route.methods.size(), "unknown");
  const status::BoardDocument* const found =
      board == nullptr ? nullptr : board->operation(route.id);
  if (found == nullptr) return statuses;
  const nlohmann::json document = text::parse_json(found->at(now_ms));
  if (!document.is_object()) return statuses;
  const auto operations = document.find("operations");
  if (operations == document.end() || !operations->is_array()) return statuses;
  for (const nlohmann::json& shown : *operations) {
    const auto method = text::text_member(shown, "method");
    const auto status = text::text_member(shown, "status");
    for (std::size_t at = 0; at < route.methods.size(); ++at) {
      if (method && status && *method == name_of(route.methods[at])) statuses[at] = *status;
    }
  }
  return statuses;
}

}  // namespace turnpike::site
