// Board: the public status documents after one round, as bytes, so that a read needs no lock, no
// JSON and no database. Each document is stored in two forms: current, and stale with every
// component unknown. The reader's clock selects the form, so a gateway whose looks have stopped
// cannot stay green.
//
// Immutable; made outside the loops whenever a round was closed or the program changed.
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

// The sources of a board's facts; all are read while the board is made.
struct BoardInput {
  const registry::Program& program;
  const registry::Generation& generation;  // installed
  const TargetSet& targets;                // of the installed program
  std::string_view stream;                 // the stream of the rounds: "st_…"
  // Null: the stream has no round. If the round belongs to another generation than the installed
  // one, every component is unverified until the first round of the installed generation.
  const NewestRound* newest = nullptr;
  const Book* book = nullptr;                // the book after that round; null without a round
  const std::vector<bool>& offered;          // by operation: programmed, priced and callable now
  std::span<const ShownIncident> incidents;  // unresolved ones, and those of the last 24 hours
  std::span<const Segment> days;             // of all scopes, of the last 90 days
  std::span<const Maintenance> maintenance;  // announced and not over yet
  std::optional<Lease> leader;
  std::span<const SigningKey> keys;
  std::int64_t made_at_ms = 0;
};

// Both forms of one document. Documents that everybody polls are compressed, too.
struct BoardDocument {
  std::string current;
  std::string stale;
  std::int64_t valid_until_ms = 0;  // the stale form applies from this time on
  std::string current_brotli = {};  // RFC 7932; empty: not compressed
  std::string stale_brotli = {};

  [[nodiscard]] const std::string& at(std::int64_t now_ms) const noexcept {
    return now_ms < valid_until_ms ? current : stale;
  }
  [[nodiscard]] const std::string& brotli_at(std::int64_t now_ms) const noexcept {
    return now_ms < valid_until_ms ? current_brotli : stale_brotli;
  }
};

// The round that a board is made from, for the footer of pages.
struct BoardOrigin {
  std::uint64_t round = 0;  // 0: the stream has none
  std::string head = {};    // "sha256:…" of that round
  Level level = Level::unknown;  // of the whole gateway, while the round is fresh
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
  // Null: the document is stale or does not exist.
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
