#include "app/config/secrets.h"

#include <cstdlib>
#include <fstream>

namespace turnpike::app {

std::optional<std::string> read_secret(const registry::SecretReference& reference) {
  constexpr std::size_t secret_bytes_max = 64 * 1024;
  if (reference.origin == registry::SecretReference::Origin::environment) {
    const char* value = std::getenv(reference.name.c_str());
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
  }
  std::ifstream stream(reference.name, std::ios::binary);
  std::string value(secret_bytes_max, '\0');
  stream.read(value.data(), static_cast<std::streamsize>(value.size()));
  if (!stream.eof()) return std::nullopt;  // unreadable, or too large for a secret
  value.resize(static_cast<std::size_t>(stream.gcount()));
  if (value.ends_with('\n')) value.pop_back();
  return value.empty() ? std::nullopt : std::optional(std::move(value));
}

}  // namespace turnpike::app
