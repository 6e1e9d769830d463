#include "ledger/escrow/escrow_ledger.h"

#include "ledger/escrow/committer.h"
#include "ledger/escrow/escrow.h"

namespace turnpike::ledger {
namespace {

constexpr std::uint32_t balance_threads_max = 4;
constexpr std::uint32_t balance_queue_max = 1'024;
constexpr std::uint32_t replay_threads_max = 4;
constexpr std::uint32_t replay_queue_max = 1'024;

}  // namespace

struct EscrowLedger::Machine {
  Machine(LedgerStore& books, const LedgerSettings& settings, Sources given)
      : store(books),
        sources(std::move(given)),
        balance_user(sources.pool.add_user("ledger", balance_threads_max, balance_queue_max)),
        replay_user(sources.pool.add_user("replay", replay_threads_max, replay_queue_max)),
        escrow(store, settings, sources.log, sources.fatal),
        committer(store, escrow, settings, sources) {}

  LedgerStore& store;
  const Sources sources;
  const runtime::PoolUser balance_user;
  const runtime::PoolUser replay_user;
  std::unique_ptr<ReplayStore> replays;  // set by start()
  Escrow escrow;
  Committer committer;  // destroyed before the escrow

  // Runs `work` on the store to its end, even if the caller leaves: an ownerless claim would block
  // its key.
  template <class T, class F>
  Result<T, base::Error> replay(F&& work) {
    std::optional<Stored<T>> done;
    const auto run = [&] { done.emplace(work(*replays)); };
    if (!sources.pool.run_to_end(replay_user, run) || !done->ok()) {
      if (done) {
        sources.log.write(Severity::error, "replay_failed", {{"reason", done->error().text}});
      }
      return ledger_unavailable();
    }
    return **std::move(done);
  }
};

EscrowLedger::EscrowLedger(LedgerStore& store, const LedgerSettings& settings, Sources sources)
    : machine_(std::make_unique<Machine>(store, settings, std::move(sources))) {}

EscrowLedger::~EscrowLedger() = default;

Stored<Unit> EscrowLedger::start() {
  auto started = machine_->store.start();
  if (!started) return started;
  machine_->replays = machine_->store.open_replays();
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
          machine_->escrow.expiry_paused(), machine_->escrow.is_alone()};
}

Result<Hold, base::Error> EscrowLedger::hold(const Payer& payer, Credits units,
                                             runtime::Deadline until) {
  if (!machine_->committer.available()) return ledger_unavailable();
  return machine_->escrow.hold(payer, units, until);
}

Settlement EscrowLedger::settle(Hold hold, OwnedFact fact,
                                std::unique_ptr<const ReplyToKeep> reply) {
  return machine_->committer.settle(std::move(hold), std::move(fact), std::move(reply));
}

bool EscrowLedger::is_settling(std::string_view account_id,
                               std::string_view message_id) const noexcept {
  return machine_->committer.is_settling(account_id, message_id);
}

bool EscrowLedger::await_facts(runtime::Deadline deadline) {
  return machine_->committer.await_facts(deadline);
}

std::vector<OpenCall> EscrowLedger::unknown_calls(std::size_t most) const {
  return machine_->committer.unknown_calls(most);
}

Result<ClaimAnswer, base::Error> EscrowLedger::claim(const Claim& claim) {
  if (!health().available) return ledger_unavailable();  // fails at once, as every priced call does
  auto answer = machine_->replay<ClaimAnswer>([&](ReplayStore& store) {
    auto claimed = store.claim(claim);
    if (!claimed && claimed.error().kind == StoreFailure::Kind::unknown) {
      (void)store.free(claim.key_digest, claim.request_id);  // the call ends here, claimed or not
    }
    return claimed;
  });
  if (!answer.ok()) return answer;
  const ClaimAnswer::Kind kind = answer->kind;
  if (kind == ClaimAnswer::Kind::claimed || kind == ClaimAnswer::Kind::replay) return answer;
  return error_of(kind);
}

Result<Unit, base::Error> EscrowLedger::keep(const ReplyToKeep& reply) {
  const auto kept = machine_->replay<bool>([&](ReplayStore& store) { return store.keep(reply); });
  if (!kept.ok()) return kept.error();
  if (!*kept) return error_of(ClaimAnswer::Kind::in_progress);
  return Unit{};
}

void EscrowLedger::free(const Claim& claim) noexcept {
  (void)machine_->replay<Unit>(
      [&](ReplayStore& store) { return store.free(claim.key_digest, claim.request_id); });
}

// Destroying `hold` here returns its units.
void EscrowLedger::release([[maybe_unused]] Hold hold, OwnedFact fact) noexcept {
  machine_->committer.record(std::move(fact));
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
