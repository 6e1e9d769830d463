#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "registry/index.h"
#include "registry/program.h"

namespace turnpike::registry {
namespace {

namespace limits = base::limits;

constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

static_assert(std::endian::native == std::endian::little, "words are read lowest byte first");

constexpr std::uint64_t each_byte(char c) noexcept {
  return 0x0101010101010101ull * static_cast<unsigned char>(c);
}

// Sets the top bit of every byte of `word` that equals the byte repeated in `pattern`.
constexpr std::uint64_t equal_bytes(std::uint64_t word, std::uint64_t pattern) noexcept {
  const std::uint64_t differing = word ^ pattern;
  constexpr std::uint64_t low_bits = 0x7F7F7F7F7F7F7F7Full;
  return ~(((differing & low_bits) + low_bits) | differing | low_bits);
}

// A path split at its slashes. Segments beyond the limit are dropped. No initialisers, since one is
// made for every request.
struct Split {
  ParameterSpan* spans;  // route_segments_max of them
  std::size_t count;
  bool has_empty;
  bool has_dots;     // a segment is "." or ".."
  bool has_special;  // the path contains an escape or a backslash

  void add(const char* text, std::size_t begin, std::size_t end) noexcept {
    const std::size_t length = end - begin;
    if (length <= 2) {
      has_empty |= length == 0;
      has_dots |= length > 0 && text[begin] == '.' && text[end - 1] == '.';
    }
    if (count < limits::route_segments_max) {
      spans[count].offset = static_cast<std::uint16_t>(begin);
      spans[count].length = static_cast<std::uint16_t>(length);
    }
    ++count;
  }
};

// REQUIRES: zeros after the path, up to the next word.
void split(const char* text, std::size_t size, Split& out) noexcept {
  std::uint64_t special = 0;
  std::size_t begin = 1;
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text + at, sizeof(word));
    special |= equal_bytes(word, each_byte('%')) | equal_bytes(word, each_byte('\\'));
    std::uint64_t slashes = equal_bytes(word, each_byte('/'));
    if (at == 0) slashes &= slashes - 1;  // the first byte
    for (; slashes != 0; slashes &= slashes - 1) {
      const std::size_t end = at + static_cast<std::size_t>(std::countr_zero(slashes)) / 8;
      out.add(text, begin, end);
      begin = end + 1;
    }
  }
  out.add(text, begin, size);
  out.has_special = special != 0;
}

// Decodes the segments into `text`, joined by slashes, and records their spans; `slashed` gets the
// bits of segments that contain a slash or backslash. False for a bad escape.
bool decode(std::string_view path, char* text, Split& out, std::uint32_t& slashed) noexcept {
  std::size_t length = 1;
  text[0] = '/';
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::optional<std::size_t> decoded =
        decode_segment(path.substr(begin, end - begin), text + length);
    if (!decoded) return false;
    const std::string_view segment(text + length, *decoded);
    if (out.count < limits::route_segments_max && segment.find_first_of("/\\") != segment.npos) {
      slashed |= 1u << out.count;
    }
    out.add(text, length, length + *decoded);
    length += *decoded;
    begin = end + 1;
    if (begin <= path.size()) text[length++] = '/';
  }
  return true;
}

}  // namespace

std::optional<std::size_t> decode_segment(std::string_view segment, char* out) noexcept {
  char* end = out;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    if (segment[at] != '%') {
      *end++ = segment[at];
      continue;
    }
    if (segment.size() - at < 3) return std::nullopt;
    const int high = hex_value(segment[at + 1]);
    const int low = hex_value(segment[at + 2]);
    if (high < 0 || low < 0 || (high | low) == 0) return std::nullopt;
    *end++ = static_cast<char>(high << 4 | low);
    at += 2;
  }
  return static_cast<std::size_t>(end - out);
}

Match Program::match(std::string_view path) const noexcept {
  Match match;
  match.status = MatchStatus::path_malformed;
  if (path.empty() || path.front() != '/' || path.size() > limits::request_path_bytes_max) {
    return match;
  }
  ParameterSpan raw_spans[limits::route_segments_max];
  ParameterSpan decoded_spans[limits::route_segments_max];
  char padded[limits::request_path_bytes_max + Index::padding];
  std::memcpy(padded, path.data(), path.size());
  std::memset(padded + path.size(), 0, Index::padding);
  Split raw{raw_spans, 0, false, false, false};
  split(padded, path.size(), raw);
  Split parts = raw;
  std::uint32_t slashed = 0;
  if (raw.has_special) {
    parts = Split{decoded_spans, 0, raw.has_empty, raw.has_dots, true};
    if (!decode(path, padded, parts, slashed)) return match;  // decoding never makes a path longer
  }
  if (parts.has_dots) return match;
  match.status = MatchStatus::not_found;
  if (parts.has_empty || parts.count > limits::route_segments_max) return match;
  const Index::Found found = index_->find(padded, {parts.spans, parts.count});
  if (found.route == no_route) return match;
  if ((slashed & ~found.slashes_allowed) != 0) {
    // The route matches but the parameter's value is invalid, so no wider route may match instead.
    match.status = MatchStatus::path_malformed;
    return match;
  }
  match.status = MatchStatus::found;
  match.route = &routes_[found.route];
  for (std::uint32_t rest = found.parameters; rest != 0; rest &= rest - 1) {
    match.parameters[match.parameter_count++] = raw_spans[std::countr_zero(rest)];
  }
  return match;
}

const Route* Program::find_route(std::string_view id) const noexcept {
  const auto found = std::lower_bound(
      routes_.begin(), routes_.end(), id,
      [](const Route& route, std::string_view wanted) { return route.id < wanted; });
  return found != routes_.end() && found->id == id ? &*found : nullptr;
}

const Operation* Program::operation(const Route& route, Method method) const noexcept {
  for (std::size_t at = 0; at < route.methods.size(); ++at) {
    if (route.methods[at] == method) return &operations_[route.operations[at]];
  }
  return nullptr;
}

}  // namespace turnpike::registry
