#include "tidy/citations.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/paths.h"

namespace turnpike::tidy {
namespace {

namespace fs = std::filesystem;

// Folders with which a citation may begin: those of the project and of the framework.
const std::set<std::string, std::less<>> folders = {
    "benchmarks", "catalog", "config",   "crypto",  "docs",     "examples", "exchange",
    "framework",  "hosts",   "identity", "lanes",   "ledger",   "plugin",   "plugins",
    "quota",      "records", "registry", "runtime", "sdk",      "storage",  "tests",
    "wire",       "app",     "base",     "remote",  "protocol", "offers"};

const std::set<std::string, std::less<>> extensions = {
    ".h", ".cpp", ".md", ".py", ".mjs", ".sh", ".cmake", ".yaml", ".sql", ".lua", ".sol"};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

std::string_view extension_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 || name.find('/', dot) != name.npos ? std::string_view()
                                                                          : name.substr(dot);
}

std::string_view without_parents(std::string_view name) {
  while (name.starts_with("../")) name.remove_prefix(3);
  return name;
}

bool looks_like_file(std::string_view name) {
  name = without_parents(name);
  if (name.empty() || name.front() == '.' || name.front() == '-' || name.front() == '/') {
    return false;
  }
  if (extensions.contains(extension_of(name))) return true;
  const std::size_t slash = name.find('/');
  return slash != name.npos && folders.contains(name.substr(0, slash));
}

// Reads the names in `text`, and the quoted heading that may follow a page's name and a comma.
void read_names(std::string_view text, int first_line, std::vector<Citation>& citations) {
  int line = first_line;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') ++line;
    if (!is_name_character(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_name_character(text[at])) ++at;
    std::string_view name = text.substr(begin, at - begin);
    while (!name.empty() && (name.back() == '.' || name.back() == '/')) name.remove_suffix(1);
    // Excludes parts of URLs, patterns, placeholders, packages of npm and the like.
    constexpr std::string_view joints = "<>{}*$~@%:=\\&?#";
    const bool is_part =
        (begin > 0 && joints.find(text[begin - 1]) != joints.npos) ||
        (at < text.size() && std::string_view("<{*$").find(text[at]) != std::string_view::npos);
    if (is_part || !looks_like_file(name)) continue;
    Citation citation{line, std::string(name)};
    if (name.ends_with(".md") && begin + name.size() == at && text.substr(at, 1) == ",") {
      const std::size_t quote = text.find_first_not_of(" \n", at + 1);
      const std::size_t end =
          quote == text.npos || text[quote] != '"' ? text.npos : text.find('"', quote + 1);
      if (end != text.npos) citation.heading = text.substr(quote + 1, end - quote - 1);
    }
    // A heading may continue on the next line.
    std::string& heading = citation.heading;
    std::replace(heading.begin(), heading.end(), '\n', ' ');
    heading.erase(std::unique(heading.begin(), heading.end(),
                              [](char left, char right) { return left == ' ' && right == ' '; }),
                  heading.end());
    citations.push_back(std::move(citation));
  }
}

// The text after `mark` in each line, if `mark` begins the line or follows a space.
std::string text_behind(const std::vector<std::string>& lines, std::string_view mark) {
  std::string text;
  for (const std::string& line : lines) {
    std::size_t at = line.find(mark);
    while (at != line.npos && at > 0 && line[at - 1] != ' ') at = line.find(mark, at + 1);
    if (at != line.npos) text.append(line, at + mark.size());
    text += '\n';
  }
  return text;
}

// The text of comments and of triple-quoted strings.
std::string text_of_python(const std::vector<std::string>& lines) {
  std::string text;
  bool is_quoted = false;
  for (const std::string& line : lines) {
    bool is_prose = is_quoted;
    for (std::size_t at = line.find("\"\"\""); at != line.npos; at = line.find("\"\"\"", at + 3)) {
      is_quoted = !is_quoted;
      is_prose = true;
    }
    text += is_prose ? line + '\n' : text_behind({line}, "#");
  }
  return text;
}

std::vector<Citation> citations_of_page(const std::vector<std::string>& lines) {
  std::vector<Citation> citations;
  bool is_fenced = false;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string& line = lines[at];
    const int number = static_cast<int>(at) + 1;
    if (line.find("```") != line.npos && line.find_first_not_of(' ') == line.find("```")) {
      is_fenced = !is_fenced;
    }
    if (is_fenced || line.starts_with("    ")) continue;
    for (std::size_t open = line.find('`'); open != line.npos;) {
      const std::size_t close = line.find('`', open + 1);
      if (close == line.npos) break;
      read_names(std::string_view(line).substr(open + 1, close - open - 1), number, citations);
      open = line.find('`', close + 1);
    }
    for (std::size_t open = line.find("]("); open != line.npos; open = line.find("](", open + 2)) {
      const std::size_t close = line.find(')', open);
      std::string target = line.substr(open + 2, close == line.npos ? close : close - open - 2);
      target.erase(std::min(target.find('#'), target.size()));
      // Links of the site's pages to its root or to hosts by value are checked by `turnpike check`.
      const bool is_of_site = target.starts_with('/') || target.starts_with("{{");
      const bool is_elsewhere = is_of_site || target.find(':') != target.npos;
      if (!target.empty() && !is_elsewhere) citations.push_back({number, target, {}, true});
    }
  }
  return citations;
}

std::string text_of(const SourceFile& file) {
  const std::string_view extension = extension_of(file.path);
  std::string source;
  for (const std::string& line : file.lines) source.append(line).append("\n");
  if (extension == ".h" || extension == ".cpp" || extension == ".mjs" || extension == ".sol") {
    return blank_code(source);
  }
  if (extension == ".py") return text_of_python(file.lines);
  if (extension == ".sql" || extension == ".lua") return text_behind(file.lines, "--");
  if (extension.empty() && !source.starts_with("#!")) return {};
  return text_behind(file.lines, "#");
}

}  // namespace

std::vector<Citation> citations_of(const SourceFile& file) {
  if (file.path.ends_with(".md")) return citations_of_page(file.lines);
  std::vector<Citation> citations;
  read_names(text_of(file), 1, citations);
  return citations;
}

Shelf::Shelf(const std::set<std::string>& paths) : paths_(paths) {
  for (const std::string& path : paths) {
    for (std::size_t at = 0; at != path.npos;) {
      const std::string_view end = std::string_view(path).substr(at);
      names_.emplace(end);
      const std::string_view extension = extension_of(end);
      std::string_view stem = end.substr(0, end.size() - extension.size());
      if (!extension.empty()) names_.emplace(stem);
      for (const std::string_view kind : {"_test", "_bench"}) {
        if (stem.ends_with(kind)) names_.emplace(stem.substr(0, stem.size() - kind.size()));
      }
      const std::size_t slash = path.find('/', at);
      at = slash == path.npos ? slash : slash + 1;
    }
  }
}

bool Shelf::has_name(std::string_view name) const {
  return names_.contains(std::string(without_parents(name)));
}

std::string Shelf::fault_of(const Citation& citation, std::string_view from) const {
  if (citation.is_link) {
    const fs::path target = (fs::path(from).parent_path() / citation.target).lexically_normal();
    std::string path = target.generic_string();
    if (path.ends_with('/')) path.pop_back();
    return paths_.contains(path) ? "" : "links to " + path + ", which does not exist";
  }
  if (!has_name(citation.target)) return "names " + citation.target + ", which does not exist";
  if (citation.heading.empty()) return {};
  std::ifstream stream(support::source_path(citation.target));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (headings_of(lines).contains(citation.heading)) return {};
  return citation.target + " has no heading \"" + citation.heading + "\"";
}

std::set<std::string> headings_of(const std::vector<std::string>& lines) {
  std::set<std::string> headings;
  for (const std::string& line : lines) {
    const std::size_t marks = line.find_first_not_of('#');
    if (marks == 0 || marks == line.npos || line[marks] != ' ') continue;
    headings.insert(line.substr(marks + 1));
  }
  return headings;
}

}  // namespace turnpike::tidy
