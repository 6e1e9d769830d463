#include "registry/index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace turnpike::registry {
namespace {

constexpr std::uint64_t odd_constants[] = {0xa0761d6478bd642full, 0xe7037ed1a0b428dbull,
                                           0x8ebc6af09c88c6e3ull, 0x589965cc75374cc3ull};

// The two halves of the 128-bit product, combined by XOR.
std::uint64_t mixed(std::uint64_t left, std::uint64_t right) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Word>
std::uint64_t load(const char* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Masks that select a segment's bytes from two words, by its size: tables instead of branches,
// since segment sizes are not predictable for the processor.
struct Masks {
  std::uint64_t low[17] = {};
  std::uint64_t high[17] = {};
};
constexpr Masks masks = [] {
  Masks out;
  for (unsigned byte = 0; byte < 8; ++byte) {
    for (unsigned size = byte + 1; size <= 16; ++size) out.low[size] |= 0xFFull << (8 * byte);
    for (unsigned size = byte + 9; size <= 16; ++size) out.high[size] |= 0xFFull << (8 * byte);
  }
  return out;
}();

// Keyed hash of a segment at its position; `seed` makes the tables of different seeds independent.
// REQUIRES: Index::padding readable bytes after the segment.
std::uint64_t hash_of(const char* at, std::size_t size, std::size_t position,
                      std::uint64_t seed) noexcept {
  std::uint64_t hash = seed + position * odd_constants[3];
  std::size_t left = size;
  for (; left > 16; at += 16, left -= 16) {
    hash = mixed(load<std::uint64_t>(at) ^ odd_constants[1], load<std::uint64_t>(at + 8) ^ hash);
  }
  const std::uint64_t low = load<std::uint64_t>(at) & masks.low[left];
  const std::uint64_t high = load<std::uint64_t>(at + 8) & masks.high[left];
  return mixed(low ^ odd_constants[1] ^ size, high ^ hash);
}

std::uint32_t parameters_of(const Matcher& matcher) noexcept {
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < matcher.segments.size(); ++at) {
    if (matcher.segments[at].is_parameter) bits |= 1u << at;
  }
  return bits;
}

std::uint64_t salt_of(std::uint32_t parameters, std::size_t segments) noexcept {
  return mixed((std::uint64_t{parameters} << 8 | segments) ^ odd_constants[2], odd_constants[3]);
}

// Distributes a sum of positional hashes over the slots.
std::uint64_t finished(std::uint64_t sum, std::uint64_t salt) noexcept {
  return mixed(sum ^ salt, odd_constants[1]);
}

// Routes of one shape.
struct Group {
  std::uint32_t parameters = 0;
  std::vector<std::uint32_t> routes;
};
using Groups = std::vector<Group>;

std::array<Groups, base::limits::route_segments_max + 1> grouped(std::span<const Route> routes) {
  std::array<Groups, base::limits::route_segments_max + 1> by_length;
  for (std::uint32_t index = 0; index < routes.size(); ++index) {
    const Matcher& matcher = routes[index].matcher;
    const std::uint32_t parameters = parameters_of(matcher);
    Groups& groups = by_length[matcher.segments.size()];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& known) { return known.parameters == parameters; });
    if (group == groups.end()) {
      groups.push_back({parameters, {}});
      group = groups.end() - 1;
    }
    group->routes.push_back(index);
  }
  for (Groups& groups : by_length) {
    std::sort(groups.begin(), groups.end(), [](const Group& left, const Group& right) {
      return std::pair(std::popcount(left.parameters), left.parameters) <
             std::pair(std::popcount(right.parameters), right.parameters);
    });
  }
  return by_length;
}

// The literals of a route at the positions outside `ignored`, joined into one text.
std::string joint(const Matcher& matcher, std::uint32_t ignored) {
  std::string out;
  for (std::size_t at = 0; at < matcher.segments.size(); ++at) {
    if ((ignored >> at & 1) == 0) out.append(matcher.segments[at].text).push_back('/');
  }
  return out;
}

// A path that both match: the literal if either has one, "x" otherwise.
std::string witness_of(const Matcher& left, const Matcher& right) {
  std::string out;
  for (std::size_t at = 0; at < left.segments.size(); ++at) {
    out.push_back('/');
    if (!left.segments[at].is_parameter) {
      out += left.segments[at].text;
    } else {
      out += right.segments[at].is_parameter ? "x" : right.segments[at].text;
    }
  }
  return out;
}

// Finds pairs of routes of two shapes that share a path although neither shape contains the other,
// by a hash join on the literals that both have. One pair per route of `right` suffices.
void join(std::span<const Route> routes, const Group& left, const Group& right,
          std::vector<Index::Conflict>& conflicts) {
  const bool same_shape = left.parameters == right.parameters;
  const std::uint32_t ignored = left.parameters | right.parameters;
  if (!same_shape && (ignored == left.parameters || ignored == right.parameters)) return;
  std::unordered_map<std::string, std::uint32_t> first_with;
  first_with.reserve(left.routes.size());
  for (const std::uint32_t route : left.routes) {
    const auto [known, added] =
        first_with.try_emplace(joint(routes[route].matcher, ignored), route);
    if (same_shape && !added) {
      conflicts.push_back({Index::Conflict::Kind::duplicate, known->second, route, {}});
    }
  }
  if (same_shape) return;
  for (const std::uint32_t route : right.routes) {
    const auto known = first_with.find(joint(routes[route].matcher, ignored));
    if (known == first_with.end()) continue;
    conflicts.push_back({Index::Conflict::Kind::ambiguous, known->second, route,
                         witness_of(routes[known->second].matcher, routes[route].matcher)});
  }
}

}  // namespace

std::vector<Index::Conflict> Index::conflicts(std::span<const Route> routes) {
  std::vector<Conflict> out;
  for (const Groups& groups : grouped(routes)) {
    if (groups.size() > base::limits::route_shapes_per_length_max) {
      const std::uint32_t route = groups.back().routes.front();
      out.push_back({Conflict::Kind::too_many_shapes, route, route, {}});
      continue;
    }
    for (std::size_t left = 0; left < groups.size(); ++left) {
      for (std::size_t right = left; right < groups.size(); ++right) {
        join(routes, groups[left], groups[right], out);
      }
    }
  }
  return out;
}

Index::Index(std::span<const Route> routes) {
  const auto by_length = grouped(routes);
  for (std::size_t segments = 0; segments < by_length.size(); ++segments) {
    for (const Group& group : by_length[segments]) {
      shapes_[segments].push_back({group.parameters, salt_of(group.parameters, segments)});
    }
  }
  write_entries(routes);
  // At half load with independent hashes, a run of this length occurs for only one seed in many.
  constexpr std::size_t run_max = 64;
  constexpr int seeds_max = 16;
  for (int attempt = 0; attempt < seeds_max; ++attempt) {
    fill(routes, odd_constants[0] * static_cast<std::uint64_t>(2 * attempt + 1));
    if (longest_run_ <= run_max) return;
  }
}

void Index::write_entries(std::span<const Route> routes) {
  entries_.assign(sizeof(std::uint32_t), '\0');  // offset 0 means an empty slot
  entry_of_route_.reserve(routes.size());
  const auto append = [this](const void* bytes, std::size_t count) {
    const auto* begin = static_cast<const char*>(bytes);
    entries_.insert(entries_.end(), begin, begin + count);
  };
  for (const Route& route : routes) {
    entry_of_route_.push_back(static_cast<std::uint32_t>(entries_.size()));
    const std::vector<Segment>& segments = route.matcher.segments;
    std::uint32_t slashes = 0;
    for (std::size_t at = 0; at < segments.size(); ++at) {
      if (segments[at].allows_slash) slashes |= 1u << at;
    }
    append(&slashes, sizeof(slashes));
    for (std::size_t at = 0; at < segments.size(); ++at) {
      if (segments[at].is_parameter) continue;
      const std::size_t first = at;
      std::string text = segments[at].text;
      while (at + 1 < segments.size() && !segments[at + 1].is_parameter) {
        text.append("/").append(segments[++at].text);
      }
      const char ends[] = {static_cast<char>(first + 1), static_cast<char>(at + 1)};
      const auto length = static_cast<std::uint16_t>(text.size());
      append(ends, sizeof(ends));
      append(&length, sizeof(length));
      append(text.data(), text.size());
    }
    entries_.push_back('\0');
  }
  entries_.shrink_to_fit();
}

void Index::fill(std::span<const Route> routes, std::uint64_t seed) {
  seed_ = seed;
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(routes.size() * 2, 8));
  slot_mask_ = capacity - 1;
  slots_.assign(capacity, Slot());
  std::string padded;
  for (std::uint32_t index = 0; index < routes.size(); ++index) {
    const Matcher& matcher = routes[index].matcher;
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < matcher.segments.size(); ++at) {
      const Segment& segment = matcher.segments[at];
      if (segment.is_parameter) continue;
      padded.assign(segment.text).append(padding, '\0');
      sum += hash_of(padded.data(), segment.text.size(), at, seed);
    }
    const std::uint64_t hash =
        finished(sum, salt_of(parameters_of(matcher), matcher.segments.size()));
    std::uint64_t at = hash & slot_mask_;
    while (slots_[at].entry != 0) at = (at + 1) & slot_mask_;
    slots_[at] = {hash, entry_of_route_[index], index};
  }
  longest_run_ = 0;
  std::size_t run = 0;
  for (std::size_t at = 0; at < 2 * capacity; ++at) {  // scans twice, since runs wrap around
    run = slots_[at & slot_mask_].entry == 0 ? 0 : run + 1;
    longest_run_ = std::max(longest_run_, std::min(run, capacity));
  }
}

// Literals contain no slash, so a run of literals can only equal the same number of whole segments.
bool Index::same_literals(std::uint32_t entry, const char* text,
                          std::span<const ParameterSpan> segments) const noexcept {
  const char* at = entries_.data() + entry + sizeof(std::uint32_t);
  while (*at != 0) {
    const ParameterSpan& first = segments[static_cast<std::size_t>(at[0] - 1)];
    const ParameterSpan& last = segments[static_cast<std::size_t>(at[1] - 1)];
    const std::size_t length = load<std::uint16_t>(at + 2);
    at += 4;
    const auto given = static_cast<std::size_t>(last.offset + last.length - first.offset);
    if (given != length || std::memcmp(at, text + first.offset, length) != 0) return false;
    at += length;
  }
  return true;
}

Index::Found Index::find(const char* text, std::span<const ParameterSpan> segments) const noexcept {
  const std::vector<Shape>& shapes = shapes_[segments.size()];
  if (shapes.empty()) return {};
  std::uint64_t hashes[base::limits::route_segments_max];
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < segments.size(); ++at) {
    hashes[at] = hash_of(text + segments[at].offset, segments[at].length, at, seed_);
    total += hashes[at];
  }
  for (const Shape& shape : shapes) {
    std::uint64_t sum = total;
    for (std::uint32_t rest = shape.parameters; rest != 0; rest &= rest - 1) {
      sum -= hashes[std::countr_zero(rest)];
    }
    const std::uint64_t hash = finished(sum, shape.salt);
    for (std::uint64_t at = hash & slot_mask_; slots_[at].entry != 0; at = (at + 1) & slot_mask_) {
      const Slot& slot = slots_[at];
      if (slot.hash != hash || !same_literals(slot.entry, text, segments)) continue;
      return {slot.route, shape.parameters,
              static_cast<std::uint32_t>(load<std::uint32_t>(entries_.data() + slot.entry))};
    }
  }
  return {};
}

}  // namespace turnpike::registry
