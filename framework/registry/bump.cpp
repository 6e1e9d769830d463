#include "registry/bump.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "registry/problems.h"
#include "registry/source.h"

namespace turnpike::registry {
namespace {

struct Edit {
  std::size_t offset = 0;
  std::size_t removed_bytes = 0;
  std::string text;
};

// A file's text with the offsets of its lines.
class Text {
 public:
  explicit Text(const std::string& text) : text_(text) {
    lines_.push_back(0);
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') lines_.push_back(at + 1);
    }
  }

  [[nodiscard]] std::size_t offset_of(const Node& node) const {
    return lines_[node.line - 1] + node.column - 1;
  }
  [[nodiscard]] char at(std::size_t offset) const {
    return offset < text_.size() ? text_[offset] : '\0';
  }
  // The end of the line, before its line break.
  [[nodiscard]] std::size_t line_end(std::size_t offset) const {
    const std::size_t end = std::min(text_.find('\n', offset), text_.size());
    return end > offset && text_[end - 1] == '\r' ? end - 1 : end;
  }
  [[nodiscard]] std::string_view piece(std::size_t begin, std::size_t end) const {
    return std::string_view(text_).substr(begin, end - begin);
  }
  // The line break that the file uses.
  [[nodiscard]] std::string_view line_break() const {
    const std::size_t end = text_.find('\n');
    return end != text_.npos && end > 0 && text_[end - 1] == '\r' ? "\r\n" : "\n";
  }

 private:
  const std::string& text_;
  std::vector<std::size_t> lines_;
};

// The end of the line, if the scalar `value` and an optional comment are the last text on it;
// nullopt otherwise.
std::optional<std::size_t> end_of_line_with(const Text& text, const Tree& tree, const Node& value) {
  const std::size_t begin = text.offset_of(value);
  const std::size_t line_end = text.line_end(begin);
  std::size_t end = begin + tree.text(value).size();
  if (value.quoted) {
    const char quote = text.at(begin);
    const std::string_view inside = text.piece(begin + 1, line_end);
    if (inside.find('\\') != inside.npos || inside.find(quote) == inside.npos) return std::nullopt;
    end = begin + 1 + inside.find(quote) + 1;
  } else if (end > line_end || text.piece(begin, end) != tree.text(value)) {
    return std::nullopt;
  }
  const std::string_view rest = text.piece(end, line_end);
  const std::size_t first = rest.find_first_not_of(" \t");
  if (first != rest.npos && (rest[first] != '#' || first == 0)) return std::nullopt;
  return line_end;
}

// The edit that sets `counter: number` in the map, whether or not the map has the counter.
Edit edit_of(const Text& text, const Tree& tree, const Node& map, std::string_view counter,
             std::uint32_t number) {
  const std::string digits = std::to_string(number);
  for (std::uint32_t at = map.first_child; at != no_node;) {
    const Node& key = tree.at(at);
    const Node& value = tree.at(key.next);
    if (tree.text(key) == counter) {
      return {text.offset_of(value), tree.text(value).size(), digits};
    }
    at = value.next;
  }
  const std::string entry = std::string(counter) + ": " + digits;
  const std::size_t begin = text.offset_of(map);
  if (text.at(begin) == '{') return {begin + 1, 0, entry + ", "};
  // Inserts after the first entry if that is one line, and otherwise before it.
  const Node& key = tree.at(map.first_child);
  const Node& value = tree.at(key.next);
  const std::string indent(key.column - 1, ' ');
  const bool is_on_line = value.kind == NodeKind::scalar && value.line == key.line;
  if (const auto end = is_on_line ? end_of_line_with(text, tree, value) : std::nullopt) {
    return {*end, 0, std::string(text.line_break()) + indent + entry};
  }
  return {begin, 0, entry + std::string(text.line_break()) + indent};
}

using MapsByPlace = std::map<std::pair<std::uint32_t, std::uint32_t>, const Node*>;

MapsByPlace maps_of(const Tree& tree) {
  MapsByPlace maps;
  for (std::uint32_t at = 0; at < tree.size(); ++at) {
    const Node& node = tree.at(at);
    if (node.kind == NodeKind::map) maps[{node.line, node.column}] = &node;
  }
  return maps;
}

std::string edited(std::string text, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const Edit& left, const Edit& right) { return left.offset > right.offset; });
  for (const Edit& edit : edits) text.replace(edit.offset, edit.removed_bytes, edit.text);
  return text;
}

Problem not_bumped(const Problem& place) {
  Problem problem = place;
  problem.message = "the number cannot be raised here by itself: raise it by hand";
  return problem;
}

}  // namespace

Result<Bumped, std::vector<Problem>> bump(std::span<const Source> files,
                                          std::span<const InstalledFact> installed,
                                          const Lane* lane) {
  std::vector<Redefinition> redefinitions;
  CompileInput input{.sources = files, .installed = installed, .plugins = {}, .lane = lane};
  input.redefinitions = &redefinitions;
  const auto compiled = compile(input);
  if (!compiled.ok()) return compiled.error();

  std::map<std::string, std::vector<const Redefinition*>> by_file;
  for (const Redefinition& each : redefinitions) by_file[each.problem.file].push_back(&each);
  Bumped bumped;
  std::vector<Source> all(files.begin(), files.end());
  for (std::uint32_t file = 0; file < all.size(); ++file) {
    const auto found = by_file.find(all[file].name);
    if (found == by_file.end()) continue;
    Problems problems(files);
    std::size_t nodes_left = base::limits::registry_nodes_max;
    const Tree tree = read_tree(files[file], file, nodes_left, problems);
    const MapsByPlace maps = maps_of(tree);
    const Text text(files[file].text);
    std::vector<Edit> edits;
    std::sort(found->second.begin(), found->second.end(), [](const auto* left, const auto* right) {
      return left->problem.line < right->problem.line;
    });
    for (const Redefinition* each : found->second) {
      const auto map = maps.find({static_cast<std::uint32_t>(each->problem.line),
                                  static_cast<std::uint32_t>(each->problem.column)});
      if (map == maps.end()) return std::vector<Problem>{not_bumped(each->problem)};
      edits.push_back(edit_of(text, tree, *map->second, each->counter, each->next));
      bumped.raised.push_back(
          {all[file].name, each->problem.line, each->problem.path, each->counter, each->next});
    }
    all[file].text = edited(files[file].text, std::move(edits));
    bumped.changed.push_back(all[file]);
  }
  // Compiles the edited files: the result must be the intended program without redefinitions.
  redefinitions.clear();
  input.sources = all;
  const auto again = compile(input);
  if (!again.ok()) return again.error();
  if (!redefinitions.empty()) {
    return std::vector<Problem>{not_bumped(redefinitions.front().problem)};
  }
  return bumped;
}

}  // namespace turnpike::registry
