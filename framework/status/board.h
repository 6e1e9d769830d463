// Board: the public documents of the status after one round, as bytes, so that a read needs no
// lock, no JSON and no database. Each stands there twice: as found, and as it reads once it is
// stale, when every component is unknown. The reader's clock decides between the two, so a gateway
// whose looks have stopped cannot stay green.
//
// Immutable; made away from the loops whenever a round was closed or the program changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/generation.h"
#include "status/book.h"
#include "status/store.h"
#include "status/target.h"

namespace turnpike::status {

// Where the board's facts come from; all of it is read while the board is made.
struct BoardInput {
  const registry::Program& program;
  const registry::Generation& generation;  // installed
  const TargetSet& targets;                // of the installed program
  std::string_view stream;                 // whose rounds these are: "st_…"
  // Null: the stream has no round. Its generation may be another one than the installed: everything
  // is unverified then, until the first round of the installed one.
  const NewestRound* newest = nullptr;
  const Book* book = nullptr;                // after that round; null with it
  const std::vector<bool>& offered;          // by operation: programmed, priced and callable now
  std::span<const ShownIncident> incidents;  // not resolved, and those of the last 24 hours
  std::span<const Segment> days;             // of all scopes, of the last 90 days
  std::span<const Maintenance> maintenance;  // announced and not over
  std::optional<Lease> leader;
  std::span<const SigningKey> keys;
  std::int64_t made_at_ms = 0;
};

// One document in both forms.
struct BoardDocument {
  std::string current;
  std::string stale;
  std::int64_t valid_until_ms = 0;  // from then on the second holds

  [[nodiscard]] const std::string& at(std::int64_t now_ms) const noexcept {
    return now_ms < valid_until_ms ? current : stale;
  }
};

// Where a board's facts come from, for the foot of pages.
struct BoardOrigin {
  std::uint64_t round = 0;  // 0: the stream has none
  std::string head = {};    // "sha256:…" of that round
  Level level = Level::unknown;  // of the gateway as a whole, as long as it is believed
  std::int64_t valid_until_ms = 0;

  [[nodiscard]] Level level_at(std::int64_t now_ms) const noexcept {
    return now_ms < valid_until_ms ? level : Level::unknown;
  }
};

class Board {
 public:
  explicit Board(const BoardInput& input);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  [[nodiscard]] const BoardOrigin& origin() const noexcept { return origin_; }
  [[nodiscard]] const BoardDocument& status() const noexcept { return status_; }
  [[nodiscard]] const BoardDocument& gateway() const noexcept { return gateway_; }
  // Once it is stale, or there is none: null.
  [[nodiscard]] const std::string* authority(std::int64_t now_ms) const noexcept;
  // Null: not in the active catalog.
  [[nodiscard]] const BoardDocument* operation(std::string_view capability_id) const noexcept;
  [[nodiscard]] const BoardDocument* provider(std::string_view key) const noexcept;
  [[nodiscard]] const BoardDocument* badge(std::string_view provider_key) const noexcept;  // SVG

 private:
  BoardOrigin origin_;
  BoardDocument status_;
  BoardDocument gateway_;
  BoardDocument authority_;
  std::map<std::string, BoardDocument, std::less<>> operations_;
  std::map<std::string, BoardDocument, std::less<>> providers_;
  std::map<std::string, BoardDocument, std::less<>> badges_;
};

}  // namespace turnpike::status
