#include "registry/settings_tree.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

namespace turnpike::registry {
namespace {

// The node that a path such as "auth.headers[2]" names, or null. Keys may contain dots.
const Settings* find_at(const Settings& root, std::string_view path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  if (path.empty()) return &root;
  if (path.starts_with('[')) {
    const std::size_t close = path.find(']');
    std::size_t index = 0;
    const char* const end = path.data() + std::min(close, path.size());
    const auto [rest, problem] = std::from_chars(path.data() + 1, end, index);
    if (problem != std::errc{} || rest != end || close == path.npos) return nullptr;
    return index < root.items.size() ? find_at(root.items[index], path.substr(close + 1)) : nullptr;
  }
  for (const auto& [key, value] : root.fields) {
    if (key.empty() || !path.starts_with(key)) continue;
    const std::string_view rest = path.substr(key.size());
    if (!rest.empty() && rest.front() != '.' && rest.front() != '[') continue;
    if (const Settings* found = find_at(value, rest)) return found;
  }
  return nullptr;
}

}  // namespace

std::optional<SecretReference> secret_reference(const Settings& node) {
  if (node.kind != Settings::Kind::map || node.fields.size() != 1) return std::nullopt;
  const auto& [key, origin] = node.fields.front();
  if (key != "secret" || origin.kind != Settings::Kind::map || origin.fields.size() != 1) {
    return std::nullopt;
  }
  const auto& [kind, name] = origin.fields.front();
  if (name.kind != Settings::Kind::scalar || name.text.empty()) return std::nullopt;
  SecretReference reference;
  reference.file = node.file;
  reference.line = node.line;
  reference.column = node.column;
  reference.name = name.text;
  if (kind == "env") return reference;
  if (kind != "file") return std::nullopt;
  namespace fs = std::filesystem;
  reference.origin = SecretReference::Origin::file;
  reference.name = (fs::path(node.file).parent_path() / name.text).lexically_normal().string();
  return reference;
}

std::string why_missing(const SecretReference& reference) {
  if (reference.origin == SecretReference::Origin::environment) {
    return "the environment variable " + reference.name + " is unset or empty";
  }
  return "the file " + reference.name + " cannot be read, is empty, or holds more than 64 KiB";
}

Settings resolve_secrets(const Settings& settings, const SecretResolver& resolver) {
  Settings resolved = settings;
  if (const auto reference = secret_reference(settings)) {
    resolved.kind = Settings::Kind::scalar;
    resolved.fields.clear();
    resolved.quoted = true;
    resolved.is_secret = true;
    resolved.text = resolver(*reference).value_or(std::string());
    return resolved;
  }
  for (Settings& item : resolved.items) item = resolve_secrets(item, resolver);
  for (auto& [key, value] : resolved.fields) value = resolve_secrets(value, resolver);
  return resolved;
}

const Settings& nearest_node(const Settings& root, std::string_view path) {
  for (;;) {
    if (const Settings* found = find_at(root, path)) return *found;
    path = path.substr(0, std::min(path.find_last_of(".["), path.size()));
    if (path.find_first_of(".[") == path.npos && find_at(root, path) == nullptr) return root;
  }
}

}  // namespace turnpike::registry
