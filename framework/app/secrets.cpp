#include "app/secrets.h"

#include <cstdlib>
#include <fstream>

namespace turnpike::app {

std::optional<std::string> read_secret(const registry::SecretReference& reference) {
  constexpr std::size_t secret_bytes_max = 64 * 1024;
  if (reference.origin == registry::SecretReference::Origin::environment) {
    const char* value = std::getenv(reference.name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  std::ifstream stream(reference.name, std::ios::binary);
  std::string value(secret_bytes_max, '\0');
  stream.read(value.data(), static_cast<std::streamsize>(value.size()));
  if (stream.gcount() == 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(stream.gcount()));
  if (value.ends_with('\n')) value.pop_back();
  return value;
}

}  // namespace turnpike::app
