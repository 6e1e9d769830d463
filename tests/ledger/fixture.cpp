#include "ledger/fixture.h"

#include <algorithm>
#include <thread>

namespace turnpike::ledger {
namespace {

template <class T>
Stored<T> failure(StoreFailure::Kind kind) {
  return StoreFailure{kind, "made by the test"};
}

class FaultyStream final : public SettlementStream {
 public:
  FaultyStream(FaultyStore& store, std::unique_ptr<SettlementStream> real)
      : store_(store), real_(std::move(real)) {}

  Stored<SettleAnswer> settle(std::int64_t number, std::span<const SettleEntry> entries) override {
    using Kind = StoreFailure::Kind;
    if (store_.before_settle) store_.before_settle();
    ++store_.batches;
    const Fault fault = store_.fault;
    if (fault != Fault::none) ++store_.faults_met;
    switch (fault) {
      case Fault::none:
        return real_->settle(number, entries);
      case Fault::unavailable:
        return failure<SettleAnswer>(Kind::unavailable);
      case Fault::unknown_committed: {
        const auto answer = real_->settle(number, entries);
        if (!answer) return answer.error();
        return failure<SettleAnswer>(Kind::unknown);
      }
      case Fault::unknown_aborted:
        return failure<SettleAnswer>(Kind::unknown);
      case Fault::fatal:
        break;
    }
    return failure<SettleAnswer>(Kind::fatal);
  }
  Stored<bool> committed(std::int64_t number) override {
    if (store_.prober_blocked) return failure<bool>(StoreFailure::Kind::unavailable);
    store_.fault = Fault::none;
    return real_->committed(number);
  }
  Stored<std::vector<LeaseAnswer>> acquire(std::span<const LeaseRequest> requests) override {
    return real_->acquire(requests);
  }
  Stored<Unit> give_back(std::span<const LeaseShare> shares) override {
    return real_->give_back(shares);
  }

 private:
  FaultyStore& store_;
  std::unique_ptr<SettlementStream> real_;
};

class FaultyLeases final : public LeaseStore {
 public:
  FaultyLeases(FaultyStore& store, std::unique_ptr<LeaseStore> real)
      : store_(store), real_(std::move(real)) {}
  Stored<std::vector<LeaseAnswer>> acquire(std::span<const LeaseRequest> requests) override {
    if (store_.unreachable)
      return failure<std::vector<LeaseAnswer>>(StoreFailure::Kind::unavailable);
    return real_->acquire(requests);
  }
  Stored<Unit> close(std::span<const LeaseReturn> leases) override { return real_->close(leases); }
  Stored<Unit> give_back(std::span<const LeaseShare> shares) override {
    return real_->give_back(shares);
  }
  Stored<Tended> tend(std::int64_t latest_ms) override {
    if (store_.unreachable) return failure<Tended>(StoreFailure::Kind::unavailable);
    while (store_.silent) std::this_thread::yield();
    return real_->tend(latest_ms);
  }

 private:
  FaultyStore& store_;
  std::unique_ptr<LeaseStore> real_;
};

}  // namespace

Stored<std::unique_ptr<SettlementStream>> FaultyStore::open_stream() {
  auto real = real_.open_stream();
  if (!real) return real.error();
  return std::unique_ptr<SettlementStream>(std::make_unique<FaultyStream>(*this, *std::move(real)));
}

std::unique_ptr<LeaseStore> FaultyStore::open_leases() {
  return std::make_unique<FaultyLeases>(*this, real_.open_leases());
}

void OnLedger::SetUp() {
  if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  pool_ = std::make_unique<runtime::BlockingPool>(2, 64);
  store_ = std::make_unique<support::TestStore>(GetParam());
  node_ = store_->open();
  faulty_ = std::make_unique<FaultyStore>(node_->ledger());
  settings_.heartbeat_ms = 20;
  settings_.believed_ms = 30'000;  // for a busy machine
  settings_.commit_budget_ms = 20'000;
}

void OnLedger::TearDown() {
  if (ledger_ != nullptr) ledger_->stop();
  ledger_.reset();
}

void OnLedger::start_ledger() {
  ledger_ = std::make_unique<EscrowLedger>(
      *faulty_, settings_,
      EscrowLedger::Sources{*log_, *metrics_, *pool_, [this](std::string_view) { ++fatal_; }});
  const auto started = ledger_->start();
  ASSERT_TRUE(started.ok()) << started.error().text;
}

OnLedger::Peer OnLedger::start_peer() {
  Peer peer;
  peer.node = store_->open(storage::Role::gateway, "peer");
  peer.ledger = std::make_unique<EscrowLedger>(
      peer.node->ledger(), settings_, EscrowLedger::Sources{*log_, *metrics_, *pool_, nullptr});
  EXPECT_TRUE(peer.ledger->start().ok());
  return peer;
}

std::string OnLedger::account_with(Credits units) {
  const auto account = node_->accounts().create("Test");
  EXPECT_TRUE(node_->accounts().activate(account->id, {0, 1}).ok());
  if (units > 0) grant(account->id, units, 86'400'000);
  return account->id;
}

std::string OnLedger::grant(const std::string& account, Credits units, std::int64_t valid_ms) {
  const auto made = node_->ledger().grant(
      {account, units, Origin::operator_grant, store_->clock.now_ms() + valid_ms, 0});
  EXPECT_TRUE(made.ok());
  return made.ok() ? made->id : "";
}

Hold OnLedger::held(const std::string& account, Credits units) {
  auto answer = hold(account, units);
  // A lease may take longer than the short commit budgets of the tests.
  EXPECT_TRUE(eventually([&] { return answer.ok() || (answer = hold(account, units)).ok(); }))
      << (answer.ok() ? "" : base::info_of(answer.error().code).name);
  return answer ? *std::move(answer) : Hold();
}

Settlement OnLedger::settle(Hold hold, const std::string& account, std::string message) {
  if (message.empty()) message = new_message();
  return ledger_->settle(std::move(hold), fact_of(account, message, true));
}

std::string OnLedger::new_message() {
  const std::lock_guard lock(uuid_mutex_);
  return std::string(base::view(uuids_.next()));
}

std::int64_t OnLedger::quickest_refusal_ns(const std::string& account, base::ErrorCode code) {
  std::int64_t quickest_ns = runtime::Deadline::never().ns;
  for (int turn = 0; turn < 20; ++turn) {
    const std::int64_t before_ns = runtime::now_ns();
    EXPECT_EQ(refusal(account, 1), code);
    quickest_ns = std::min(quickest_ns, runtime::now_ns() - before_ns);
  }
  return quickest_ns;
}

bool OnLedger::eventually(const std::function<bool()>& done) {
  const auto until = runtime::Deadline::after_ms(60'000);
  while (!until.passed()) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return done();
}

UsageFact OnLedger::fact_of(const std::string& account, const std::string& message, bool charged) {
  UsageFact fact;
  fact.message_id = message;
  fact.request_id = message;
  fact.account_id = account;
  fact.route_id = "route-1";
  fact.method = "GET";
  fact.lane = "credits";
  fact.credit_cost = 1;
  fact.charged = charged;
  fact.outcome_reason = charged ? "success" : "upstream_failure";
  return fact;
}

}  // namespace turnpike::ledger
