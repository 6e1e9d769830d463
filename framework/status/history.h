// History: the segments of a book that are still open, with what is counted in them. A look is
// expected in the segments that its due time is in, and unknown there until its record comes; a
// record that comes when a segment is closed does not change it any more.
//
// A part of the Book; not thread-safe.
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

// Due times of one target: phase + k * interval, each looked at by so many nodes.
struct Grid {
  std::int64_t phase_ms = 0;
  std::int64_t interval_ms = 0;
  std::uint64_t nodes = 1;
  std::size_t targets = 1;  // in the whole set
};

class History {
 public:
  struct Open {
    Segment segment;
    std::optional<Level> worst;  // of the incidents that overlap it
    bool is_touched = false;     // in this round
  };
  // Of one scope, by length, oldest first.
  using Scope = std::array<std::vector<Open>, 3>;

  // Made where absent; the reference stays until retain().
  Scope& scope(const std::string& name);
  // Forgets the scopes that are not kept; what was open of them has been told.
  template <class IsKept>
  void retain(IsKept is_kept) {
    std::erase_if(scopes_, [&](const auto& scope) { return !is_kept(scope.first); });
  }

  // How far back a stretch may reach for each length, with so many targets.
  static std::int64_t reach_ms(std::size_t length, std::size_t targets) noexcept;

  // Expects the looks that are due in [from_ms, to_ms).
  void expect(Scope& scope, std::string_view name, const Grid& grid, std::int64_t from_ms,
              std::int64_t to_ms, std::uint64_t round);
  // One of them was made.
  static void answer(Scope& scope, std::int64_t due_at_ms, bool passed,
                     std::optional<std::uint32_t> latency_ms, std::uint64_t round);
  void add_traffic(Scope& scope, std::string_view name, std::int64_t at_ms,
                   const Traffic& traffic, std::uint64_t round);
  // An incident of that severity lasted from `from_ms` until `to_ms`.
  static void overlap(Scope& scope, std::int64_t from_ms, std::int64_t to_ms, Level severity,
                      std::uint64_t round);

  // What changed since the last call, by scope, length and time; ends what is over at `now_ms`.
  std::vector<Segment> take_changes(std::int64_t now_ms);
  [[nodiscard]] std::vector<Segment> open() const;

  void append_text(std::string& out) const;
  // False: there is no such history.
  bool read_text(const nlohmann::json& array);

 private:
  Open& at(Scope& scope, std::string_view name, std::size_t length, std::int64_t started_at_ms,
           std::uint64_t round);

  std::map<std::string, Scope, std::less<>> scopes_;
};

}  // namespace turnpike::status
