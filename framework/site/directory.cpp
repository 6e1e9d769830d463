#include "site/directory.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "site/directory_pages.h"

namespace turnpike::site {

namespace {

constexpr std::string_view home_path = "/discovery";
constexpr std::string_view sources_path = "/discovery/sources";
constexpr std::string_view compare_prefix = "/discovery/compare/";
constexpr std::string_view between = "-vs-";
constexpr std::string_view word_kinds[] = {"categories", "chains", "topics"};
constexpr std::size_t comparisons_listed_max = 1'000;
constexpr std::size_t listed_for_models_max = 200;

// A page of a list, as its path names it.
struct ListedPage {
  SourceList list;
  std::size_t number = 1;
};

// Reads "2", without a leading zero; 0: `text` is not a page number.
std::size_t page_number(std::string_view text) noexcept {
  std::size_t number = 0;
  if (text.empty() || text.front() == '0') return 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// Reads a path below a list: "" is its first page, "/page/2" the second.
std::size_t page_in(std::string_view rest) noexcept {
  constexpr std::string_view page = "/page/";
  if (rest.empty()) return 1;
  return rest.starts_with(page) ? page_number(rest.substr(page.size())) : 0;
}

std::size_t count_in(const DirectoryFacts& from, const SourceList& list) noexcept {
  return list.providers == nullptr ? from.program().providers().size() : list.providers->size();
}

// Returns the list page at `path`; a first page has two paths. Nothing: there is no such page.
std::optional<ListedPage> list_at(const DirectoryFacts& from, std::string_view path) {
  if (path.starts_with(sources_path)) {
    const std::size_t number = page_in(path.substr(sources_path.size()));
    if (number == 0 || number > pages_of(from.program().providers().size())) return std::nullopt;
    return ListedPage{all_sources(from), number};
  }
  for (const std::string_view kind : word_kinds) {
    const std::string prefix = std::string(home_path) + "/" + std::string(kind) + "/";
    if (!path.starts_with(prefix)) continue;
    std::string_view word = path.substr(prefix.size());
    const std::size_t slash = std::min(word.find('/'), word.size());
    const std::size_t number = page_in(word.substr(slash));
    SourceList list = sources_under(from, kind, word.substr(0, slash));
    if (list.providers == nullptr || number == 0 || number > pages_of(list.providers->size())) {
      return std::nullopt;
    }
    return ListedPage{std::move(list), number};
  }
  return std::nullopt;
}

std::optional<std::uint32_t> source_at(const DirectoryFacts& from, std::string_view path) {
  const std::string prefix = std::string(sources_path) + "/";
  if (!path.starts_with(prefix)) return std::nullopt;
  return provider_named(from.program(), path.substr(prefix.size()));
}

bool is_comparable(const registry::Program& program, std::uint32_t one, std::uint32_t other) {
  const auto& first = program.providers()[one].listing;
  const auto& second = program.providers()[other].listing;
  return first != nullptr && second != nullptr && first->category == second->category;
}

using Pair = std::pair<std::uint32_t, std::uint32_t>;

// Returns the providers that a comparison's path names, in its order. Keys may contain the
// separator, so the first split into two keys of one category counts.
std::optional<Pair> compared_at(const registry::Program& program, std::string_view path) {
  if (!path.starts_with(compare_prefix)) return std::nullopt;
  const std::string_view names = path.substr(compare_prefix.size());
  for (std::size_t at = names.find(between); at != names.npos; at = names.find(between, at + 1)) {
    const auto one = provider_named(program, names.substr(0, at));
    const auto other = provider_named(program, names.substr(at + between.size()));
    if (one && other && *one != *other && is_comparable(program, *one, *other)) {
      return Pair{*one, *other};
    }
  }
  return std::nullopt;
}

MarkdownPage with(MarkdownPage page, std::string markdown) {
  page.markdown = std::move(markdown);
  return page;
}

MarkdownPage page_without_catalog(std::string_view path) {
  MarkdownPage page;
  page.path = path;
  page.title = "Sources of data";
  page.description = "The sources of data that can be called here.";
  page.markdown = "# Sources of data\n\nThere is no catalog in service now, so no source is known. "
                  "Try again in a minute.\n";
  page.is_indexed = false;
  return page;
}

void add_list(const DirectoryFacts& from, const SourceList& list,
              std::vector<MarkdownPage>& pages) {
  const std::size_t last = pages_of(count_in(from, list));
  for (std::size_t number = 1; number <= last; ++number) {
    pages.push_back(list_head(from, list, number));
  }
}

void add_comparisons(const DirectoryFacts& from, std::vector<MarkdownPage>& pages) {
  std::size_t count = 0;
  for (const auto& [category, providers] : from.index.categories) {
    for (std::size_t one = 0; one < providers.size(); ++one) {
      for (std::size_t other = one + 1; other < providers.size(); ++other) {
        if (count++ == comparisons_listed_max) return;
        pages.push_back(comparison_head(from, providers[one], providers[other]));
      }
    }
  }
}

}  // namespace

Directory::Directory() = default;
Directory::~Directory() = default;

std::shared_ptr<const DirectoryIndex> Directory::index(const Facts& facts) const {
  {
    const std::lock_guard lock(mutex_);
    if (index_ != nullptr && indexed_.lock() == facts.view) return index_;
  }
  auto made = std::make_shared<const DirectoryIndex>(index_of(facts.view->program()));
  const std::lock_guard lock(mutex_);
  indexed_ = facts.view;
  index_ = made;
  return made;
}

std::shared_ptr<const BoardFigures> Directory::figures(const Facts& facts) const {
  if (facts.board == nullptr) return std::make_shared<const BoardFigures>();
  const bool is_stale = facts.now_ms >= facts.board->gateway().valid_until_ms;
  {
    const std::lock_guard lock(mutex_);
    if (figures_ != nullptr && read_.lock() == facts.board && is_read_stale_ == is_stale) {
      return figures_;
    }
  }
  auto made = std::make_shared<const BoardFigures>(figures_of(*facts.board, facts.now_ms));
  const std::lock_guard lock(mutex_);
  read_ = facts.board;
  is_read_stale_ = is_stale;
  figures_ = made;
  return made;
}

std::optional<MarkdownPage> Directory::find(const Site& site, const Facts& facts,
                                            std::string_view path) const {
  if (!path.starts_with(home_path)) return std::nullopt;
  if (facts.view == nullptr) {
    if (path != home_path && path != sources_path) return std::nullopt;
    return page_without_catalog(path);
  }
  const auto indexed = index(facts);
  const auto figured = figures(facts);
  const DirectoryFacts from{facts, facts.view->program(), *indexed, *figured, site.brand().name};
  if (path == home_path) return with(home_head(from), home_markdown(from));
  if (const auto provider = source_at(from, path)) {
    return with(source_head(from, *provider), source_markdown(from, *provider));
  }
  if (const auto listed = list_at(from, path)) {
    if (path_of_page(listed->list, listed->number) != path) return std::nullopt;
    return with(list_head(from, listed->list, listed->number),
                list_markdown(from, listed->list, listed->number));
  }
  const auto pair = compared_at(from.program(), path);
  if (!pair || pair->second < pair->first) return std::nullopt;
  return with(comparison_head(from, pair->first, pair->second),
              comparison_markdown(from, pair->first, pair->second));
}

bool Directory::has(const registry::Program& program, std::string_view path) {
  const Facts none;
  const DirectoryIndex indexed = index_of(program);
  const BoardFigures unknown;
  const DirectoryFacts from{none, program, indexed, unknown, {}};
  return path == home_path || source_at(from, path) || list_at(from, path) ||
         compared_at(program, path);
}

std::string Directory::moved_to(const Facts& facts, std::string_view path) const {
  if (facts.view == nullptr || !path.starts_with(home_path)) return {};
  const auto indexed = index(facts);
  const BoardFigures none;
  const DirectoryFacts from{facts, facts.view->program(), *indexed, none, {}};
  if (source_at(from, path)) return {};
  if (const auto listed = list_at(from, path)) {
    std::string canonical = path_of_page(listed->list, listed->number);
    return canonical == path ? std::string() : canonical;
  }
  const auto pair = compared_at(from.program(), path);
  if (!pair || pair->first < pair->second) return {};
  const auto& providers = from.program().providers();
  return comparison_path(providers[pair->second], providers[pair->first]);
}

std::vector<MarkdownPage> Directory::list(const Site& site, const Facts& facts) const {
  if (facts.view == nullptr) return {};
  const auto indexed = index(facts);
  const auto figured = figures(facts);
  const DirectoryFacts from{facts, facts.view->program(), *indexed, *figured, site.brand().name};
  std::vector<MarkdownPage> pages = {home_head(from)};
  add_list(from, all_sources(from), pages);
  const std::pair<std::string_view, const ProvidersByWord*> kinds[] = {
      {"categories", &indexed->categories},
      {"chains", &indexed->chains},
      {"topics", &indexed->topics}};
  for (const auto& [kind, words] : kinds) {
    for (const auto& [word, providers] : *words) {
      add_list(from, sources_under(from, kind, word), pages);
    }
  }
  for (std::uint32_t at = 0; at < from.program().providers().size(); ++at) {
    pages.push_back(source_head(from, at));
  }
  const std::size_t for_models = std::min(pages.size(), listed_for_models_max);
  for (std::size_t at = 0; at < for_models; ++at) pages[at].section = "Directory";
  add_comparisons(from, pages);
  return pages;
}

}  // namespace turnpike::site
