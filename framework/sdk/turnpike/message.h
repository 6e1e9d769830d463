// The HTTP types that cross the plugin boundary: methods, header fields, path parameters. All views
// are borrowed: valid for the duration of the call they were passed to, unless a header says
// otherwise. Plain values; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

enum class Method : std::uint8_t { get, post };

constexpr std::string_view name_of(Method method) noexcept {
  return method == Method::get ? "GET" : "POST";
}

// One header field as received: name in any case, value without surrounding blanks.
struct HeaderField {
  std::string_view name;
  std::string_view value;
};
using Headers = std::span<const HeaderField>;

// Header names are compared without regard to ASCII case.
constexpr bool same_header_name(std::string_view left, std::string_view right) noexcept {
  if (left.size() != right.size()) return false;
  for (std::size_t at = 0; at < left.size(); ++at) {
    const char from = left[at] >= 'A' && left[at] <= 'Z' ? char(left[at] + 32) : left[at];
    const char to = right[at] >= 'A' && right[at] <= 'Z' ? char(right[at] + 32) : right[at];
    if (from != to) return false;
  }
  return true;
}

// Fields on the connection and on the framing of a message (RFC 9110, sections 6.6.2, 7.6.1, 7.8
// and 8.6). Each hop writes its own, so nobody else sets them or passes them on.
constexpr bool is_framing_field(std::string_view name) noexcept {
  switch (name.size()) {
    case 2:
      return same_header_name(name, "te");
    case 7:
      return same_header_name(name, "trailer") || same_header_name(name, "upgrade");
    case 10:
      return same_header_name(name, "connection") || same_header_name(name, "keep-alive");
    case 14:
      return same_header_name(name, "content-length");
    case 16:
      return same_header_name(name, "proxy-connection");
    case 17:
      return same_header_name(name, "transfer-encoding");
    default:
      return false;
  }
}

// A header field that owns its text. `name` is sent as it is.
struct OwnedHeader {
  std::string name;
  std::string value;
};

// A template parameter of the matched route: `raw` as the caller sent it, `value` percent-decoded.
struct PathParameter {
  std::string_view name;
  std::string_view raw;
  std::string_view value;
};

}  // namespace turnpike
