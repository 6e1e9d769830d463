// Connection options (RFC 9110 section 7.6.1): a field named in a message's Connection field
// belongs to that hop, so a gateway must not forward it, whatever an operator allows. Pure
// function.
#pragma once

#include <algorithm>
#include <string_view>

#include <turnpike/message.h>

#include "text/http_field.h"

namespace turnpike::exchange {

// True if a Connection field of `headers` names `name`.
inline bool is_connection_option(Headers headers, std::string_view name) noexcept {
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "connection")) continue;
    for (std::string_view rest = field.value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (same_header_name(text::trimmed(rest.substr(0, end)), name)) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return false;
}

}  // namespace turnpike::exchange
