// Verifier: whether evidence fits together. It reads the lines of GET /v1/status/evidence one after
// the other (evidence.h), checks signatures, chain and numbers, folds the records into a book of
// its own and compares that book with what each round signed. The first line that does not fit ends
// it, with a sentence that names it.
//
// It is given bytes of people who may want it to fail or to use up the machine: lines, rounds and
// sets are bounded, and at most one round is held. One Thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "crypto/signature.h"
#include "status/book.h"
#include "status/round.h"
#include "status/target.h"

namespace turnpike::status {

inline constexpr std::size_t evidence_line_bytes_max = 64 * 1024 * 1024;   // of a book or a set
inline constexpr std::size_t evidence_round_bytes_max = 64 * 1024 * 1024;  // of a round's records
inline constexpr std::size_t evidence_sets_max = 16;  // that are remembered at once

// What was found to be right.
struct Verified {
  std::string stream;
  std::uint64_t first_round = 0;  // 0: there was none
  std::uint64_t last_round = 0;
  std::string last_head;
  std::uint64_t rounds = 0;
  std::uint64_t records = 0;
  std::uint64_t states = 0;  // rounds after which every status was recomputed
  std::uint64_t pruned = 0;  // rounds whose records are not kept: only their heads are checked
  std::int64_t started_at_ms = 0;
  std::int64_t ended_at_ms = 0;
  std::set<std::string> kids;  // of the keys that signed
};

// The days of the gateway, by their start, as far as the book made them.
using Days = std::map<std::int64_t, Segment>;

class Verifier {
 public:
  // Rounds must be signed by one of `keys`.
  explicit Verifier(std::vector<crypto::Ed25519PublicKey> keys);

  // A document of GET /v1/status/gateway that was published after one of the rounds to come; call
  // it before them. False: it is none.
  bool expect(std::string_view published);

  // One line without its newline. False: it does not fit, see problem(), and nothing more is taken.
  bool take(std::string_view line);
  // There are no more lines. False: something is missing.
  bool end();

  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const Verified& verified() const noexcept { return verified_; }
  // Whether the document of expect() was compared; without a problem it is right.
  [[nodiscard]] bool was_compared() const noexcept { return was_compared_; }
  [[nodiscard]] std::uint64_t published_round() const noexcept { return published_round_; }
  // After the newest round; null: the evidence does not tell it.
  [[nodiscard]] const Book* book() const noexcept { return book_ ? &*book_ : nullptr; }
  [[nodiscard]] const Days& days() const noexcept { return days_; }

 private:
  bool fail(std::string problem);
  bool take_targets(std::string_view line);
  bool take_book(std::string_view line);
  bool take_round(std::string_view line);
  bool take_record(std::string_view line);
  bool take_pruned(std::string_view line);
  bool close_round();
  bool check_place(const RoundHead& head);
  bool check_state();
  bool compare();
  [[nodiscard]] const crypto::Ed25519PublicKey* key_of(const std::string& kid) const;
  [[nodiscard]] std::string at_line() const;
  [[nodiscard]] std::string of_round() const;

  std::vector<crypto::Ed25519PublicKey> keys_;
  std::map<std::string, TargetSet> sets_;  // by hash
  std::deque<std::string> set_order_;
  std::uint64_t line_ = 0;
  bool is_over_ = false;

  std::optional<RoundHead> open_;  // whose records are being read
  std::uint64_t open_line_ = 0;
  std::string lines_;
  std::vector<Record> records_;
  std::optional<std::uint64_t> newest_sequence_;  // of the records so far
  std::string newest_state_hash_;

  std::optional<Book> book_;
  bool is_book_proven_ = true;  // not: it was given, and no round signed what follows from it yet
  std::uint64_t book_line_ = 0;
  Days days_;

  std::optional<nlohmann::json> published_;
  std::uint64_t published_round_ = 0;
  bool was_compared_ = false;

  Verified verified_;
  std::string problem_;
};

}  // namespace turnpike::status
