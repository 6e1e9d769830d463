// AuthoredPages: the pages and posts of site/ as a source of pages, with values and live parts
// filled in; and the check of these pages.
//
// Owned by app/, outlives the hosts; stateless but for its settings; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "site/live_parts.h"
#include "site/page_source.h"

namespace turnpike::site {

class AuthoredPages final : public PageSource {
 public:
  explicit AuthoredPages(LiveSettings settings) : settings_(settings) {}

  [[nodiscard]] std::optional<MarkdownPage> find(const Site& site, const Facts& facts,
                                                 std::string_view path) const override;
  [[nodiscard]] std::string moved_to(const Facts& facts, std::string_view path) const override;
  [[nodiscard]] std::vector<MarkdownPage> list(const Site& site, const Facts& facts) const override;

 private:
  const LiveSettings settings_;
};

// Whether the page at that path is negotiated by Accept.
bool is_negotiated_path(std::string_view path) noexcept;

// Returns the mistakes of pages: unknown layouts, values, live parts and options, and dead links
// within the site.
Problems problems_of(const Site& site);
// Returns the links of pages to products and into the directory that are dead with this program. A
// reload does not check them, since the set of providers changes independently of the pages.
Problems dead_links_to_catalog(const Site& site, const registry::Program& program);
// Returns the values that the operator must still set in the pages of this site.
Problems unfilled_marks(const Site& site);

}  // namespace turnpike::site
