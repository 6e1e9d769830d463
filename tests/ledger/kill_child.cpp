// The process that the kill test kills: settles on many Threads and writes one byte for every
// settlement that was answered, after the answer, to the pipe it inherited.
//
//   ledger_kill_child sqlite|postgres DATA_DIR PATH_OR_URL ACCOUNT PIPE_FD
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/sources.h"
#include "ledger/escrow_ledger.h"
#include "storage/node.h"

namespace {

using namespace turnpike;

void call_for_ever(ledger::EscrowLedger& books, const std::string& account, int pipe) {
  const base::SystemClock clock;
  base::SystemRandom random;
  base::UuidSource uuids(clock, random);
  while (true) {
    auto hold = books.hold({account}, 1, runtime::Deadline::after_ms(5'000));
    if (!hold) continue;
    const base::UuidText message = uuids.next();
    ledger::UsageFact fact;
    fact.message_id = base::view(message);
    fact.request_id = base::view(message);
    fact.account_id = account;
    fact.charged = true;
    fact.outcome_reason = "success";
    const auto settled = books.settle(*std::move(hold), fact);
    if (std::holds_alternative<ledger::Settled>(settled) && ::write(pipe, "x", 1) != 1) return;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  storage::Settings settings;
  settings.engine =
      std::string(words[1]) == "sqlite" ? storage::Engine::sqlite : storage::Engine::postgres;
  settings.data_dir = words[2];
  settings.sqlite_path = words[3];
  settings.postgres_url = words[3];
  settings.sessions = 2;
  const std::string account = words[4];
  const int pipe = std::atoi(words[5]);
  const base::SystemClock clock;
  base::SystemRandom random;
  auto node = storage::Node::open(settings, storage::Role::gateway, {clock, random});
  if (!node) {
    std::fprintf(stderr, "%s\n", node.error().c_str());
    return 1;
  }
  const auto log = base::make_silent_log();
  const auto metrics = base::make_metrics();
  runtime::BlockingPool pool(1, 16);
  ledger::EscrowLedger books((*node)->ledger(), {}, {*log, *metrics, pool, nullptr});
  if (!books.start()) return 1;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 16; ++caller) {
    callers.emplace_back([&] { call_for_ever(books, account, pipe); });
  }
  for (std::thread& caller : callers) caller.join();
  return 0;
}
