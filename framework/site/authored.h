// Authored: the pages and posts of site/ and the overlay, read, without those that it removes:
// their front matter, and the Markdown behind it with its live parts still as they were written
// (site/README.md has the syntax). What is wrong is told with file and line.
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

// Files by their names below a folder, with where each was found, for messages.
struct SiteFile {
  std::string text;
  std::string place;
  bool is_of_overlay = false;
  bool replaces = false;  // a file of ours
};
using SiteFiles = std::map<std::string, SiteFile>;

using Problems = std::vector<registry::Problem>;

// What a page of the overlay takes away: its own page, or also ours below it.
enum class Removal : std::uint8_t { none, page, all };

struct AuthoredPage {
  std::string path;   // "/pricing"; of the page that providers have in common: empty
  std::string place;  // the file
  std::string title;
  std::string description;
  std::string layout = "page.html";
  std::string updated = {};  // "2026-11-24"
  std::string label = {};    // in the menu; empty: it is not there
  std::int64_t order = 0;    // there
  std::string foot_label = {};  // at the foot of every page; empty: it is not there
  std::int64_t foot_order = 0;  // there
  bool is_indexed = true;
  bool is_post = false;
  bool is_of_overlay = false;
  Removal removal = Removal::none;
  std::string markdown = {};
  int first_line = 1;  // of `markdown` in the file
};

class Authored {
 public:
  // Empty: there is none.
  Authored() = default;
  // Adds to `problems` what is wrong; a page with a mistake is left out.
  Authored(const SiteFiles& pages, const SiteFiles& posts, Problems& problems);

  // Null: there is none. A path as in AuthoredPage.
  [[nodiscard]] const AuthoredPage* find(std::string_view path) const noexcept;
  // The page of a provider that has none of its own; null: there is none.
  [[nodiscard]] const AuthoredPage* of_provider() const noexcept {
    return of_provider_.markdown.empty() ? nullptr : &of_provider_;
  }
  [[nodiscard]] const std::map<std::string, AuthoredPage, std::less<>>& pages() const noexcept {
    return pages_;
  }
  // Whether the overlay took away the page at that path.
  [[nodiscard]] bool is_removed(std::string_view path) const noexcept {
    return removed_.contains(path);
  }
  // The newest first.
  [[nodiscard]] const std::vector<const AuthoredPage*>& posts() const noexcept { return posts_; }
  // At the top of every page. `path`: of the page that is shown.
  [[nodiscard]] std::vector<Link> menu(std::string_view path) const;
  // The pages that every page links to at its foot.
  [[nodiscard]] std::vector<Link> foot() const;

 private:
  void add(AuthoredPage page, Problems& problems);
  void take(const SiteFile& file, AuthoredPage page, Problems& problems);
  void remove();

  std::map<std::string, AuthoredPage, std::less<>> pages_;
  AuthoredPage of_provider_;
  std::vector<AuthoredPage> removals_;  // until they are made
  std::set<std::string, std::less<>> removed_;
  std::vector<const AuthoredPage*> posts_;
  std::vector<const AuthoredPage*> menu_;
  std::vector<const AuthoredPage*> foot_;
};

// What a value or a live part stands for is asked of `fill`; the rest of the Markdown stays as it
// is. Its problems are at lines of `markdown`, from 1.
struct Piece {
  std::string_view name;     // of a value: "site", "fill"; of a part: "prices"
  std::string_view options;  // behind it: "the court", "provider=govdata"
  bool is_part = false;
  bool is_in_code = false;   // shown as it is, so nothing in it is escaped
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
