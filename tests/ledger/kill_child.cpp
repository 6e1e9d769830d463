// The process that the kill test kills: settles on many Threads for the account in its only
// argument, and promises each settlement that was answered.
#include "base/ids.h"
#include "ledger/escrow/escrow_ledger.h"
#include "support/victim.h"

namespace {

using namespace turnpike;

void call_for_ever(ledger::EscrowLedger& books, const support::VictimSide& side) {
  const std::string& account = side.words.at(0);
  base::SystemRandom random;
  base::UuidSource uuids(side.clock, random);
  while (true) {
    auto hold = books.hold({account}, 1, runtime::Deadline::after_ms(60'000));
    if (!hold) continue;
    const base::UuidText message = uuids.next();
    ledger::UsageFact fact;
    fact.message_id = base::view(message);
    fact.request_id = base::view(message);
    fact.account_id = account;
    fact.charged = true;
    fact.outcome_reason = "success";
    const auto settled = books.settle(*std::move(hold), fact);
    if (std::holds_alternative<ledger::Settled>(settled) && !side.promised()) return;
  }
}

}  // namespace

int main(int count, char** words) {
  support::VictimSide side(count, words);
  const auto metrics = base::make_metrics();
  ledger::EscrowLedger books(side.node->ledger(), {}, {*side.log, *metrics, side.pool, nullptr});
  if (!books.start()) return 1;
  side.run_on_threads(16, [&] { call_for_ever(books, side); });
  return 0;
}
