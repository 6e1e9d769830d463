// Citations: the files and the headings of pages that a comment or a page names. A name counts as a
// citation if it looks like a file of this project: it has an extension of its sources and pages,
// or begins with one of its folders. Code blocks of pages are not read, since they show examples.
// Any Thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/source_tree.h"

namespace turnpike::tidy {

struct Citation {
  int line = 0;
  std::string target;        // as written
  std::string heading = {};  // in the page `target`; empty: the whole file
  bool is_link = false;      // a Markdown link, relative to the page's folder
};

// The citations of a file in one of the project's languages. The language follows from its name, or
// from its first line if the name has no extension.
std::vector<Citation> citations_of(const SourceFile& file);

// The project's files and folders, and the headings of its pages.
class Shelf {
 public:
  // `paths`: all files and folders.
  explicit Shelf(const std::set<std::string>& paths);

  // Why the citation leads nowhere, or "". `from` is the path of the citing file.
  [[nodiscard]] std::string fault_of(const Citation& citation, std::string_view from) const;

 private:
  [[nodiscard]] bool has_name(std::string_view name) const;

  std::set<std::string> paths_;
  std::set<std::string> names_;  // every path and path suffix, also without extension
};

// The headings of a page, without their marks.
std::set<std::string> headings_of(const std::vector<std::string>& lines);

}  // namespace turnpike::tidy
