// Property: whatever the order of grants, holds, settlements, releases, repeats, expiries, stops,
// crashes and clock jumps on two nodes, the books balance after every step, nothing is charged but
// what was answered as charged, and nobody is refused what the model says is theirs.
//
// Runs against the real databases and a model in memory. TURNPIKE_PROPERTY_CASES raises the number
// of cases; RapidCheck prints the seed of a failure, and RC_PARAMS="seed=..." repeats it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "base/metrics.h"
#include "ledger/escrow_ledger.h"
#include "support/stores.h"

namespace turnpike::ledger {
namespace {

enum class Act : std::uint8_t {
  grant,
  hold,
  settle,
  repeat,
  release,
  crash,
  stop,
  wait,
  jump_back
};

struct Step {
  Act act = Act::hold;
  int node = 0;
  int account = 0;
  Credits units = 1;
  int pick = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* names[] = {"grant", "hold", "settle", "repeat",   "release",
                                   "crash", "stop", "wait",   "jump_back"};
  return out << names[static_cast<int>(step.act)] << "(node " << step.node << ", account "
             << step.account << ", units " << step.units << ", pick " << step.pick << ")";
}

constexpr int node_count = 2;
constexpr int account_count = 2;

// One case: two nodes on one database, and what the model knows of it.
class World {
 public:
  World(support::TestStore& store, runtime::BlockingPool& pool) : store_(store), pool_(pool) {
    for (int at = 0; at < node_count; ++at) {
      nodes_[at] = store.open(storage::Role::gateway, "node" + std::to_string(at));
      start(at);
    }
    for (auto& account : accounts_) {
      account.id = nodes_[0]->accounts().create("Model")->id;
      RC_ASSERT(nodes_[0]->accounts().activate(account.id, {0, 1}).ok());
    }
  }

  void take(const Step& step) {
    switch (step.act) {
      case Act::grant:
        return grant(step);
      case Act::hold:
        return hold(step);
      case Act::settle:
        return settle(step);
      case Act::repeat:
        return repeat(step);
      case Act::release:
        return release(step);
      case Act::crash:
        return crash(step.node);
      case Act::stop:
        return stop(step.node);
      case Act::wait:
        return store_.clock.move_ms(step.units * 7'000);
      case Act::jump_back:
        return store_.clock.move_ms(-step.units * 3'000);
    }
  }

  void check() {
    const auto verified = nodes_[0]->ledger().verify();
    RC_ASSERT(verified.ok());
    for (const std::string& problem : verified->problems) RC_FAIL(problem);
    for (const AccountSums& sums : verified->accounts) {
      for (const Account& account : accounts_) {
        if (account.id != sums.account_id) continue;
        RC_ASSERT(sums.granted == account.granted);
        RC_ASSERT(sums.charged == account.charged);
        RC_ASSERT(sums.balanced());
        RC_ASSERT(nodes_[0]->ledger().balance(account.id)->credits == sums.balance());
      }
    }
  }

  // With all nodes stopped nothing is leased, and what is not charged or expired is there.
  void finish() {
    for (int at = 0; at < node_count; ++at) {
      held_[at].clear();
      ledgers_[at]->stop();
      ledgers_[at].reset();
    }
    check();
    const auto verified = nodes_[0]->ledger().verify();
    for (const AccountSums& sums : verified->accounts) RC_ASSERT(sums.leased == 0);
  }

 private:
  struct Account {
    std::string id;
    Credits granted = 0;
    Credits charged = 0;
    std::map<std::string, Credits> messages;
  };
  struct Held {
    Hold hold;
    int account = 0;
    Credits units = 0;
  };

  void start(int at) {
    LedgerSettings settings;
    settings.heartbeat_ms = 1;
    ledgers_[at] = std::make_unique<EscrowLedger>(
        nodes_[at]->ledger(), settings, EscrowLedger::Sources{*log_, *metrics_, pool_, nullptr});
    RC_ASSERT(ledgers_[at]->start().ok());
  }

  void grant(const Step& step) {
    Account& account = accounts_[step.account];
    // Ledger time may be ahead of a clock that jumped back.
    const auto made = nodes_[step.node]->ledger().grant(
        {account.id, step.units, Origin::operator_grant,
         store_.clock.now_ms() + 1'000'000 + step.pick * 40'000, 0});
    if (made) account.granted += step.units;
  }

  void hold(const Step& step) {
    Account& account = accounts_[step.account];
    auto answer =
        ledgers_[step.node]->hold({account.id}, step.units, runtime::Deadline::after_ms(1'000));
    if (answer) {
      held_[step.node].push_back({*std::move(answer), step.account, step.units});
      return;
    }
    const base::ErrorCode code = answer.error().code;
    RC_ASSERT(code == base::ErrorCode::billing_credits_exhausted ||
              code == base::ErrorCode::billing_credits_reserved);
    // Reserved means that the account had as many. It is remembered for a moment, in which units
    // may be charged, so what is charged counts.
    if (code == base::ErrorCode::billing_credits_reserved) {
      RC_ASSERT(step.units <= account.granted);
    }
  }

  static UsageFact fact(const Account& account, const std::string& message, bool charged) {
    UsageFact fact;
    fact.message_id = message;
    fact.request_id = message;
    fact.account_id = account.id;
    fact.charged = charged;
    fact.outcome_reason = charged ? "success" : "upstream_failure";
    return fact;
  }

  void settle_as(const Step& step, const std::string& message) {
    auto& held = held_[step.node];
    if (held.empty()) return;
    const auto at = held.begin() + step.pick % static_cast<int>(held.size());
    Account& account = accounts_[at->account];
    const Settlement settled =
        ledgers_[step.node]->settle(std::move(at->hold), fact(account, message, true));
    const Credits units = at->units;
    held.erase(at);
    if (const auto* charge = std::get_if<Settled>(&settled)) {
      const bool is_new = account.messages.emplace(message, units).second;
      if (is_new) account.charged += units;
      RC_ASSERT(charge->charged == account.messages[message]);
    } else {
      RC_ASSERT(std::holds_alternative<SettlementRefused>(settled));
      RC_ASSERT(std::get<SettlementRefused>(settled).error.code ==
                base::ErrorCode::billing_lease_lost);
    }
  }

  void settle(const Step& step) {
    settle_as(step, accounts_[0].id + "-" + std::to_string(++messages_));
  }

  void repeat(const Step& step) {
    const auto& held = held_[step.node];
    if (held.empty()) return;
    const Held& next = held[static_cast<std::size_t>(step.pick) % held.size()];
    const auto& known = accounts_[next.account].messages;
    if (!known.empty()) settle_as(step, known.begin()->first);
  }

  void release(const Step& step) {
    auto& held = held_[step.node];
    if (held.empty()) return;
    const auto at = held.begin() + step.pick % static_cast<int>(held.size());
    const std::string message = accounts_[0].id + "-" + std::to_string(++messages_);
    ledgers_[step.node]->release(std::move(at->hold), fact(accounts_[at->account], message, false));
    held.erase(at);
  }

  void crash(int at) {
    ledgers_[at].reset();
    held_[at].clear();
    start(at);
  }

  void stop(int at) {
    held_[at].clear();
    ledgers_[at]->stop();
    ledgers_[at].reset();
    start(at);
  }

  support::TestStore& store_;
  runtime::BlockingPool& pool_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::array<Account, account_count> accounts_;
  std::array<std::unique_ptr<storage::Node>, node_count> nodes_;
  std::array<std::unique_ptr<EscrowLedger>, node_count> ledgers_;
  std::array<std::vector<Held>, node_count> held_;
  int messages_ = 0;
};

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::act, rc::gen::weightedElement<Act>({{4, Act::grant},
                                                              {14, Act::hold},
                                                              {10, Act::settle},
                                                              {2, Act::repeat},
                                                              {4, Act::release},
                                                              {1, Act::crash},
                                                              {1, Act::stop},
                                                              {3, Act::wait},
                                                              {1, Act::jump_back}})),
      rc::gen::set(&Step::node, rc::gen::inRange(0, node_count)),
      rc::gen::set(&Step::account, rc::gen::inRange(0, account_count)),
      rc::gen::set(&Step::units, rc::gen::inRange<Credits>(1, 30)),
      rc::gen::set(&Step::pick, rc::gen::inRange(0, 100)));
}

int cases(int otherwise) {
  const char* wanted = std::getenv("TURNPIKE_PROPERTY_CASES");
  return wanted == nullptr ? otherwise : std::atoi(wanted);
}

class BooksProperty : public testing::TestWithParam<storage::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, BooksProperty, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(BooksProperty, BalanceInEveryOrder) {
  if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  runtime::BlockingPool pool(1, 16);
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSize = 40;  // steps in the longest cases; each step verifies the whole books
  params.maxSuccess = cases(GetParam() == storage::Engine::sqlite ? 200 : 20);
  const rc::detail::TestMetadata metadata{.id = "books", .description = "the books balance"};
  const auto result = rc::detail::checkTestable(
      [&] {
        const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
        support::TestStore store(GetParam(), 1);
        World world(store, pool);
        for (const Step& step : steps) {
          world.take(step);
          if (step.act != Act::hold) world.check();
        }
        world.finish();
      },
      metadata, params);
  if (!result.is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str() << "\nseed " << params.seed;
  }
}

}  // namespace
}  // namespace turnpike::ledger
