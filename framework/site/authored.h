// Authored: the pages and posts of site/ and of the overlay, except those that the overlay removes:
// their front matter, and the Markdown behind it with its live parts still unfilled (site/README.md
// has the syntax). Problems are reported with file and line.
//
// Made at start or reload with its Site; immutable; any Thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "registry/compile.h"
#include "site/frame.h"

namespace turnpike::site {

// Files by their names below a folder, each with its location for messages.
struct SiteFile {
  std::string text;
  std::string place;
  bool is_of_overlay = false;
  bool replaces = false;  // replaces a file of the release
};
using SiteFiles = std::map<std::string, SiteFile>;

using Problems = std::vector<registry::Problem>;

// What a page of the overlay removes: the page at its path, or also the release's pages below it.
enum class Removal : std::uint8_t { none, page, all };

struct AuthoredPage {
  std::string path;   // "/pricing"; empty: the common page of providers
  std::string place;  // name of the file
  std::string title;
  std::string description;
  std::string layout = "page.html";
  std::string updated = {};  // "2026-11-24"
  std::string label = {};    // in the menu; empty: not in the menu
  std::int64_t order = 0;    // in the menu
  std::string foot_label = {};  // in the footer; empty: not there
  std::int64_t foot_order = 0;  // in the footer
  bool is_indexed = true;
  bool is_post = false;
  bool is_of_overlay = false;
  Removal removal = Removal::none;
  std::string markdown = {};
  int first_line = 1;  // of `markdown` in the file
};

class Authored {
 public:
  // Without pages and posts.
  Authored() = default;
  // Adds mistakes to `problems`; a page with a mistake is left out.
  Authored(const SiteFiles& pages, const SiteFiles& posts, Problems& problems);

  // Null: there is no such page. `path`: as in AuthoredPage.
  [[nodiscard]] const AuthoredPage* find(std::string_view path) const noexcept;
  // The page of a provider without a page of its own; null: there is none.
  [[nodiscard]] const AuthoredPage* of_provider() const noexcept {
    return of_provider_.markdown.empty() ? nullptr : &of_provider_;
  }
  [[nodiscard]] const std::map<std::string, AuthoredPage, std::less<>>& pages() const noexcept {
    return pages_;
  }
  // Whether the overlay removed the page at that path.
  [[nodiscard]] bool is_removed(std::string_view path) const noexcept {
    return removed_.contains(path);
  }
  // Newest first.
  [[nodiscard]] const std::vector<const AuthoredPage*>& posts() const noexcept { return posts_; }
  // The menu at the top of every page. `path`: of the current page.
  [[nodiscard]] std::vector<Link> menu(std::string_view path) const;
  // The links in the footer of every page.
  [[nodiscard]] std::vector<Link> foot() const;

 private:
  void add(AuthoredPage page, Problems& problems);
  void take(const SiteFile& file, AuthoredPage page, Problems& problems);
  void remove();

  std::map<std::string, AuthoredPage, std::less<>> pages_;
  AuthoredPage of_provider_;
  std::vector<AuthoredPage> removals_;  // until they are applied
  std::set<std::string, std::less<>> removed_;
  std::vector<const AuthoredPage*> posts_;
  std::vector<const AuthoredPage*> menu_;
  std::vector<const AuthoredPage*> foot_;
};

// Calls `fill` for each value and live part of the Markdown, and replaces it by the result; the
// other text stays unchanged. Problems are at lines of `markdown`, from 1.
struct Piece {
  std::string_view name;     // of a value: "site", "fill"; of a part: "prices"
  std::string_view options;  // text behind the name: "the court", "provider=govdata"
  bool is_part = false;
  bool is_in_code = false;   // shown verbatim, so it is not escaped
  int line = 0;
};
class PieceFiller {
 public:
  virtual ~PieceFiller() = default;
  virtual std::string fill(const Piece& piece) = 0;
  virtual void fault(int line, std::string message) = 0;
};
std::string filled(std::string_view markdown, PieceFiller& filler);

}  // namespace turnpike::site
