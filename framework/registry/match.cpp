#include <algorithm>
#include <bit>
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

bool is_dot_segment(std::string_view segment) noexcept {
  return segment == "." || segment == "..";
}

// A path cut at its slashes. Segments past the limit are counted in `too_many` alone.
struct Split {
  std::string_view segments[limits::route_segments_max];  // decoded
  ParameterSpan spans[limits::route_segments_max];         // raw
  std::size_t count = 0;
  std::uint32_t slashed = 0;  // bit i: the decoded segment i holds a slash or backslash
  bool has_empty = false;
  bool too_many = false;
};

// False when a segment is malformed. `decoded` has room for the whole path.
bool split(std::string_view path, char* decoded, Split& out) noexcept {
  const bool is_plain = std::memchr(path.data(), '%', path.size()) == nullptr &&
                        std::memchr(path.data(), '\\', path.size()) == nullptr;
  std::size_t begin = 1;
  while (begin <= path.size()) {
    const void* slash = std::memchr(path.data() + begin, '/', path.size() - begin);
    const std::size_t end = slash == nullptr
                                ? path.size()
                                : static_cast<std::size_t>(static_cast<const char*>(slash) -
                                                           path.data());
    std::string_view segment = path.substr(begin, end - begin);
    bool has_slash = false;
    if (!is_plain) {
      if (segment.find('%') != segment.npos) {
        const std::optional<std::size_t> length = decode_segment(segment, decoded);
        if (!length) return false;
        segment = std::string_view(decoded, *length);
        decoded += *length;
      }
      has_slash = segment.find_first_of("/\\") != segment.npos;
    }
    if (segment.size() <= 2 && is_dot_segment(segment)) return false;
    if (segment.empty()) out.has_empty = true;
    if (out.count < limits::route_segments_max) {
      out.segments[out.count] = segment;
      out.spans[out.count] = {static_cast<std::uint16_t>(begin),
                              static_cast<std::uint16_t>(end - begin)};
      out.slashed |= static_cast<std::uint32_t>(has_slash) << out.count;
      ++out.count;
    } else {
      out.too_many = true;
    }
    begin = end + 1;
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
  if (path.empty() || path.front() != '/' || path.size() > limits::request_path_bytes_max) {
    match.status = MatchStatus::path_malformed;
    return match;
  }
  char decoded[limits::request_path_bytes_max];
  Split parts;
  if (!split(path, decoded, parts)) {
    match.status = MatchStatus::path_malformed;
    return match;
  }
  if (parts.has_empty || parts.too_many) return match;
  const Index::Found found = index_->find({parts.segments, parts.count});
  if (found.route == no_route) return match;
  if ((parts.slashed & ~found.slashes_allowed) != 0) {
    // The route is the caller's, the parameter's value is not one: no wider route may take it.
    match.status = MatchStatus::path_malformed;
    return match;
  }
  match.status = MatchStatus::found;
  match.route = &routes_[found.route];
  for (std::uint32_t rest = found.parameters; rest != 0; rest &= rest - 1) {
    match.parameters[match.parameter_count++] = parts.spans[std::countr_zero(rest)];
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
