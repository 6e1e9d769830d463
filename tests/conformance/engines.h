// OnEveryEngine: the fixture of all conformance suites, with an empty, migrated database of the
// engine under test. Used by the test's Thread.
#pragma once

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/stores.h"
#include "support/sums.h"

namespace turnpike {

class OnEveryEngine : public testing::TestWithParam<storage::Engine> {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    store_ = std::make_unique<support::TestStore>(GetParam());
    node_ = store_->open();
  }

  // Unwraps a result that the test needs. Throws if the call failed, e.g. because the database
  // timed out.
  template <class Value, class Failed>
  static Value done(Result<Value, Failed> result) {
    if (!result.ok()) throw std::runtime_error("the database did not do it");
    return *std::move(result);
  }

  // An active account with that many Credits, which expire in a day.
  std::string account_with(std::int64_t units) {
    const auto account = done(node_->accounts().create("Test"));
    const auto active = done(node_->accounts().activate(account.id, {0, 1}));
    if (units > 0) grant(account.id, units, day_ms);
    return active.id;
  }
  std::string grant(const std::string& account_id, std::int64_t units, std::int64_t valid_ms) {
    const auto made = node_->ledger().grant(
        {account_id, units, ledger::Origin::operator_grant, store_->clock.now_ms() + valid_ms, 0});
    EXPECT_TRUE(made.ok());
    return made.ok() ? made->id : "";
  }

  // Runs work(node, 0), work(node, 1) and work(node, 2) at once, each on its own node. Returns
  // their results in that order.
  template <class F>
  auto race(F&& work) {
    constexpr int racers = 3;
    const auto second = store_->open(storage::Role::gateway, "second");
    const auto third = store_->open(storage::Role::gateway, "third");
    storage::Node* const nodes[racers] = {node_.get(), second.get(), third.get()};
    std::vector<decltype(work(*node_, 0))> answers(racers);
    std::latch start(racers);
    std::vector<std::thread> threads;
    for (int at = 0; at < racers; ++at) {
      threads.emplace_back([&, at] {
        start.arrive_and_wait();
        answers[static_cast<std::size_t>(at)] = work(*nodes[at], at);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  }

  // Settings with a single session, for tests that occupy it themselves.
  [[nodiscard]] storage::Settings one_session() const {
    storage::Settings settings = store_->settings();
    settings.sessions = 1;
    settings.session_wait_ms = 50;
    return settings;
  }

  ledger::AccountSums sums(const std::string& account_id) {
    return support::sums_of(*node_, account_id);
  }

  static constexpr std::int64_t day_ms = 86'400'000;
  std::unique_ptr<support::TestStore> store_;
  std::unique_ptr<storage::Node> node_;
};

#define TURNPIKE_ON_EVERY_ENGINE(Suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::ValuesIn(support::engines), \
                           [](const auto& each) { return support::name_of(each.param); })

}  // namespace turnpike
