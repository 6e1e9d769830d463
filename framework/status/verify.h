// Verifier: checks that evidence is consistent. It reads the lines of GET /v1/status/evidence one
// after the other (evidence.h), checks signatures, chain and numbers, folds the records into a book
// of its own and compares that book with the hash that each round signed. The first line that does
// not match ends the verification with a sentence that names it.
//
// The input may be hostile and made to exhaust the machine: lines, rounds and sets are bounded, and
// at most one round is held. One Thread at a time.
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
inline constexpr std::size_t evidence_sets_max = 16;  // cached at once

// The results of a successful verification.
struct Verified {
  std::string stream;
  std::uint64_t first_round = 0;  // 0: no round
  std::uint64_t last_round = 0;
  std::string last_head;
  std::uint64_t rounds = 0;
  std::uint64_t records = 0;
  std::uint64_t states = 0;  // rounds after which every status was recomputed
  std::uint64_t pruned = 0;  // rounds without records: only their heads are checked
  std::int64_t started_at_ms = 0;
  std::int64_t ended_at_ms = 0;
  std::set<std::string> kids;  // key ids of the signers
};

// The gateway's day segments made by the book, by start.
using Days = std::map<std::int64_t, Segment>;

class Verifier {
 public:
  // Rounds must be signed by one of `keys`.
  explicit Verifier(std::vector<crypto::Ed25519PublicKey> keys);

  // Registers a published document of GET /v1/status/gateway to compare; call it before the rounds
  // it is based on. False: not such a document.
  bool expect(std::string_view published);

  // Takes one line without its newline. False: the line does not match, see problem(); no further
  // line is taken.
  bool take(std::string_view line);
  // Ends the input. False: something is missing.
  bool end();

  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const Verified& verified() const noexcept { return verified_; }
  // True if the document of expect() was compared; without a problem it matches.
  [[nodiscard]] bool was_compared() const noexcept { return was_compared_; }
  [[nodiscard]] std::uint64_t published_round() const noexcept { return published_round_; }
  // The book after the newest round; null: the evidence does not contain one.
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

  std::optional<RoundHead> open_;  // the round whose records are being read
  std::uint64_t open_line_ = 0;
  std::string lines_;
  std::vector<Record> records_;
  std::optional<std::uint64_t> newest_sequence_;  // of the records so far
  std::string newest_state_hash_;

  std::optional<Book> book_;
  bool is_book_proven_ = true;  // false: a given book that no round has confirmed yet
  std::uint64_t book_line_ = 0;
  Days days_;

  std::optional<nlohmann::json> published_;
  std::uint64_t published_round_ = 0;
  bool was_compared_ = false;

  Verified verified_;
  std::string problem_;
};

}  // namespace turnpike::status
