// Index: the matching tables of a Program. A shape is a number of segments and a set of parameter
// positions. Routes of one shape differ in their literals only, so one hash of the literals finds
// the only candidate: a look-up costs one probe per shape of the path's length, at most
// route_shapes_per_length_max, however many routes there are.
//
// A look-up splits the path once and hashes each segment once. The hash of a shape is the sum of
// its literals' hashes, so that each further shape costs a few subtractions. The sums are 64 bits
// wide and the literals are compared afterwards, adjacent ones in one step. The longest run of
// taken slots is bounded when the table is built (otherwise another seed is tried), so no chosen
// path can be slow.
//
// Internal to registry/: match.cpp looks up, index.cpp builds. Immutable once built; concurrent
// look-ups are safe on any Thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/limits.h"
#include "registry/program.h"

namespace turnpike::registry {

inline constexpr std::uint32_t no_route = 0xFFFFFFFFu;

class Index {
 public:
  // The reason why a set of routes cannot be indexed.
  struct Conflict {
    enum class Kind : std::uint8_t { duplicate, ambiguous, too_many_shapes };
    Kind kind = Kind::duplicate;
    std::uint32_t first = 0;  // indexes of routes
    std::uint32_t second = 0;
    std::string witness;  // ambiguous: a path that both match
  };

  // All conflicts, at most one of each kind per route and shape.
  static std::vector<Conflict> conflicts(std::span<const Route> routes);

  // REQUIRES: conflicts(routes) is empty.
  explicit Index(std::span<const Route> routes);

  // The index of a route; bit masks of its parameters' positions, and of those that allow slashes.
  struct Found {
    std::uint32_t route = no_route;
    std::uint32_t parameters = 0;
    std::uint32_t slashes_allowed = 0;
  };
  // `text` is a decoded path and `segments` its segments, with one slash between two; no segment is
  // empty, and there are at most route_segments_max. REQUIRES: `padding` readable bytes after the
  // path, of any value.
  static constexpr std::size_t padding = 16;
  [[nodiscard]] Found find(const char* text,
                           std::span<const ParameterSpan> segments) const noexcept;

  [[nodiscard]] std::size_t longest_run() const noexcept { return longest_run_; }

 private:
  struct Shape {
    std::uint32_t parameters;  // bit i: segment i is a parameter
    std::uint64_t salt;
  };
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t entry = 0;  // offset in entries_; 0: empty
    std::uint32_t route = 0;
  };

  void fill(std::span<const Route> routes, std::uint64_t seed);
  void write_entries(std::span<const Route> routes);
  [[nodiscard]] bool same_literals(std::uint32_t entry, const char* text,
                                   std::span<const ParameterSpan> segments) const noexcept;

  std::uint64_t seed_ = 0;
  std::uint64_t slot_mask_ = 0;
  std::size_t longest_run_ = 0;
  // Shapes by number of segments, those with the fewest parameters first.
  std::array<std::vector<Shape>, base::limits::route_segments_max + 1> shapes_;
  std::vector<Slot> slots_;
  // Per route: the bits of the parameters that allow slashes (4 bytes), then each run of literals:
  // its first and last segment (1 byte each, from 1; 0 ends), its length (2 bytes), and its text
  // with the slashes between: one or two cache lines to verify a candidate.
  std::vector<char> entries_;
  std::vector<std::uint32_t> entry_of_route_;
};

}  // namespace turnpike::registry
