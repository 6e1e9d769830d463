// The process that the status tests kill: a leader that closes rounds and promises each written
// one. Its argument is the file that names the crash point at which it dies.
#include <cstdlib>

#include "conformance/status_rounds.h"
#include "support/victim.h"

int main(int count, char** words) {
  using namespace turnpike;
  support::VictimSide side(count, words);
  ::setenv("TURNPIKE_CRASH_AT", side.words.at(0).c_str(), 1);
  status::StatusStore& store = side.node->status();
  const auto lease = store.hold_lease("n_child", 600'000);
  if (!lease.ok() || !*lease) return 1;
  while (true) {
    const auto newest = store.newest(support::status_stream);
    if (!newest.ok()) return 1;
    const std::int64_t started_at_ms = *newest ? (*newest)->round.head.ended_at_ms : 0;
    status::ClosedRound round = support::round_after(*newest, **lease, started_at_ms);
    round.keeps_book = true;
    const std::int64_t number = static_cast<std::int64_t>(round.round.head.round);
    round.changes.segments = {support::status_segment("gateway", 300'000, 300'000 * number)};
    round.changes.incidents = {support::status_incident("inc_" + std::to_string(number), number)};
    const auto closing = store.close_round(round);
    if (!closing.ok() || *closing != status::Closing::written || !side.promised()) return 1;
  }
}
