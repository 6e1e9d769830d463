#include "ledger/escrow_ledger.h"

#include "ledger/committer.h"
#include "ledger/escrow.h"

namespace turnpike::ledger {
namespace {

constexpr std::uint32_t balance_threads_max = 4;
constexpr std::uint32_t balance_queue_max = 1'024;

}  // namespace

struct EscrowLedger::Machine {
  Machine(LedgerStore& books, const LedgerSettings& settings, Sources given)
      : store(books),
        sources(std::move(given)),
        balance_user(sources.pool.add_user("ledger", balance_threads_max, balance_queue_max)),
        escrow(store, settings, sources.log, sources.fatal),
        committer(store, escrow, settings, sources) {}

  LedgerStore& store;
  const Sources sources;
  const runtime::PoolUser balance_user;
  Escrow escrow;
  Committer committer;  // ends before the escrow
};

EscrowLedger::EscrowLedger(LedgerStore& store, const LedgerSettings& settings, Sources sources)
    : machine_(std::make_unique<Machine>(store, settings, std::move(sources))) {}

EscrowLedger::~EscrowLedger() = default;

Stored<Unit> EscrowLedger::start() {
  auto started = machine_->store.start();
  if (!started) return started;
  started = machine_->committer.start();
  if (!started) return started;
  machine_->escrow.start();
  return Unit{};
}

void EscrowLedger::stop() noexcept {
  machine_->committer.stop();
  machine_->escrow.stop();
}

LedgerHealth EscrowLedger::health() const noexcept {
  return {machine_->escrow.available() && machine_->committer.available(),
          machine_->escrow.expiry_paused()};
}

Result<Hold, base::Error> EscrowLedger::hold(const Payer& payer, Credits units,
                                             runtime::Deadline until) {
  if (!machine_->committer.available()) {
    return base::Error{base::ErrorCode::billing_ledger_unavailable,
                       "The Credit ledger cannot be reached; nothing was charged.", 1};
  }
  return machine_->escrow.hold(payer, units, until);
}

Settlement EscrowLedger::settle(Hold hold, const UsageFact& fact) {
  return machine_->committer.settle(std::move(hold), fact);
}

// The hold gives its units back when it ends here.
void EscrowLedger::release([[maybe_unused]] Hold hold, const UsageFact& fact) noexcept {
  machine_->committer.record(fact);
}

Result<Balance, base::Error> EscrowLedger::balance(std::string_view account_id,
                                                   runtime::Deadline deadline) {
  auto reply = machine_->sources.pool.call(
      machine_->balance_user,
      [store = &machine_->store, id = std::string(account_id)] { return store->balance(id); },
      deadline);
  if (reply.outcome == runtime::PoolOutcome::done) return *std::move(reply.value);
  return base::Error{base::ErrorCode::billing_ledger_unavailable,
                     "The Credit ledger did not answer in time.", 1};
}

}  // namespace turnpike::ledger
