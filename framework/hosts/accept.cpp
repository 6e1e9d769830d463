#include "hosts/accept.h"

#include <string_view>

#include "base/http_field.h"

namespace turnpike::hosts {

namespace {

// "0", "0.", "0.000": the client refuses it.
bool is_zero_weight(std::string_view parameters) noexcept {
  const std::size_t at = parameters.find("q=");
  if (at == parameters.npos) return false;
  const std::string_view weight = base::trimmed(parameters.substr(at + 2));
  return weight.starts_with('0') && weight.find_first_not_of("0.") == weight.npos;
}

}  // namespace

bool takes_brotli(Headers headers) noexcept {
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "Accept-Encoding")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const std::string_view one = rest.substr(0, comma);
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
      const std::size_t semicolon = one.find(';');
      if (base::trimmed(one.substr(0, semicolon)) != "br") continue;
      return semicolon == one.npos || !is_zero_weight(one.substr(semicolon));
    }
  }
  return false;
}

}  // namespace turnpike::hosts
