// The project's sources as the tidy tests read them: files, their lines, and their text with
// comments and literals replaced by spaces, so that a rule never matches a word in a string. Any
// Thread.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::tidy {

struct SourceFile {
  std::string path;                // relative to the project, with '/'
  std::vector<std::string> lines;  // unchanged
  std::string code;                // same length and line breaks; comments and literals are spaces
};

// All files with these extensions below the given folders of the project ("": everything). `code`
// is correct for C++ only.
std::vector<SourceFile> read_tree(const std::vector<std::string>& folders,
                                  const std::set<std::string>& extensions = {".h", ".cpp"});

// All files and folders of the project, relative to it, without builds and installed packages.
std::set<std::string> paths_of_tree();

struct Include {
  int line = 0;
  bool quoted = false;  // "..." rather than <...>
  std::string target;
};
std::vector<Include> includes_of(const SourceFile& file);

struct Function {
  int first_line = 0;  // the line of its opening brace
  int last_line = 0;
};
std::vector<Function> functions_of(const SourceFile& file);

// `text` with comments and string and character literals (also raw ones) replaced by spaces.
std::string blank_literals(std::string_view text);

// `text` with everything except the text of its comments replaced by spaces.
std::string blank_code(std::string_view text);

}  // namespace turnpike::tidy
