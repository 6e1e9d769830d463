// Arbitrary bytes as evidence. Each reader accepts only text that it would write itself, an
// accepted book can be continued without harm, and a verifier ends every stream with a problem or
// finds it valid. The same bytes are also used as edits of valid evidence: every change must be
// found.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "status/published.h"
#include "status/stream.h"
#include "status/verify.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike::status;

void check_evidence_readers(std::string_view line) {
  if (const auto record = read_line(line); record.ok()) check(line_of(*record) == line);
  if (const auto round = read_round(line); round.ok()) check(text_of(*round) == line);
  if (const auto set = read_target_set(line); set.ok()) check(set->canonical() == line);
  auto book = Book::read(line);
  if (!book.ok()) return;
  check(book->canonical() == line);
  // Appends two rounds, whatever the book says.
  const TargetSet set = dozen();
  RoundHead head;
  head.stream = "st_01";
  head.nodes = {"n_1"};
  head.round = book->round();
  head.started_at_ms = book->ended_at_ms();
  for (int at = 0; at < 2; ++at) {
    ++head.round;
    head.epoch = ~std::uint64_t{0} >> 12;
    head.ended_at_ms = head.started_at_ms + minute_ms;
    book->apply(set, head, {});
    head.started_at_ms = head.ended_at_ms;
    (void)book->canonical();
  }
}

// Evidence that is signed with the seed of all test streams.
const Stream& recorded() {
  static const Stream stream = [] {
    Stream made(dozen());
    made.signs = true;
    made.nodes = {"n_1", "n_2"};
    made.rounds(2);
    made.failing = {"upstream:b", "operation:b1:POST"};
    made.rounds(2);
    return made;
  }();
  return stream;
}

// Returns false if any line does not fit.
bool verify(std::string_view text) {
  Verifier verifier({turnpike::crypto::ed25519_public_key(recorded().seed)});
  bool fits = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    fits = fits && verifier.take(text.substr(at, end - at));
    check(fits == verifier.problem().empty());
    at = end + 1;
  }
  fits = verifier.end() && fits;
  check(fits == verifier.problem().empty());
  return fits;
}

// Each edit is three bytes: two for the place, one for the change.
void check_edits(std::string_view edits) {
  static const std::string evidence = recorded().evidence();
  std::string text = evidence;
  for (std::size_t at = 0; at + 2 < edits.size() && at < 30; at += 3) {
    const auto byte = [&](std::size_t index) {
      return static_cast<std::size_t>(static_cast<unsigned char>(edits[at + index]));
    };
    text[(byte(0) * 256 + byte(1)) * 7 % text.size()] ^= edits[at + 2];
  }
  // The newline after the last line is not part of the line.
  const bool is_same = std::string_view(text).substr(0, text.size() - 1) ==
                       std::string_view(evidence).substr(0, evidence.size() - 1);
  check(verify(text) == (is_same && text.back() == '\n'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    check_evidence_readers(text.substr(at, end - at));
    at = end + 1;
  }
  (void)verify(text);
  check_edits(text);
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_discarded()) {
    (void)published_after(document);
    const Book book;
    (void)compare_published(document, RoundHead(), book, dozen(), {});
  }
  return 0;
}
