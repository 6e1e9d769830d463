// PageSource: pages that are Markdown with their live parts filled in. The bytes of a page are what
// its path with ".md" answers, and the HTML form is made of the same bytes, so the two cannot
// differ. The files of site/ are one source, the directory of the registry's providers another.
//
// Owned by app/, outlives the hosts; any Thread. Rendering takes time: it is done on the pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "site/facts.h"
#include "site/site.h"

namespace turnpike::site {

struct MarkdownPage {
  std::string path;         // of the HTML form: "/pricing"
  std::string title;
  std::string description;  // one sentence
  std::string markdown;     // with its heading; live parts filled in
  std::string layout = "page.html";
  std::string updated = {};  // "2026-11-24"; empty: it is made of what is installed
  bool is_indexed = true;    // false: search engines and sitemap leave it out
  bool is_negotiated = false;  // whether Accept chooses its form (docs/decisions.md, "Pages")
  std::string section = {};    // of llms.txt: "Docs", "Directory"; empty: not listed there
  // Paths of the pages before and after it in a list of several; empty: there is none.
  std::string previous = {};
  std::string next = {};
};

class PageSource {
 public:
  virtual ~PageSource() = default;
  // Nothing: this source has no such page. `path` has no ".md".
  [[nodiscard]] virtual std::optional<MarkdownPage> find(const Site& site, const Facts& facts,
                                                         std::string_view path) const = 0;
  // Where an old or another path of a page leads (308); empty: nowhere.
  [[nodiscard]] virtual std::string moved_to(const Facts& facts, std::string_view path) const = 0;
  // All pages without their Markdown, for the sitemap and llms.txt, in a fixed order.
  [[nodiscard]] virtual std::vector<MarkdownPage> list(const Site& site,
                                                       const Facts& facts) const = 0;
};

}  // namespace turnpike::site
