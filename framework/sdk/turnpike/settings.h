// Settings: the operator's YAML for one plugin, as a plain immutable tree. The host builds it
// (duplicate keys, tags and aliases are already refused), resolves secrets and passes it to bind().
// A plugin reads it during bind() only, copies what it needs, and must refuse keys that it does not
// know: see only().
//
// Scalars keep their YAML text. The typed readers convert by Turnpike's rules: integers are
// decimal, booleans are `true` and `false`, nothing else. A secret (`{secret: {env: NAME}}` or
// `{secret: {file: PATH}}` in the YAML) arrives as a scalar with is_secret set and its value as
// text; it must never reach a log, an error or a reply. Value type; concurrent reads are safe from
// any Thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/result.h>

namespace turnpike {

// The number of single-byte insertions, deletions and replacements that turn one name into the
// other.
inline std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t at = 0; at <= to.size(); ++at) row[at] = at;
  for (std::size_t line = 0; line < from.size(); ++line) {
    std::size_t diagonal = row[0];
    row[0] = line + 1;
    for (std::size_t at = 0; at < to.size(); ++at) {
      const std::size_t replaced = diagonal + (from[line] == to[at] ? 0 : 1);
      diagonal = row[at + 1];
      row[at + 1] = std::min({replaced, row[at] + 1, row[at + 1] + 1});
    }
  }
  return row[to.size()];
}

// The name in `known` that `name` is probably a misspelling of, or empty when none is near.
inline std::string_view nearest_name(std::string_view name,
                                     std::initializer_list<std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

struct Settings {
  struct Field;  // a key and its value
  enum class Kind : std::uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  bool quoted = false;     // quoted in YAML: a string even if its text is a number
  bool is_secret = false;  // text is a secret's value; empty when the secret is not available
  std::string text;        // scalar
  std::vector<Settings> items;  // list
  std::vector<Field> fields;    // map, in source order
  std::string file;             // the file that holds this node, for messages
  int line = 0;
  int column = 0;

  // The value under `key`; null when this node is not a map or has no such key.
  [[nodiscard]] const Settings* find(std::string_view key) const noexcept;
  // The first key that is not in `known`, or empty.
  [[nodiscard]] std::string_view unknown_key(
      std::initializer_list<std::string_view> known) const noexcept;

  // Refuses a node that is not a map, and any key that is not in `known`; names the nearest known
  // key.
  [[nodiscard]] Done only(std::initializer_list<std::string_view> known) const {
    if (kind == Kind::null) return Unit{};
    if (kind != Kind::map) return wrong({}, "a map");
    const std::string_view key = unknown_key(known);
    if (key.empty()) return Unit{};
    const std::string_view meant = nearest_name(key, known);
    std::string message = "unknown key";
    if (!meant.empty()) message += "; did you mean `" + std::string(meant) + "`?";
    return Failure{FailureKind::invalid_settings, std::move(message), std::string(key), false};
  }

  // Typed readers of a field. They return the fallback when the key is absent, and a Failure
  // (invalid_settings, `where` = key) when the value has another form or is out of bounds.
  [[nodiscard]] Result<std::string> string(std::string_view key, std::string_view fallback) const {
    const Settings* node = find(key);
    if (node == nullptr) return std::string(fallback);
    if (node->kind != Kind::scalar || node->is_secret) {
      return wrong(key, "a string that is no secret");
    }
    return node->text;
  }

  // The value of a secret; empty when the key is absent or its secret is not available. Refuses a
  // value that is written in the YAML itself.
  [[nodiscard]] Result<std::string> secret(std::string_view key) const {
    const Settings* node = find(key);
    if (node == nullptr) return std::string();
    if (node->kind != Kind::scalar || !node->is_secret) {
      return wrong(key, "{secret: {env: NAME}} or {secret: {file: PATH}}");
    }
    return node->text;
  }

  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t fallback,
                                             std::int64_t minimum, std::int64_t maximum) const {
    const Settings* node = find(key);
    if (node == nullptr) return fallback;
    std::int64_t value = 0;
    const char* end = node->text.data() + node->text.size();
    const auto [rest, problem] = std::from_chars(node->text.data(), end, value);
    const bool is_number = node->kind == Kind::scalar && !node->quoted && !node->is_secret &&
                           problem == std::errc{} && rest == end;
    if (!is_number || value < minimum || value > maximum) {
      return wrong(key,
                   "an integer from " + std::to_string(minimum) + " to " + std::to_string(maximum));
    }
    return value;
  }

  [[nodiscard]] Result<bool> boolean(std::string_view key, bool fallback) const {
    const Settings* node = find(key);
    if (node == nullptr) return fallback;
    if (node->kind != Kind::scalar || node->quoted || node->is_secret ||
        (node->text != "true" && node->text != "false")) {
      return wrong(key, "true or false");
    }
    return node->text == "true";
  }

  [[nodiscard]] static Failure wrong(std::string_view key, const std::string& expected) {
    return Failure{FailureKind::invalid_settings, "expected " + expected, std::string(key), false};
  }
};

struct Settings::Field {
  std::string name;
  Settings value;
};

inline const Settings* Settings::find(std::string_view key) const noexcept {
  for (const Field& field : fields) {
    if (field.name == key) return &field.value;
  }
  return nullptr;
}

inline std::string_view Settings::unknown_key(
    std::initializer_list<std::string_view> known) const noexcept {
  for (const Field& field : fields) {
    bool found = false;
    for (std::string_view allowed : known) found = found || allowed == field.name;
    if (!found) return field.name;
  }
  return {};
}

}  // namespace turnpike
