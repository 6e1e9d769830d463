// Shared by the ledger's tests: an EscrowLedger on a real database, accounts on it, and a store
// between the two that can fail like a database. Used by the test's Thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sources.h"
#include "ledger/escrow/escrow_ledger.h"
#include "support/stores.h"
#include "support/sums.h"

namespace turnpike::ledger {

// The forced result of the next settlements.
enum class Fault : std::uint8_t {
  none,
  unavailable,        // nothing written
  unknown_committed,  // written, but the answer is lost
  unknown_aborted,    // not written, and the answer is lost
  fatal,
};

// Forwards everything to the real LedgerStore, except where `fault` says otherwise.
class FaultyStore final : public LedgerStore {
 public:
  explicit FaultyStore(LedgerStore& real) : real_(real) {}

  std::atomic<Fault> fault = Fault::none;
  std::atomic<bool> unreachable = false;  // leases and heartbeats fail
  std::atomic<bool> silent = false;       // heartbeats do not return
  std::atomic<bool> prober_blocked = false;
  std::atomic<bool> corrections_fail = false;
  std::atomic<int> batches = 0;
  std::atomic<int> faults_met = 0;
  std::function<void()> before_settle;  // set before the ledger starts

  Stored<Unit> start() override { return real_.start(); }
  Stored<std::unique_ptr<SettlementStream>> open_stream() override;
  std::unique_ptr<LeaseStore> open_leases() override;
  std::unique_ptr<ReplayStore> open_replays() override { return real_.open_replays(); }
  Stored<std::unique_ptr<UnknownNotes>> open_notes() override { return real_.open_notes(); }
  Result<Allocation, base::Error> grant(const GrantRequest& request) override {
    return real_.grant(request);
  }
  Result<std::optional<Allocation>, base::Error> void_allocation(std::string_view id) override {
    return real_.void_allocation(id);
  }
  Stored<Restored> restored() override { return real_.restored(); }
  Result<Balance, base::Error> balance(std::string_view id) override { return real_.balance(id); }
  Result<std::vector<Allocation>, base::Error> allocations(std::string_view id) override {
    return real_.allocations(id);
  }
  Stored<Unit> restore_credits(std::string_view account, std::string_view message,
                               Credits units) override {
    if (corrections_fail) return StoreFailure{StoreFailure::Kind::unavailable, "no corrections"};
    return real_.restore_credits(account, message, units);
  }
  Stored<Verification> verify(const Checkpoint* earlier) override { return real_.verify(earlier); }

 private:
  LedgerStore& real_;
};

class OnLedger : public testing::TestWithParam<storage::Engine> {
 protected:
  void SetUp() override;
  void TearDown() override;

  void start_ledger();
  // Another node on the same database.
  struct Peer {
    std::unique_ptr<storage::Node> node;
    std::unique_ptr<EscrowLedger> ledger;
  };
  Peer start_peer();
  void crash_ledger() { ledger_.reset(); }  // without stop(): nothing more is written
  std::string account_with(Credits units);
  std::string grant(const std::string& account, Credits units, std::int64_t valid_ms);

  Result<Hold, base::Error> hold(const std::string& account, Credits units,
                                 std::int64_t call_ms = 10'000) {
    return ledger_->hold({account}, units, runtime::Deadline::after_ms(call_ms));
  }
  // The request of another node to the store.
  static LeaseRequest request(const std::string& account, Credits units) {
    LeaseRequest request;
    request.account_id = account;
    request.calls = {units};
    request.hold_ms = 30'000;
    request.settle_ms = 90'000;
    return request;
  }
  // A hold() that must succeed.
  Hold held(const std::string& account, Credits units);
  Settlement settle(Hold hold, const std::string& account, std::string message = "");
  std::string new_message();
  AccountSums sums(const std::string& account) { return support::sums_of(*node_, account); }
  base::ErrorCode refusal(const std::string& account, Credits units) {
    const auto answer = hold(account, units);
    return answer ? base::ErrorCode::gateway_internal : answer.error().code;
  }
  static runtime::Deadline soon() { return runtime::Deadline::after_ms(10'000); }
  // The time of the quickest of several refusals with that code, since a busy machine delays some.
  std::int64_t quickest_refusal_ns(const std::string& account, base::ErrorCode code);
  // Polls until `done` holds; returns false after a minute.
  static bool eventually(const std::function<bool()>& done);
  static UsageFact fact_of(const std::string& account, const std::string& message, bool charged);

  std::unique_ptr<support::TestStore> store_;
  std::unique_ptr<storage::Node> node_;
  std::unique_ptr<FaultyStore> faulty_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::unique_ptr<runtime::BlockingPool> pool_;
  LedgerSettings settings_;
  std::atomic<int> fatal_ = 0;
  std::unique_ptr<EscrowLedger> ledger_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  std::mutex uuid_mutex_;
  base::UuidSource uuids_{clock_, random_};
};

}  // namespace turnpike::ledger
