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

// Both halves of the 128-bit product, folded.
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

// Spreads a sum of placed hashes over the slots.
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
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
      return known.parameters == parameters;
    });
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

// The literals of a route at the positions outside `ignored`, as one text.
std::string joint(const Matcher& matcher, std::uint32_t ignored) {
  std::string out;
  for (std::size_t at = 0; at < matcher.segments.size(); ++at) {
    if ((ignored >> at & 1) == 0) out.append(matcher.segments[at].text).push_back('/');
  }
  return out;
}

// A path that both match: literals where either has one, "x" where neither has.
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

// Pairs of routes of two shapes that share a path although neither shape contains the other, found
// by joining on the literals that both have. One pair for each route of `right` suffices.
void join(std::span<const Route> routes, const Group& left, const Group& right,
          std::vector<Index::Conflict>& conflicts) {
  const bool same_shape = left.parameters == right.parameters;
  const std::uint32_t ignored = left.parameters | right.parameters;
  if (!same_shape && (ignored == left.parameters || ignored == right.parameters)) return;
  std::unordered_map<std::string, std::uint32_t> first_with;
  first_with.reserve(left.routes.size());
  for (const std::uint32_t route : left.routes) {
    const auto [known, added] = first_with.try_emplace(joint(routes[route].matcher, ignored), route);
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

std::uint64_t hash_of_segment(std::string_view segment, std::uint64_t seed) noexcept {
  const char* at = segment.data();
  std::size_t left = segment.size();
  std::uint64_t hash = seed ^ odd_constants[0];
  if (left > 16) {
    do {
      hash = mixed(load<std::uint64_t>(at) ^ odd_constants[1], load<std::uint64_t>(at + 8) ^ hash);
      at += 16;
      left -= 16;
    } while (left > 16);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = load<std::uint64_t>(at);
    high = load<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    low = load<std::uint32_t>(at);
    high = load<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    low = std::uint64_t{static_cast<unsigned char>(at[0])} << 16 |
          std::uint64_t{static_cast<unsigned char>(at[left >> 1])} << 8 |
          static_cast<unsigned char>(at[left - 1]);
  }
  return mixed(low ^ odd_constants[1] ^ segment.size(), high ^ hash);
}

std::uint64_t placed(std::uint64_t segment_hash, std::size_t position) noexcept {
  return mixed(segment_hash ^ odd_constants[2], odd_constants[3] + 2 * position);
}

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
  // Runs of this length do not happen at half load with independent hashes but once in many seeds.
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
  for (const Route& route : routes) {
    entry_of_route_.push_back(static_cast<std::uint32_t>(entries_.size()));
    std::uint32_t slashes = 0;
    for (std::size_t at = 0; at < route.matcher.segments.size(); ++at) {
      if (route.matcher.segments[at].allows_slash) slashes |= 1u << at;
    }
    const auto append = [this](const void* bytes, std::size_t count) {
      const auto* begin = static_cast<const char*>(bytes);
      entries_.insert(entries_.end(), begin, begin + count);
    };
    append(&slashes, sizeof(slashes));
    for (const Segment& segment : route.matcher.segments) {
      if (segment.is_parameter) continue;
      const auto length = static_cast<std::uint16_t>(segment.text.size());
      append(&length, sizeof(length));
      append(segment.text.data(), segment.text.size());
    }
  }
  entries_.shrink_to_fit();
}

void Index::fill(std::span<const Route> routes, std::uint64_t seed) {
  seed_ = seed;
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(routes.size() * 2, 8));
  slot_mask_ = capacity - 1;
  slots_.assign(capacity, Slot());
  for (std::uint32_t index = 0; index < routes.size(); ++index) {
    const Matcher& matcher = routes[index].matcher;
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < matcher.segments.size(); ++at) {
      const Segment& segment = matcher.segments[at];
      if (!segment.is_parameter) sum += placed(hash_of_segment(segment.text, seed), at);
    }
    const std::uint64_t hash =
        finished(sum, salt_of(parameters_of(matcher), matcher.segments.size()));
    std::uint64_t at = hash & slot_mask_;
    while (slots_[at].entry != 0) at = (at + 1) & slot_mask_;
    slots_[at] = {hash, entry_of_route_[index], index};
  }
  longest_run_ = 0;
  std::size_t run = 0;
  for (std::size_t at = 0; at < 2 * capacity; ++at) {  // twice around: runs wrap
    run = slots_[at & slot_mask_].entry == 0 ? 0 : run + 1;
    longest_run_ = std::max(longest_run_, std::min(run, capacity));
  }
}

bool Index::same_literals(std::uint32_t entry, const Shape& shape,
                          std::span<const std::string_view> segments) const noexcept {
  const char* at = entries_.data() + entry + sizeof(std::uint32_t);
  for (std::size_t position = 0; position < segments.size(); ++position) {
    if ((shape.parameters >> position & 1) != 0) continue;
    const std::size_t length = load<std::uint16_t>(at);
    at += sizeof(std::uint16_t);
    if (length != segments[position].size() ||
        std::memcmp(at, segments[position].data(), length) != 0) {
      return false;
    }
    at += length;
  }
  return true;
}

Index::Found Index::find(std::span<const std::string_view> segments) const noexcept {
  const std::vector<Shape>& shapes = shapes_[segments.size()];
  if (shapes.empty()) return {};
  std::uint64_t hashes[base::limits::route_segments_max];
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < segments.size(); ++at) {
    hashes[at] = placed(hash_of_segment(segments[at], seed_), at);
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
      if (slot.hash != hash || !same_literals(slot.entry, shape, segments)) continue;
      return {slot.route, shape.parameters,
              static_cast<std::uint32_t>(load<std::uint32_t>(entries_.data() + slot.entry))};
    }
  }
  return {};
}

}  // namespace turnpike::registry
