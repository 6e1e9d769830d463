// The project's own sources as the tidy tests see them: files, their lines, and their text with
// comments and literals blanked out, so that a rule never trips over a word in a string.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::tidy {

struct SourceFile {
  std::string path;                // relative to the project, with '/'
  std::vector<std::string> lines;  // as they stand
  std::string code;                // same length and line breaks; comments and literals are blanks
};

// All files with these extensions below the given folders of the project ("": all of it). `code` is
// good for C++.
std::vector<SourceFile> read_tree(const std::vector<std::string>& folders,
                                  const std::set<std::string>& extensions = {".h", ".cpp"});

// Every file and folder of the project, relative to it; no builds and no installed packages.
std::set<std::string> paths_of_tree();

struct Include {
  int line = 0;
  bool quoted = false;  // "..." and not <...>
  std::string target;
};
std::vector<Include> includes_of(const SourceFile& file);

struct Function {
  int first_line = 0;  // of its opening brace
  int last_line = 0;
};
std::vector<Function> functions_of(const SourceFile& file);

// `text` with comments, string and character literals (raw ones too) replaced by blanks.
std::string blank_literals(std::string_view text);

// `text` with everything but the words of its comments replaced by blanks.
std::string blank_code(std::string_view text);

}  // namespace turnpike::tidy
