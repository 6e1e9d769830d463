// Connection options (RFC 9110 section 7.6.1): a field that the Connection field of its message
// names belongs to that hop, and a gateway must not pass it on, whatever an operator allows. Pure
// function.
#pragma once

#include <algorithm>
#include <string_view>

#include <turnpike/message.h>

namespace turnpike::exchange {

// Whether a Connection field of `headers` names `name`.
inline bool is_connection_option(Headers headers, std::string_view name) noexcept {
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "connection")) continue;
    for (std::string_view rest = field.value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      std::string_view option = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (option.starts_with(' ') || option.starts_with('\t')) option.remove_prefix(1);
      while (option.ends_with(' ') || option.ends_with('\t')) option.remove_suffix(1);
      if (same_header_name(option, name)) return true;
    }
  }
  return false;
}

}  // namespace turnpike::exchange
