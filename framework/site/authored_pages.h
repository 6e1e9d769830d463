// AuthoredPages: the pages and posts of site/ as a source of pages, their values and live parts
// filled in; and what is wrong with them.
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

// Whether Accept chooses the form of the page at that path.
bool is_negotiated_path(std::string_view path) noexcept;

// Whatever a page holds that cannot be: layouts, values, live parts and options that there are not,
// links within the site that lead nowhere.
Problems problems_of(const Site& site);
// Links of pages to products and into the directory that lead nowhere once this program is
// installed. A reload does not ask: what providers there are changes without the pages.
Problems dead_links_to_catalog(const Site& site, const registry::Program& program);
// What the operator must still say in the pages of this site.
Problems unfilled_marks(const Site& site);

}  // namespace turnpike::site
