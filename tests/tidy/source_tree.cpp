#include "tidy/source_tree.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "support/paths.h"

namespace turnpike::tidy {
namespace {

namespace fs = std::filesystem;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Replaces [from, to) by spaces but keeps line breaks.
void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) {
    if (text[at] != '\n') text[at] = ' ';
  }
}

// The end of the raw literal whose opening quote is at `quote`.
std::size_t raw_end(const std::string& text, std::size_t quote) {
  const std::size_t open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  const std::string close = ")" + text.substr(quote + 1, open - quote - 1) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string::npos ? text.size() : end + close.size();
}

std::size_t literal_end(const std::string& text, std::size_t quote) {
  std::size_t at = quote + 1;
  while (at < text.size() && text[at] != text[quote] && text[at] != '\n') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

enum class Kind { code, comment, literal, raw_literal };
struct Span {
  Kind kind = Kind::code;
  std::size_t end = 0;  // one past the span
};

// The span that begins at `at`, which must not be inside a comment or literal.
Span span_at(const std::string& text, std::size_t at) {
  const char c = text[at];
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (c == '/' && next == '/') return {Kind::comment, std::min(text.find('\n', at), text.size())};
  if (c == '/' && next == '*') {
    const std::size_t close = text.find("*/", at + 2);
    return {Kind::comment, close == std::string::npos ? text.size() : close + 2};
  }
  if (c == '"' && at > 0 && text[at - 1] == 'R') {
    return {Kind::raw_literal, std::max(raw_end(text, at), at + 1)};
  }
  if (c == '"' || (c == '\'' && !(at > 0 && is_word(text[at - 1]) && is_word(next)))) {
    return {Kind::literal, std::max(literal_end(text, at), at + 1)};
  }
  return {Kind::code, at + 1};
}

// Folders without sources of the project.
bool is_made(std::string_view folder) {
  return folder == "build" || folder == "var" || folder == "node_modules" || folder == ".git" ||
         folder == ".cache" || folder == "__pycache__";
}

// Whether an opening brace after `head`, at namespace or class level, begins a function's body.
bool opens_function(std::string_view head) {
  if (head.find('(') == std::string_view::npos) return false;
  for (std::string_view word : {"namespace ", "class ", "struct ", "enum ", "union "}) {
    const std::size_t at = head.find(word);
    if (at != std::string_view::npos && head.find('(') > at) {
      // No function here returns `struct X`, but there are classes with attributes.
      return head.substr(0, at).find(')') != std::string_view::npos &&
             head.substr(0, at).find("template") == std::string_view::npos &&
             head.substr(0, at).find("[[") == std::string_view::npos;
    }
  }
  return head.find('=') == std::string_view::npos ||
         head.find("operator") != std::string_view::npos || head.find('(') < head.find('=');
}

}  // namespace

std::string blank_literals(std::string_view source) {
  std::string text(source);
  for (std::size_t at = 0; at < text.size();) {
    const Span span = span_at(text, at);
    if (span.kind == Kind::comment || span.kind == Kind::raw_literal) blank(text, at, span.end);
    if (span.kind == Kind::literal) blank(text, at + 1, span.end - 1);
    at = span.end;
  }
  return text;
}

std::string blank_code(std::string_view source) {
  std::string text(source);
  std::string comments(source);
  for (std::size_t at = 0; at < text.size();) {
    const Span span = span_at(text, at);
    const bool is_comment = span.kind == Kind::comment;
    blank(comments, at, is_comment ? std::min(at + 2, span.end) : span.end);
    at = span.end;
  }
  return comments;
}

std::vector<SourceFile> read_tree(const std::vector<std::string>& folders,
                                  const std::set<std::string>& extensions) {
  const fs::path root = support::source_path("");
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (auto entry = fs::recursive_directory_iterator(root / folder);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->is_directory() && is_made(entry->path().filename().string())) {
        entry.disable_recursion_pending();
      }
      if (!entry->is_regular_file() || !extensions.contains(entry->path().extension())) continue;
      std::ifstream stream(entry->path());
      std::stringstream text;
      text << stream.rdbuf();
      SourceFile file;
      file.path = fs::relative(entry->path(), root).generic_string();
      file.code = blank_literals(text.str());
      for (std::string line; std::getline(text, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const auto& left, const auto& right) { return left.path < right.path; });
  return files;
}

std::set<std::string> paths_of_tree() {
  const fs::path root = support::source_path("");
  std::set<std::string> paths;
  for (auto entry = fs::recursive_directory_iterator(root);
       entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && is_made(entry->path().filename().string())) {
      entry.disable_recursion_pending();
      continue;
    }
    paths.insert(fs::relative(entry->path(), root).generic_string());
  }
  return paths;
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  for (std::size_t at = 0; at < file.lines.size(); ++at) {
    const std::string& line = file.lines[at];
    if (line.rfind("#include ", 0) != 0) continue;
    const std::size_t open = line.find_first_of("<\"");
    const std::size_t close = line.find_last_of(">\"");
    if (open == std::string::npos || close <= open) continue;
    includes.push_back(
        {static_cast<int>(at) + 1, line[open] == '"', line.substr(open + 1, close - open - 1)});
  }
  return includes;
}

std::vector<Function> functions_of(const SourceFile& file) {
  std::vector<Function> functions;
  int line = 1;
  int function_depth = 0;  // braces open inside the current function; 0: in no function
  std::string head;        // text since the last ';', '{' or '}' outside of functions
  bool line_start = true, directive = false;
  for (char c : file.code) {
    if (c == '\n') {
      // A directive is not code. If it ends in a backslash it continues; macros are not measured.
      ++line;
      directive = directive && !head.empty() && head.back() == '\\';
      if (directive) head.clear();
      line_start = true;
      head += ' ';
      continue;
    }
    if (line_start && c == '#') directive = true;
    if (c != ' ') line_start = false;
    if (directive) {
      head.assign(1, c);
      continue;
    }
    if (function_depth > 0) {
      function_depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (function_depth == 0) {
        functions.back().last_line = line;
        head.clear();
      }
    } else if (c == '{') {
      if (opens_function(head)) {
        functions.push_back({line, line});
        function_depth = 1;
      }
      head.clear();
    } else if (c == ';' || c == '}') {
      head.clear();
    } else {
      head += c;
    }
  }
  return functions;
}

}  // namespace turnpike::tidy
