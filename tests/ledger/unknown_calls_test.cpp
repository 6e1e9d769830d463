// Settlements that a process reported as unknown before it died (ledger/escrow/unknown_calls.h):
// the next process undoes those that it finds charged.
#include <filesystem>
#include <fstream>
#include <thread>

#include "ledger/calls.h"
#include "ledger/escrow/unknown_calls.h"
#include "ledger/fixture.h"

namespace turnpike::ledger {
namespace {

class EscrowLedgerUnknownCallsTest : public OnLedger {
 protected:
  void SetUp() override {
    OnLedger::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(10);
    settings_.commit_budget_ms = 1'000;
  }

  void make_unknown(Fault fault) {
    faulty_->prober_blocked = true;
    faulty_->fault = fault;
  }
  // A call of three units whose settlement has an unknown outcome.
  std::string leave_unknown(Fault fault, std::unique_ptr<const ReplyToKeep> reply = nullptr) {
    const std::string message = new_message();
    Hold call = held(account_, 3);
    make_unknown(fault);
    EXPECT_TRUE(std::holds_alternative<SettlementUnknown>(
        ledger_->settle(std::move(call), fact_of(account_, message, true), std::move(reply))));
    return message;
  }
  void restart() {
    crash_ledger();
    faulty_->fault = Fault::none;
    faulty_->prober_blocked = false;
    start_ledger();
  }
  CallState look(const std::string& message) {
    PooledCalls calls(node_->usage(), *ledger_, *pool_);
    return *calls.call(account_, message, runtime::Deadline::after_ms(10'000));
  }
  void expect_undone(const std::string& message) {
    ASSERT_TRUE(eventually([&] { return !look(message).is_pending; }));
    const CallState undone = look(message);
    ASSERT_TRUE(undone.record.has_value());
    EXPECT_EQ(undone.record->usage.credits_charged, 3);
    ASSERT_TRUE(undone.record->usage.restored.has_value());
    EXPECT_EQ(undone.record->usage.restored->units, 3);
  }
  std::string notes_path() const { return store_->settings().data_dir + "/unknown_calls"; }
  std::size_t notes() { return (*node_->ledger().open_notes())->noted()->size(); }

  std::string account_;
};
INSTANTIATE_TEST_SUITE_P(Engines, EscrowLedgerUnknownCallsTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(EscrowLedgerUnknownCallsTest, AChargeThatCommittedIsUndoneByTheNextProcessOnce) {
  start_ledger();
  const std::string message = leave_unknown(Fault::unknown_committed);
  EXPECT_EQ(notes(), 1u);
  restart();
  expect_undone(message);
  EXPECT_TRUE(eventually([&] { return notes() == 0; }));
  restart();
  EXPECT_EQ(look(message).record->usage.restored->units, 3);
  EXPECT_EQ(sums(account_).granted, 13);
  EXPECT_TRUE(eventually([&] { return hold(account_, 10).ok(); })) << "nothing is missing";
}

TEST_P(EscrowLedgerUnknownCallsTest, UntilItIsUndoneItIsPending) {
  start_ledger();
  const std::string message = leave_unknown(Fault::unknown_committed);
  faulty_->corrections_fail = true;
  restart();
  EXPECT_TRUE(look(message).is_pending);
  EXPECT_EQ(notes(), 1u);
  restart();
  EXPECT_TRUE(look(message).is_pending) << "another crash forgets nothing";
  faulty_->corrections_fail = false;
  expect_undone(message);
}

TEST_P(EscrowLedgerUnknownCallsTest, NothingIsUndoneOfWhatDidNotCommit) {
  start_ledger();
  const std::string message = leave_unknown(Fault::unknown_aborted);
  EXPECT_EQ(notes(), 1u);
  restart();
  EXPECT_TRUE(eventually([&] { return !look(message).is_pending && notes() == 0; }));
  EXPECT_FALSE(look(message).record.has_value());
  EXPECT_EQ(sums(account_).granted, 10);
  EXPECT_TRUE(eventually([&] { return hold(account_, 10).ok(); })) << "its lease was taken back";
}

TEST_P(EscrowLedgerUnknownCallsTest, AChargeWhoseReplyIsKeptForItsRepeatStands) {
  start_ledger();
  KeyedCall call;
  call.scope = account_;
  call.key = "key";
  call.request_id = "keyed";
  call.method = "GET";
  call.path = "/v1/gateway/a";
  call.ends_in_ms = 60'000;
  const Claim claim = claim_of(call);
  ASSERT_TRUE(ledger_->claim(claim).ok());
  auto reply = std::make_unique<ReplyToKeep>();
  reply->key_digest = claim.key_digest;
  reply->request_id = claim.request_id;
  reply->reply = {200, {}, "the reply"};
  const std::string message = leave_unknown(Fault::unknown_committed, std::move(reply));
  EXPECT_EQ(notes(), 0u);
  restart();
  EXPECT_EQ(look(message).record->usage.credits_charged, 3);
  EXPECT_FALSE(look(message).record->usage.restored.has_value());
}

TEST_P(EscrowLedgerUnknownCallsTest, AStopThatCannotWaitLeavesItToTheNextProcess) {
  start_ledger();
  const std::string message = new_message();
  Hold call = held(account_, 3);
  make_unknown(Fault::unknown_committed);
  std::thread caller([&] {
    EXPECT_TRUE(
        std::holds_alternative<SettlementUnknown>(settle(std::move(call), account_, message)));
  });
  EXPECT_TRUE(eventually([&] { return faulty_->faults_met > 0; }));
  ledger_->stop();
  caller.join();
  restart();
  expect_undone(message);
}

TEST_P(EscrowLedgerUnknownCallsTest, ABrokenStoreLeavesItToTheNextProcess) {
  start_ledger();
  (void)leave_unknown(Fault::fatal);
  EXPECT_EQ(fatal_, 1);
  EXPECT_EQ(notes(), 1u);
}

TEST_P(EscrowLedgerUnknownCallsTest, AllCallsOfABatchAreNotedAndUndone) {
  settings_.commit_budget_ms = 2'000;
  settings_.batch_wait_us = 2'000'000;
  start_ledger();
  std::vector<Hold> holds;
  for (int at = 0; at < 6; ++at) holds.push_back(held(account_, 1));
  make_unknown(Fault::unknown_committed);
  std::vector<std::thread> callers;
  for (int at = 0; at < 3; ++at) {  // half of the calls in flight: one batch
    callers.emplace_back([&, at] {
      EXPECT_TRUE(
          std::holds_alternative<SettlementUnknown>(settle(std::move(holds[at]), account_)));
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(notes(), 3u);
  holds.clear();
  restart();
  EXPECT_TRUE(eventually([&] { return notes() == 0; }));
  EXPECT_EQ(sums(account_).granted, 13);
  EXPECT_TRUE(eventually([&] { return hold(account_, 10).ok(); })) << "nothing is missing";
}

TEST_P(EscrowLedgerUnknownCallsTest, ALineThatACrashCutShortHidesNoOther) {
  const auto file = *node_->ledger().open_notes();
  const auto note = [&](const UnknownCall& call) { return file->note({&call, 1}).ok(); };
  ASSERT_TRUE(note({"acc_1", "m1", 7}));
  for (const char* torn : {"3", "3 acc_2", "3 acc_2 m", "x acc_2 m2", " ", "3  "}) {
    std::ofstream(notes_path(), std::ios::app) << torn;
    ASSERT_TRUE(note({"acc_3", "m3", 9}));
  }
  const auto noted = *file->noted();
  std::size_t last_notes = 0;
  for (const UnknownCall& call : noted) {
    if (call.message_id == "m3") ++last_notes;
    EXPECT_TRUE(call.message_id != "m2");
  }
  EXPECT_EQ(last_notes, 6u);
  EXPECT_EQ(noted.front().units, 7);
  file->drop();
  EXPECT_TRUE(file->noted()->empty());
}

TEST_P(EscrowLedgerUnknownCallsTest, WithoutItsNotesTheLedgerDoesNotStart) {
  std::filesystem::create_directory(notes_path());
  EscrowLedger ledger(*faulty_, settings_, {*log_, *metrics_, *pool_, nullptr});
  EXPECT_FALSE(ledger.start().ok());
}

class MemoryNotes final : public UnknownNotes {
 public:
  Stored<Unit> note(std::span<const UnknownCall> calls) override {
    lines.insert(lines.end(), calls.begin(), calls.end());
    return Unit{};
  }
  Stored<std::vector<UnknownCall>> noted() override { return lines; }
  void drop() noexcept override { lines.clear(); }

  std::vector<UnknownCall> lines;
};

TEST(EscrowLedgerUnknownNote, IsWrittenThoughThePoolIsBusyForTooLong) {
  runtime::BlockingPool pool(1, 8);
  const runtime::PoolUser busy = pool.add_user("busy", 1, 1);
  const auto log = base::make_silent_log();
  UnknownCalls calls(pool, *log);
  auto notes = std::make_unique<MemoryNotes>();
  MemoryNotes& written = *notes;
  ASSERT_TRUE(calls.start(std::move(notes)).ok());
  const UnknownCall call{"acc_1", "m1", 7};
  calls.open(call);
  ASSERT_TRUE(pool.run_to_end(busy, [&] {
    calls.note(call);  // it occupies the only thread
    EXPECT_TRUE(written.lines.empty());
  }));
  EXPECT_TRUE(pool.stop(runtime::Deadline::never()));
  EXPECT_EQ(written.lines.size(), 1u);
  calls.close(call.message_id);
  EXPECT_TRUE(written.lines.empty()) << "no call is open any more";
}

}  // namespace
}  // namespace turnpike::ledger
