#include "site/directory_pages.h"

#include <algorithm>
#include <utility>

#include "catalog/readiness.h"
#include "site/markdown.h"
#include "site/terms_text.h"

namespace turnpike::site {

namespace {

constexpr std::string_view nothing = "–";

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!is_blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

// URLs from the registry conform to RFC 3986, so they contain no "<" or ">"; "&", which Markdown
// could read as an entity, is escaped.
std::string link(const std::string& text, std::string_view url) {
  std::string destination;
  for (const char c : url) {
    destination += c;
    if (c == '&') destination += "amp;";
  }
  return "[" + text + "](<" + destination + ">)";
}

std::string name_of_provider(const registry::Provider& provider) {
  return escaped_markdown(plain_name(provider));
}

std::string linked(const registry::Provider& provider) {
  return "[" + name_of_provider(provider) + "](" + source_path(provider) + ")";
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return grouped(count) + " " + std::string(count == 1 ? one : many);
}

std::string status_words(std::string_view status) {
  return status == "major_outage" ? "major outage" : std::string(status);
}

const ProviderFigures& figures_of_provider(const DirectoryFacts& from, std::uint32_t provider) {
  static const ProviderFigures unknown;
  const auto found = from.figures.providers.find(from.program().providers()[provider].key);
  return found == from.figures.providers.end() ? unknown : found->second;
}

std::string or_per_call(const registry::LaneTerms& lane) {
  return ", or per call by " + std::string(lane.traits.name);
}

std::string price_of(const DirectoryFacts& from, const ListedProvider& listed) {
  if (!listed.cheapest) return "not for sale now";
  std::string text = credits_text(*listed.cheapest, *listed.dearest);
  const registry::LaneTerms* const lane = from.program().lane_terms();
  if (lane != nullptr && listed.is_sold_per_call) text += or_per_call(*lane);
  return text;
}

std::string free_of(const DirectoryFacts& from, std::optional<std::uint32_t> policy) {
  if (!policy || !from.facts.view->features().free_lane) return std::string(nothing);
  return free_text(from.program().free_policies()[*policy]);
}

std::string freshness_of(std::uint32_t within_seconds) {
  if (within_seconds == 0) return std::string(nothing);
  return "within " + duration_text(within_seconds);
}

std::string good_calls_of(const ProviderFigures& figures) {
  if (figures.good_percentage.empty()) return "too few calls to say";
  std::string text = figures.good_percentage + " %";
  if (figures.requests) {
    text += " of " + text::counted(static_cast<std::int64_t>(*figures.requests), "call");
  }
  if (figures.window_seconds != 0) text += " in " + duration_text(figures.window_seconds);
  return text;
}

void add_row(std::string& out, std::initializer_list<std::string_view> cells) {
  out += '|';
  for (const std::string_view cell : cells) out.append(" ").append(cell).append(" |");
  out += '\n';
}

// ---- words

struct Words {
  std::string_view kind;  // the segment in the path
  std::string_view heading;
  std::string_view column;
  const ProvidersByWord& words;
};

std::string word_path(std::string_view kind, std::string_view word) {
  return "/discovery/" + std::string(kind) + "/" + std::string(word);
}

// The words of paths have no special characters of Markdown within a line.
std::string linked_word(std::string_view kind, std::string_view word) {
  return "[" + std::string(word) + "](" + word_path(kind, word) + ")";
}

std::string linked_words(std::string_view kind, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += linked_word(kind, word);
  }
  return text;
}

void add_words(std::string& out, const Words& of) {
  if (of.words.empty()) return;
  out.append("\n## ").append(of.heading).append("\n\n");
  add_row(out, {of.column, "Sources"});
  out += "|---|---:|\n";
  std::size_t shown = 0;
  for (const auto& [word, providers] : of.words) {
    if (shown++ == words_on_a_page) break;
    add_row(out, {linked_word(of.kind, word), grouped(providers.size())});
  }
  if (of.words.size() > words_on_a_page) {
    out += "\nAnd " + grouped(of.words.size() - words_on_a_page) +
           " more: each stands with its [sources](/discovery/sources).\n";
  }
}

// ---- lists of sources

void add_sources(std::string& out, const DirectoryFacts& from,
                 const std::vector<std::uint32_t>& providers) {
  add_row(out, {"Source", "Category", "Operations", "Price", "Free", "Fresh", "Status"});
  out += "|---|---|---:|---|---|---|---|\n";
  for (const std::uint32_t at : providers) {
    const registry::Provider& provider = from.program().providers()[at];
    const ListedProvider& listed = from.index.providers[at];
    const std::string category =
        provider.listing == nullptr ? std::string(nothing)
                                    : linked_word("categories", provider.listing->category);
    add_row(out, {linked(provider), category, grouped(listed.offered), price_of(from, listed),
                  free_of(from, listed.free_policy), freshness_of(listed.fresh_within_seconds),
                  status_words(figures_of_provider(from, at).status)});
  }
}

std::vector<std::uint32_t> providers_on(const DirectoryFacts& from, const SourceList& list,
                                        std::size_t number) {
  const std::size_t count =
      list.providers == nullptr ? from.program().providers().size() : list.providers->size();
  const std::size_t begin = (number - 1) * sources_on_a_page;
  std::vector<std::uint32_t> shown;
  for (std::size_t at = begin; at < std::min(begin + sources_on_a_page, count); ++at) {
    shown.push_back(list.providers == nullptr ? static_cast<std::uint32_t>(at)
                                              : (*list.providers)[at]);
  }
  return shown;
}

// Returns the headline of the first page: how many sources work.
std::string judgement(const DirectoryFacts& from) {
  const auto count = static_cast<std::uint32_t>(from.program().providers().size());
  std::uint32_t working = 0;
  for (std::uint32_t at = 0; at < count; ++at) {
    if (figures_of_provider(from, at).status == "operational") ++working;
  }
  if (count == 0) return "There are no sources yet";
  if (from.figures.round == 0) return counted(count, "source of data", "sources of data");
  if (count == 1 && working == 1) return "The one source works";
  if (working == count) return "All " + grouped(count) + " sources work";
  return grouped(working) + " of " + grouped(count) + " sources work";
}

constexpr std::string_view for_machines =
    "\n## For agents\n\n"
    "- [agent-capabilities.json](/discovery/agent-capabilities.json): each operation that can be "
    "called now, with its input schema, its price and its limits\n"
    "- [agent-capabilities.schema.json](/discovery/agent-capabilities.schema.json): the schema of "
    "that document\n";

// ---- one source

void add_fact(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) out.append("- ").append(name).append(": ").append(value).append("\n");
}

void add_listing(std::string& out, const registry::Listing& listing) {
  add_fact(out, "Category", linked_word("categories", listing.category));
  add_fact(out, "Chains", linked_words("chains", listing.chains));
  add_fact(out, "Topics", linked_words("topics", listing.topics));
  const registry::ListingSource& source = listing.source;
  const std::string name = escaped_markdown(one_line(source.name));
  add_fact(out, "Data from", source.url.empty() ? name : link(name, source.url));
  add_fact(out, "Licence", escaped_markdown(one_line(source.licence)));
  add_fact(out, "Listing looked over", source.updated);
}

std::string evidence_of(const DirectoryFacts& from) {
  if (from.figures.round == 0) return {};
  const std::string round = "round " + std::to_string(from.figures.round);
  if (from.facts.urls.api.empty()) return round;
  return link(round, from.facts.urls.api + "/v1/status/evidence?from_round=" +
                         std::to_string(from.figures.round));
}

std::string operation_text(const DirectoryFacts& from, const registry::Route& route,
                           std::size_t method) {
  const std::string text =
      code_text(std::string(name_of(route.methods[method])) + " " + route.matcher.pattern);
  if (from.facts.urls.api.empty()) return text;
  return link(text, from.facts.urls.api + "/v1/capabilities/" + route.id);
}

void add_operation(std::string& out, const DirectoryFacts& from, const registry::Route& route,
                   std::size_t method, std::string_view status) {
  const registry::Program& program = from.program();
  const registry::Operation& operation = program.operations()[route.operations[method]];
  std::string price = "not for sale";
  if (operation.price) price = credits_text(program.prices()[*operation.price].credit_cost);
  if (operation.price && program.is_sold_per_call(operation)) {
    price += or_per_call(*program.lane_terms());
  }
  // A blocked operation keeps its terms, as in the catalog; its state is shown beside them.
  const std::string free = free_of(from, route.free_policy);
  std::string free_of_charge = no_charge_text(operation.no_charge_when);
  if (free_of_charge.empty()) free_of_charge = nothing;
  std::string state = status_words(status);
  if (!route.readiness.ready) {
    state = "blocked: " + escaped_markdown(one_line(route.readiness.reason));
  }
  const std::string summary = escaped_markdown(one_line(operation.summary));
  add_row(out, {operation_text(from, route, method), summary, price, free,
                freshness_of(operation.monitoring->expect.fresh_within_seconds), free_of_charge,
                state});
}

void add_operations(std::string& out, const DirectoryFacts& from, std::uint32_t provider) {
  const ListedProvider& listed = from.index.providers[provider];
  if (listed.routes.empty()) {
    out += "\nIt has no operations now.\n";
    return;
  }
  out += "\n## Operations\n\n";
  add_row(out,
          {"Operation", "What it does", "Price", "Free", "Fresh", "Not charged when", "Status"});
  out += "|---|---|---|---|---|---|---|\n";
  const std::size_t shown = std::min(listed.routes.size(), routes_on_a_page);
  for (std::size_t at = 0; at < shown; ++at) {
    const registry::Route& route = from.program().routes()[listed.routes[at]];
    const auto statuses = statuses_of(from.facts.board.get(), route, from.facts.now_ms);
    for (std::size_t method = 0; method < route.methods.size(); ++method) {
      add_operation(out, from, route, method, statuses[method]);
    }
  }
  if (listed.routes.size() == shown) return;
  const std::size_t hidden = listed.routes.size() - shown;
  const std::string more =
      "And " + grouped(hidden) + (hidden == 1 ? " more route" : " more routes");
  const std::string& key = from.program().providers()[provider].key;
  out += "\n" + (from.facts.urls.api.empty()
                     ? more + " in the catalog.\n"
                     : more + " " + link("in the catalog", from.facts.urls.api +
                                                               "/v1/capabilities?provider_key=" +
                                                               key) +
                           ".\n");
}

// Adds links to comparisons with other providers of the category, nearest keys first.
void add_comparisons(std::string& out, const DirectoryFacts& from, std::uint32_t provider) {
  const auto& providers = from.program().providers();
  const registry::Provider& own = providers[provider];
  if (own.listing == nullptr) return;
  const std::string& category = own.listing->category;
  const auto found = from.index.categories.find(category);
  if (found == from.index.categories.end() || found->second.size() < 2) return;
  out += "\n## Compared with others\n\n";
  const std::vector<std::uint32_t>& peers = found->second;
  const auto own_place = std::lower_bound(peers.begin(), peers.end(), provider);
  const auto place = static_cast<std::size_t>(own_place - peers.begin());
  constexpr std::size_t shown_max = sources_on_a_page;
  const std::size_t count = std::min(peers.size() - 1, shown_max);
  // A window of `count` others around the provider.
  std::size_t begin = place > count / 2 ? place - count / 2 : 0;
  begin = std::min(begin, peers.size() - 1 - count);
  for (std::size_t at = begin; at <= begin + count; ++at) {
    if (peers[at] == provider) continue;
    const registry::Provider& other = providers[peers[at]];
    const bool is_first = provider < peers[at];
    out += "- [" + name_of_provider(other) + "](" +
           comparison_path(is_first ? own : other, is_first ? other : own) + ")\n";
  }
  if (peers.size() - 1 > count) {
    out += "\nAnd " + grouped(peers.size() - 1 - count) + " more in " +
           linked_word("categories", category) + ".\n";
  }
}

// ---- comparisons

struct Column {
  const registry::Provider& provider;
  const ListedProvider& listed;
  const ProviderFigures& figures;
};

Column column_of(const DirectoryFacts& from, std::uint32_t provider) {
  return {from.program().providers()[provider], from.index.providers[provider],
          figures_of_provider(from, provider)};
}

// Returns the conditions under which offered operations are free although they succeed, each once.
std::string not_charged(const DirectoryFacts& from, const ListedProvider& listed) {
  registry::NoCharges all;
  const std::size_t looked_at = std::min(listed.routes.size(), routes_on_a_page);
  for (std::size_t at = 0; at < looked_at; ++at) {
    for (const std::uint32_t index : from.program().routes()[listed.routes[at]].operations) {
      const registry::Operation& operation = from.program().operations()[index];
      if (catalog::is_offered(from.program(), operation)) {
        all = registry::joined(all, operation.no_charge_when);
      }
    }
  }
  constexpr std::size_t conditions_shown_max = 6;
  const bool is_cut = all.size() > conditions_shown_max || listed.routes.size() > looked_at;
  if (all.size() > conditions_shown_max) all.resize(conditions_shown_max);
  std::string text = no_charge_text(all);
  if (text.empty()) return std::string(nothing);
  return text + (is_cut ? "; and more" : "");
}

template <class Cell>
void add_compared(std::string& out, std::string_view name, const Column& one, const Column& other,
                  Cell cell) {
  const auto shown = [&](const Column& column) {
    std::string text = cell(column);
    return text.empty() ? std::string(nothing) : text;
  };
  add_row(out, {name, shown(one), shown(other)});
}

void add_comparison(std::string& out, const DirectoryFacts& from, const Column& one,
                    const Column& other) {
  const auto row = [&](std::string_view name, auto cell) {
    add_compared(out, name, one, other, cell);
  };
  row("Status", [](const Column& of) { return status_words(of.figures.status); });
  row("Good calls, measured", [](const Column& of) { return good_calls_of(of.figures); });
  row("Proven by", [&](const Column&) { return evidence_of(from); });
  row("Operations", [](const Column& of) { return grouped(of.listed.offered); });
  row("Price of a call", [&](const Column& of) { return price_of(from, of.listed); });
  row("Free, for each account",
      [&](const Column& of) { return free_of(from, of.listed.free_policy); });
  row("Not charged when", [&](const Column& of) { return not_charged(from, of.listed); });
  row("Fresh", [](const Column& of) { return freshness_of(of.listed.fresh_within_seconds); });
  row("Chains",
      [](const Column& of) { return linked_words("chains", of.provider.listing->chains); });
  row("Topics",
      [](const Column& of) { return linked_words("topics", of.provider.listing->topics); });
  row("Data from", [](const Column& of) {
    return escaped_markdown(one_line(of.provider.listing->source.name));
  });
  row("Licence", [](const Column& of) {
    return escaped_markdown(one_line(of.provider.listing->source.licence));
  });
  row("Listing looked over",
      [](const Column& of) { return of.provider.listing->source.updated; });
}

constexpr std::string_view what_figures_mean =
    "A call that fails costs nothing, whoever is at fault. Good calls are those of all callers "
    "that were answered as the operation declares. The figures follow from signed rounds of "
    "evidence, which anybody can check.\n";

}  // namespace

std::size_t pages_of(std::size_t sources) noexcept {
  return std::max<std::size_t>(1, (sources + sources_on_a_page - 1) / sources_on_a_page);
}

std::string path_of_page(const SourceList& list, std::size_t number) {
  return number == 1 ? list.path : list.path + "/page/" + std::to_string(number);
}

SourceList all_sources(const DirectoryFacts& from) {
  SourceList list;
  list.path = "/discovery/sources";
  list.title = "Sources of data";
  list.description = "All sources of data that can be called at " + std::string(from.site_name) +
                     ", with prices, free limits and status.";
  return list;
}

SourceList sources_under(const DirectoryFacts& from, std::string_view kind, std::string_view word) {
  const bool is_category = kind == "categories";
  const ProvidersByWord& words = is_category        ? from.index.categories
                                 : kind == "chains" ? from.index.chains
                                                    : from.index.topics;
  SourceList list;
  const auto found = words.find(word);
  if (found == words.end()) return list;
  list.providers = &found->second;
  list.path = word_path(kind, word);
  const std::string text(word);
  list.title = is_category        ? "Sources in the category " + text
               : kind == "chains" ? "Sources on the chain " + text
                                  : "Sources on the topic " + text;
  list.description = counted(found->second.size(), "source", "sources") + " of data: " +
                     (is_category ? "category " : kind == "chains" ? "chain " : "topic ") + text +
                     ", with prices, free limits and status.";
  if (is_category && found->second.size() > 1) {
    list.lead = "Each source has a page, from which it can be compared with the others here.\n\n";
  }
  return list;
}

std::string plain_name(const registry::Provider& provider) {
  std::string name = one_line(provider.name);
  return name.empty() ? provider.key : name;
}

std::string source_path(const registry::Provider& provider) {
  return "/discovery/sources/" + provider.key;
}

std::string comparison_path(const registry::Provider& one, const registry::Provider& other) {
  return "/discovery/compare/" + one.key + "-vs-" + other.key;
}

// ---- heads

MarkdownPage home_head(const DirectoryFacts& from) {
  MarkdownPage page;
  page.path = "/discovery";
  page.title = "Discovery";
  page.description = "Find data to call at " + std::string(from.site_name) +
                     ": sources by category, chain and topic, with prices, limits and status.";
  return page;
}

MarkdownPage list_head(const DirectoryFacts& from, const SourceList& list, std::size_t number) {
  const std::size_t count =
      list.providers == nullptr ? from.program().providers().size() : list.providers->size();
  const std::size_t last = pages_of(count);
  MarkdownPage page;
  page.path = path_of_page(list, number);
  page.title = list.title;
  page.description = list.description;
  if (number > 1) page.title += ", page " + std::to_string(number);
  if (number > 1) page.description += " Page " + std::to_string(number) + ".";
  if (number > 1) page.previous = path_of_page(list, number - 1);
  if (number < last) page.next = path_of_page(list, number + 1);
  return page;
}

MarkdownPage source_head(const DirectoryFacts& from, std::uint32_t provider) {
  const registry::Provider& shown = from.program().providers()[provider];
  MarkdownPage page;
  page.path = source_path(shown);
  page.title = plain_name(shown);
  page.description = shown.listing == nullptr
                         ? plain_name(shown) + ": operations, prices, free limits and status."
                         : one_line(shown.listing->description);
  return page;
}

MarkdownPage comparison_head(const DirectoryFacts& from, std::uint32_t one, std::uint32_t other) {
  const registry::Provider& first = from.program().providers()[one];
  const registry::Provider& second = from.program().providers()[other];
  MarkdownPage page;
  page.path = comparison_path(first, second);
  page.title = plain_name(first) + " and " + plain_name(second);
  page.description = page.title + " compared: measured good calls, prices, free limits, freshness.";
  return page;
}

// ---- bodies

std::string home_markdown(const DirectoryFacts& from) {
  std::string out = "# " + judgement(from) + "\n\n";
  out += counted(from.index.offered, "operation", "operations") +
         " can be called now. A call that fails costs nothing.\n";
  const DirectoryIndex& index = from.index;
  add_words(out, {"categories", "Categories", "Category", index.categories});
  add_words(out, {"chains", "Chains", "Chain", index.chains});
  add_words(out, {"topics", "Topics", "Topic", index.topics});
  const std::size_t count = from.program().providers().size();
  if (count > 0) {
    out += "\n## Sources\n\n";
    const SourceList all = all_sources(from);
    add_sources(out, from, providers_on(from, all, 1));
    out += count > sources_on_a_page ? "\nAnd " + grouped(count - sources_on_a_page) +
                                           " more: [all sources](/discovery/sources).\n"
                                     : "\n[All sources](/discovery/sources)\n";
  }
  return out.append(for_machines);
}

std::string list_markdown(const DirectoryFacts& from, const SourceList& list, std::size_t number) {
  const MarkdownPage head = list_head(from, list, number);
  std::string out = "# " + head.title + "\n\n" + list.lead;
  const auto shown = providers_on(from, list, number);
  if (shown.empty()) return out + "There are no sources yet.\n";
  add_sources(out, from, shown);
  const std::size_t count =
      list.providers == nullptr ? from.program().providers().size() : list.providers->size();
  const std::size_t first = (number - 1) * sources_on_a_page + 1;
  out += "\nSources " + grouped(first) + " to " + grouped(first + shown.size() - 1) + " of " +
         grouped(count) + ", by key.";
  if (!head.previous.empty()) out += " [Previous page](" + head.previous + ")";
  if (!head.next.empty()) out += " [Next page](" + head.next + ")";
  return out + "\n\n[Discovery](/discovery)\n";
}

std::string source_markdown(const DirectoryFacts& from, std::uint32_t provider) {
  const registry::Provider& shown = from.program().providers()[provider];
  const ProviderFigures& figures = figures_of_provider(from, provider);
  std::string out = "# " + name_of_provider(shown) + "\n\n";
  if (shown.listing != nullptr) {
    out += escaped_markdown(one_line(shown.listing->description)) + "\n\n";
    add_listing(out, *shown.listing);
  }
  add_fact(out, "Key", code_text(shown.key));
  std::string status = status_words(figures.status);
  if (const std::string evidence = evidence_of(from); !evidence.empty()) status += ", " + evidence;
  add_fact(out, "Status", status);
  add_fact(out, "Good calls, measured", good_calls_of(figures));
  if (!from.facts.urls.api.empty()) {
    add_fact(out, "Status in full",
             link("document", from.facts.urls.api + "/v1/status/gateway/providers/" + shown.key));
  }
  add_operations(out, from, provider);
  out.append("\n").append(what_figures_mean);
  add_comparisons(out, from, provider);
  return out + "\n[All sources](/discovery/sources)\n";
}

std::string comparison_markdown(const DirectoryFacts& from, std::uint32_t one,
                                std::uint32_t other) {
  const Column first = column_of(from, one);
  const Column second = column_of(from, other);
  std::string out = "# " + name_of_provider(first.provider) + " and " +
                    name_of_provider(second.provider) + "\n\n";
  add_row(out, {"What", linked(first.provider), linked(second.provider)});
  out += "|---|---|---|\n";
  add_comparison(out, from, first, second);
  out.append("\n").append(what_figures_mean);
  const std::string& category = first.provider.listing->category;
  return out + "\nBoth are in the category " + linked_word("categories", category) + ".\n";
}

}  // namespace turnpike::site
