// Citations: the files, and the headings of pages, that a comment or a page names. A name is taken
// for a citation when it looks like a file of this project: it ends as its sources and pages do, or
// it begins with one of its folders. Code blocks of pages are not read: they show examples.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/source_tree.h"

namespace turnpike::tidy {

struct Citation {
  int line = 0;
  std::string target;        // as it is written
  std::string heading = {};  // of the page `target`; empty: the whole file is meant
  bool is_link = false;      // of Markdown: relative to the folder of the page
};

// Of a file in one of the project's languages; by its name, and by its first line where the name
// has no extension.
std::vector<Citation> citations_of(const SourceFile& file);

// The files and folders of the project, and the headings of its pages.
class Shelf {
 public:
  // `paths`: all files and folders.
  explicit Shelf(const std::set<std::string>& paths);

  // Why the citation leads nowhere; empty: it leads somewhere. `from` is the path of its file.
  [[nodiscard]] std::string fault_of(const Citation& citation, std::string_view from) const;

 private:
  [[nodiscard]] bool has_name(std::string_view name) const;

  std::set<std::string> paths_;
  std::set<std::string> names_;  // every path, every end of one, and both without extension
};

// The headings of a page, without their marks.
std::set<std::string> headings_of(const std::vector<std::string>& lines);

}  // namespace turnpike::tidy
