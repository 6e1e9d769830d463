// Evidence from bytes nobody has looked at. Each reader takes only what it would write itself, a
// book that was read goes on without harm, and a verifier ends every stream with a sentence or
// without a fault.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "status/published.h"
#include "status/stream.h"
#include "status/verify.h"

namespace {

using namespace turnpike::status;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_readers(std::string_view line) {
  if (const auto record = read_line(line); record.ok()) check(line_of(*record) == line);
  if (const auto round = read_round(line); round.ok()) check(text_of(*round) == line);
  if (const auto set = read_target_set(line); set.ok()) check(set->canonical() == line);
  auto book = Book::read(line);
  if (!book.ok()) return;
  check(book->canonical() == line);
  // Two rounds on top of whatever it says.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  turnpike::crypto::Ed25519Seed seed{};
  for (std::size_t at = 0; at < seed.size(); ++at) seed[at] = static_cast<std::uint8_t>(at + 1);
  Verifier verifier({turnpike::crypto::ed25519_public_key(seed)});
  bool fits = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    check_readers(line);
    fits = fits && verifier.take(line);
    check(fits == verifier.problem().empty());
    at = end + 1;
  }
  (void)verifier.end();
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_discarded()) {
    (void)published_after(document);
    const Book book;
    (void)compare_published(document, RoundHead(), book, dozen(), {});
  }
  return 0;
}
