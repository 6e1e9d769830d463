// History: the open segments of a book and their counts. A look is expected in the segments that
// contain its due time, and is unknown there until its record comes; a record that comes after a
// segment is closed no longer changes it.
//
// Part of the Book; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "status/book.h"

namespace turnpike::status {

// Due times of one target: phase + k * interval, each looked at by `nodes` nodes.
struct Grid {
  std::int64_t phase_ms = 0;
  std::int64_t interval_ms = 0;
  std::uint64_t nodes = 1;
  std::size_t targets = 1;  // size of the whole set
};

class History {
 public:
  struct Open {
    Segment segment;
    std::optional<Level> worst;  // of the incidents that overlap the segment
    bool is_touched = false;     // changed in this round
  };
  // The segments of one scope, by length, oldest first.
  using Scope = std::array<std::vector<Open>, 3>;

  // Creates the scope if it is absent; the reference is valid until retain().
  Scope& scope(const std::string& name);
  // Removes the scopes that are not kept; their open segments have been reported already.
  template <class IsKept>
  void retain(IsKept is_kept) {
    std::erase_if(scopes_, [&](const auto& scope) { return !is_kept(scope.first); });
  }

  // The maximum distance back that a gap is filled for each length, given the number of targets.
  static std::int64_t reach_ms(std::size_t length, std::size_t targets) noexcept;

  // Counts the looks that are due in [from_ms, to_ms) as expected.
  void expect(Scope& scope, std::string_view name, const Grid& grid, std::int64_t from_ms,
              std::int64_t to_ms, std::uint64_t round);
  // Counts the result of one expected look.
  static void answer(Scope& scope, std::int64_t due_at_ms, bool passed,
                     std::optional<std::uint32_t> latency_ms, std::uint64_t round);
  void add_traffic(Scope& scope, std::string_view name, std::int64_t at_ms,
                   const Traffic& traffic, std::uint64_t round);
  // An incident of `severity` lasted from `from_ms` to `to_ms`.
  static void overlap(Scope& scope, std::int64_t from_ms, std::int64_t to_ms, Level severity,
                      std::uint64_t round);

  // Changes since the last call, by scope, length and time; closes segments that are over at
  // `now_ms`.
  std::vector<Segment> take_changes(std::int64_t now_ms);
  [[nodiscard]] std::vector<Segment> open() const;

  void append_text(std::string& out) const;
  // False: the text is not a valid history.
  bool read_text(const nlohmann::json& array);

 private:
  Open& at(Scope& scope, std::string_view name, std::size_t length, std::int64_t started_at_ms,
           std::uint64_t round);

  std::map<std::string, Scope, std::less<>> scopes_;
};

}  // namespace turnpike::status
