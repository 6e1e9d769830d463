// The pages of the directory as Markdown. Internal to site/; pure functions, any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/directory_index.h"
#include "site/page_source.h"

namespace turnpike::site {

inline constexpr std::size_t sources_on_a_page = 24;
inline constexpr std::size_t routes_on_a_page = 50;
inline constexpr std::size_t words_on_a_page = 60;  // of each: categories, chains, topics

// The inputs of the pages. All outlive the call.
struct DirectoryFacts {
  const Facts& facts;
  const registry::Program& of;
  const DirectoryIndex& index;
  const BoardFigures& figures;
  std::string_view site_name;

  [[nodiscard]] const registry::Program& program() const noexcept { return of; }
};

// A paged list of sources: all, or those under one word.
struct SourceList {
  std::string path;  // of the first page
  std::string title;
  std::string description;
  std::string lead = {};  // Markdown below the heading
  const std::vector<std::uint32_t>* providers = nullptr;  // null: all
};

// The number of pages of a list, at least 1.
std::size_t pages_of(std::size_t sources) noexcept;
std::string path_of_page(const SourceList& list, std::size_t number);

SourceList all_sources(const DirectoryFacts& from);
// `kind`: "categories", "chains" or "topics"; `providers` null in the result: there is no such
// word.
SourceList sources_under(const DirectoryFacts& from, std::string_view kind, std::string_view word);

// Texts of a provider for titles and descriptions, as plain text.
std::string plain_name(const registry::Provider& provider);
std::string source_path(const registry::Provider& provider);
std::string comparison_path(const registry::Provider& one, const registry::Provider& other);

// Title, description and path; the functions below add the Markdown.
MarkdownPage home_head(const DirectoryFacts& from);
MarkdownPage list_head(const DirectoryFacts& from, const SourceList& list, std::size_t number);
MarkdownPage source_head(const DirectoryFacts& from, std::uint32_t provider);
MarkdownPage comparison_head(const DirectoryFacts& from, std::uint32_t one, std::uint32_t other);

std::string home_markdown(const DirectoryFacts& from);
std::string list_markdown(const DirectoryFacts& from, const SourceList& list, std::size_t number);
std::string source_markdown(const DirectoryFacts& from, std::uint32_t provider);
std::string comparison_markdown(const DirectoryFacts& from, std::uint32_t one,
                                std::uint32_t other);

}  // namespace turnpike::site
