#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "registry/read_policies.h"
#include "registry/settings_tree.h"

namespace turnpike::registry {
namespace {

// Plain text that looks like a number but is not one of the language, such as 010, -0 or a number
// that no double holds: different readers would read it differently, and quoted it would be text.
bool is_doubtful_number(std::string_view text) noexcept {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return false;
  const std::optional<std::int64_t> value = decimal_integer(text);
  return !value || *value > integer_max || *value < -integer_max;
}

Settings located(const Cursor& value, std::string_view file) {
  Settings settings;
  settings.file = file;
  settings.line = static_cast<int>(value.place().line);
  settings.column = static_cast<int>(value.place().column);
  return settings;
}

// `sound` is null if the rules are not checked.
Settings read_tree_of(const Cursor& value, std::string_view file, bool* sound) {
  Settings settings = located(value, file);
  switch (value.kind()) {
    case NodeKind::null:
      break;
    case NodeKind::scalar:
      settings.kind = Settings::Kind::scalar;
      settings.quoted = value.quoted();
      settings.text = value.raw_text();
      if (sound != nullptr && !settings.quoted && is_doubtful_number(settings.text)) {
        value.report(Rule::setting_number, {settings.text});
        *sound = false;
      }
      break;
    case NodeKind::list:
      settings.kind = Settings::Kind::list;
      for (const Cursor& item : value.items()) {
        settings.items.push_back(read_tree_of(item, file, sound));
      }
      break;
    case NodeKind::map:
      settings.kind = Settings::Kind::map;
      for (const Cursor& field : value.fields()) {
        settings.fields.push_back({std::string(field.key()), read_tree_of(field, file, sound)});
      }
      if (sound != nullptr && settings.find("secret") != nullptr && !secret_reference(settings)) {
        value.report(Rule::secret_shape);
        *sound = false;
      }
      break;
  }
  return settings;
}

}  // namespace

std::optional<Settings> read_settings(const Cursor& value, std::span<const Source> sources) {
  if (!value.expect(NodeKind::map, "a map of settings")) return std::nullopt;
  bool sound = true;
  Settings settings = read_tree_of(value, sources[value.place().file].name, &sound);
  if (!sound) return std::nullopt;
  return settings;
}

Settings read_plain(const Cursor& value, std::span<const Source> sources) {
  return read_tree_of(value, sources[value.place().file].name, nullptr);
}

Result<Settings, std::vector<Problem>> parse_settings(const Source& source) {
  const std::span<const Source> sources(&source, 1);
  Problems problems(sources);
  std::size_t nodes_left = base::limits::registry_nodes_max;
  const Tree tree = read_tree(source, 0, nodes_left, problems);
  Settings settings;
  settings.kind = Settings::Kind::map;
  settings.file = source.name;
  if (!tree.empty() && tree.root().kind != NodeKind::null) {
    settings = read_settings(Cursor(tree, problems), sources).value_or(std::move(settings));
  }
  if (!problems.none()) return problems.take();
  return settings;
}

}  // namespace turnpike::registry
