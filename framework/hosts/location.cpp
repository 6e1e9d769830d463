#include "hosts/location.h"

#include "text/http_field.h"

namespace turnpike::hosts {

std::optional<Location> Location::read(std::string_view text, const Origins& origins) {
  // Browsers read a backslash as a slash, and skip tabs and line ends.
  if (!text::is_visible_ascii(text) || text.find('\\') != text.npos) return std::nullopt;
  const bool is_path = text.starts_with('/') && !text.starts_with("//");
  if (!is_path) {
    const std::string origin = origin_of(text);
    if (origin.empty() || origins.allows_all() || !origins.allows(origin)) return std::nullopt;
  }
  return Location(std::string(text));
}

}  // namespace turnpike::hosts
