#include "registry/settings_tree.h"

#include <filesystem>
#include <utility>

namespace turnpike::registry {

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

}  // namespace turnpike::registry
