#include "text/xml_text.h"

#include <cstddef>

#include "text/canonical_json.h"

namespace turnpike::text {
namespace {

constexpr std::string_view no_character = "\xEF\xBF\xBD";  // U+FFFD

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    default:
      break;
  }
  const bool is_white = c == '\t' || c == '\n' || c == '\r';
  if (c >= ' ' || is_white) {
    out += c;
  } else {
    out += no_character;
  }
}

// The length of the character that begins with `lead`, if it is valid.
std::size_t length_by(unsigned char lead) noexcept {
  if (lead >= 0xF0) return 4;
  return lead >= 0xE0 ? 3 : 2;
}

}  // namespace

void append_xml(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) {
      append_ascii(out, text.front());
      text.remove_prefix(1);
      continue;
    }
    const std::string_view one = text.substr(0, length_by(lead));
    const bool is_left_out = one == "\xEF\xBF\xBE" || one == "\xEF\xBF\xBF";  // U+FFFE, U+FFFF
    if (is_left_out || !is_utf8(one)) {
      out += no_character;
      text.remove_prefix(is_left_out ? one.size() : 1);
      continue;
    }
    out += one;
    text.remove_prefix(one.size());
  }
}

}  // namespace turnpike::text
