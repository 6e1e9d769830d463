// PageSource: pages that are Markdown with their live parts filled in. The path with ".md" answers
// exactly these bytes, and the HTML form is rendered from them, so the two cannot differ. The files
// of site/ are one source, the directory of the registry's providers another.
//
// Owned by app/, outlives the hosts; any Thread. Rendering is slow, so it is done on the pool.
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
  std::string markdown;     // with its heading and filled live parts
  std::string layout = "page.html";
  std::string updated = {};  // "2026-11-24"; empty: follows from the installed program
  bool is_indexed = true;    // false: search engines and sitemap leave it out
  bool is_negotiated = false;  // whether Accept chooses its form (docs/decisions.md, "Pages")
  std::string section = {};    // of llms.txt: "Docs", "Directory"; empty: not listed
  // Paths of the neighbours in a paged list; empty: there is none.
  std::string previous = {};
  std::string next = {};
};

class PageSource {
 public:
  virtual ~PageSource() = default;
  // Nothing: this source has no such page. `path`: without ".md".
  [[nodiscard]] virtual std::optional<MarkdownPage> find(const Site& site, const Facts& facts,
                                                         std::string_view path) const = 0;
  // Returns the current path for an old or alternative path (308); empty: there is none.
  [[nodiscard]] virtual std::string moved_to(const Facts& facts, std::string_view path) const = 0;
  // All pages without their Markdown, for the sitemap and llms.txt, in a fixed order.
  [[nodiscard]] virtual std::vector<MarkdownPage> list(const Site& site,
                                                       const Facts& facts) const = 0;
};

}  // namespace turnpike::site
