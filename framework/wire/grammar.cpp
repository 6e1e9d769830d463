#include "wire/grammar.h"

#include <turnpike/message.h>

#include "text/http_field.h"

namespace turnpike::wire {

bool same_text(std::string_view left, std::string_view right) noexcept {
  return same_header_name(left, right);
}

Coding judge_transfer_coding(std::string_view value) noexcept {
  int chunked = 0;
  bool is_unknown = false;
  for (;;) {
    const std::size_t comma = value.find(',');
    const std::string_view coding = text::trimmed(value.substr(0, comma));
    if (same_text(coding, "chunked")) {
      ++chunked;
    } else if (!coding.empty()) {
      is_unknown = true;
    }
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  if (is_unknown) return Coding::unknown;
  return chunked == 1 ? Coding::chunked : Coding::malformed;
}

}  // namespace turnpike::wire
