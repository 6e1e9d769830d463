// Property: for any order of grants, voids, holds, settlements, releases, repeats, recalls,
// expiries, caps, stops, crashes and clock jumps on two nodes, the books balance, only calls that
// were answered as charged are charged, no cap is exceeded, and no call is refused for which the
// model has units.
//
// Runs on the real databases against a model in memory. TURNPIKE_PROPERTY_CASES sets the number of
// cases. The seed is printed; RC_PARAMS="seed=..." repeats a run.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include "base/metrics.h"
#include "identity/accounts.h"
#include "ledger/escrow/escrow_ledger.h"
#include "support/stores.h"

namespace turnpike::ledger {
namespace {

enum class Act : std::uint8_t {
  grant,
  void_one,
  hold,
  hold_capped,
  settle,
  repeat,
  release,
  raise_caps,
  crash,
  stop,
  wait,
  jump_ahead,
  jump_back,
};
constexpr const char* act_names[] = {"grant",  "void",       "hold",       "hold_capped", "settle",
                                     "repeat", "release",    "raise_caps", "crash",       "stop",
                                     "wait",   "jump_ahead", "jump_back"};

struct Step {
  Act act = Act::hold;
  int node = 0;
  int account = 0;
  Credits units = 1;
  int pick = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << act_names[static_cast<int>(step.act)] << "(node " << step.node << ", account "
             << step.account << ", units " << step.units << ", pick " << step.pick << ")";
}

constexpr int node_count = 2;
constexpr int account_count = 2;
constexpr std::int64_t patience_ms = 60'000;  // a slow machine must not look like an outage
constexpr int tries_max = 250;  // for a call whose units another node must return first

// Only processes die in this test, not machines, so no write has to wait for the disk.
storage::Settings bed_settings() {
  storage::Settings settings = support::patient_settings(1);
  settings.is_durability_relaxed = true;
  return settings;
}

// A database and its nodes for many cases, each with its own accounts.
struct Bed {
  explicit Bed(storage::Engine engine) : store(engine, bed_settings()) {
    for (int at = 0; at < node_count; ++at) {
      nodes[at] = store.open(storage::Role::gateway, "node" + std::to_string(at));
    }
    latest_ms = store.clock.now_ms();
  }
  void move_ms(std::int64_t by_ms) {
    store.clock.move_ms(by_ms);
    latest_ms = std::max(latest_ms, store.clock.now_ms());
  }

  support::TestStore store;
  std::array<std::unique_ptr<storage::Node>, node_count> nodes;
  std::int64_t latest_ms = 0;  // upper bound of ledger time
};

// One case: two nodes on one database, and the model's knowledge.
class World {
 public:
  World(Bed& bed, runtime::BlockingPool& pool) : bed_(bed), pool_(pool) {
    bed_.store.clock.move_ms(bed_.latest_ms - bed_.store.clock.now_ms());  // no jump back
    for (int at = 0; at < node_count; ++at) start(at);
    for (Account& account : accounts_) {
      account.id = nodes(0).accounts().create("Model")->id;
      RC_ASSERT(nodes(0).accounts().activate(account.id, {0, 1}).ok());
      account.key = keys().create(account.id, "capped")->key.id;
      set_caps(account, 20, 45);
    }
  }

  void take(const Step& step) {
    switch (step.act) {
      case Act::grant:
        return grant(step);
      case Act::void_one:
        return void_one(step);
      case Act::hold:
        return hold(step, false);
      case Act::hold_capped:
        return hold(step, true);
      case Act::settle:
        return settle(step);
      case Act::repeat:
        return repeat(step);
      case Act::release:
        return release(step);
      case Act::raise_caps: {
        Account& account = accounts_[step.account];
        return set_caps(account, account.per_day + step.units, account.per_month + step.pick);
      }
      case Act::crash:
        return crash(step.node);
      case Act::stop:
        return stop(step.node);
      case Act::wait:
        return bed_.move_ms(step.units * 7'000);
      case Act::jump_ahead:
        return bed_.move_ms(step.units * 1'200'000);
      case Act::jump_back:
        return bed_.move_ms(-step.units * 3'000);
    }
  }

  void check() {
    const auto verified = nodes(0).ledger().verify();
    RC_ASSERT(verified.ok());
    for (const std::string& problem : verified->problems) RC_FAIL(problem);
    for (const AccountSums& sums : verified->accounts) {
      for (const Account& account : accounts_) {
        if (account.id != sums.account_id) continue;
        RC_ASSERT(sums.granted == granted(account));
        RC_ASSERT(sums.charged == account.charged);
        RC_ASSERT(sums.balanced());
        RC_ASSERT(sums.voided <= units_of(account, [](const Allocation& each) {
                    return each.status == AllocationStatus::voided;
                  }));
        RC_ASSERT(sums.expired <= units_of(account, [&](const Allocation& each) {
                    return each.expires_at_ms <= bed_.latest_ms;
                  }));
      }
    }
  }

  // Once all nodes have stopped, nothing is leased, and a node that starts can spend the rest down
  // to exactly zero in one call.
  void finish() {
    for (int at = 0; at < node_count; ++at) {
      held_[at].clear();
      ledgers_[at]->stop();
      ledgers_[at].reset();
    }
    check();
    bed_.store.clock.move_ms(bed_.latest_ms - bed_.store.clock.now_ms());
    start(0);
    for (Account& account : accounts_) {
      Credits left = 0;
      const auto allocations = nodes(0).ledger().allocations(account.id);
      for (const Allocation& each : *allocations) {
        if (each.status == AllocationStatus::voided) RC_ASSERT(each.remaining == 0);
        if (each.status == AllocationStatus::active) left += each.remaining;
      }
      RC_ASSERT(refusal(account, left + 1) == base::ErrorCode::billing_credits_exhausted);
      if (left == 0) continue;
      auto all = ledgers_[0]->hold({account.id}, left, soon());
      RC_ASSERT(all.ok());
      held_[0].push_back({*std::move(all), static_cast<int>(&account - accounts_.data()), left});
      settle({Act::settle, 0, 0, 1, 0});
      RC_ASSERT(refusal(account, 1) == base::ErrorCode::billing_credits_exhausted);
    }
    ledgers_[0]->stop();
    check();
  }

 private:
  struct Account {
    std::string id;
    std::string key;
    Credits per_day = 0;
    Credits per_month = 0;
    std::vector<Allocation> allocations;  // as granted; `status` marks voided ones
    Credits charged = 0;
    Credits charged_by_key = 0;
    std::map<std::string, Credits> messages;
  };
  struct Held {
    Hold hold;
    int account = 0;
    Credits units = 0;
    bool is_capped = false;
  };

  storage::Node& nodes(int at) { return *bed_.nodes[at]; }
  identity::ApiKeys keys() {
    return {nodes(0).keys(), identity::Environment::development, bed_.store.random};
  }
  static runtime::Deadline soon() { return runtime::Deadline::after_ms(patience_ms); }

  template <class Which>
  static Credits units_of(const Account& account, Which which) {
    Credits units = 0;
    for (const Allocation& each : account.allocations) units += which(each) ? each.units : 0;
    return units;
  }
  static Credits granted(const Account& account) {
    return units_of(account, [](const Allocation&) { return true; });
  }
  Credits held_units(int account, bool capped_only) const {
    Credits units = 0;
    for (const auto& of_node : held_) {
      for (const Held& each : of_node) {
        if (each.account == account && (each.is_capped || !capped_only)) units += each.units;
      }
    }
    return units;
  }
  // Units that are certainly available: valid by any clock, minus all charges, whichever grant they
  // came from.
  Credits certain(const Account& account) const {
    return units_of(account,
                    [&](const Allocation& each) {
                      return each.status != AllocationStatus::voided &&
                             each.effective_at_ms <= bed_.store.clock.now_ms() &&
                             each.expires_at_ms > bed_.latest_ms;
                    }) -
           account.charged;
  }
  // The room that the caps certainly leave, on any day.
  static Credits certain_room(const Account& account) {
    return std::min(account.per_day, account.per_month) - account.charged_by_key;
  }

  void start(int at) {
    LedgerSettings settings;
    settings.heartbeat_ms = 1;
    settings.recall_wait_ms = 20;
    settings.refusal_memo_ms = 0;
    settings.believed_ms = settings.commit_budget_ms = patience_ms;
    ledgers_[at] = std::make_unique<EscrowLedger>(
        nodes(at).ledger(), settings, EscrowLedger::Sources{*log_, *metrics_, pool_, nullptr});
    RC_ASSERT(ledgers_[at]->start().ok());
  }

  void set_caps(Account& account, Credits per_day, Credits per_month) {
    account.per_day = per_day;
    account.per_month = per_month;
    const identity::SpendCaps caps{per_day, per_month};
    RC_ASSERT(keys().change(account.key, {.caps = caps})->has_value());
  }

  void grant(const Step& step) {
    Account& account = accounts_[step.account];
    // Ledger time may be ahead of a clock that has jumped back.
    auto made = nodes(step.node).ledger().grant(
        {account.id, step.units, Origin::operator_grant,
         bed_.store.clock.now_ms() + 1'000'000 + step.pick * 400'000, 0});
    if (made) account.allocations.push_back(*std::move(made));
  }

  void void_one(const Step& step) {
    auto& allocations = accounts_[step.account].allocations;
    if (allocations.empty()) return;
    Allocation& chosen = allocations[static_cast<std::size_t>(step.pick) % allocations.size()];
    RC_ASSERT(nodes(step.node).ledger().void_allocation(chosen.id)->has_value());
    chosen.status = AllocationStatus::voided;
  }

  void hold(const Step& step, bool is_capped) {
    const Account& account = accounts_[step.account];
    const Payer payer{account.id, is_capped ? std::string_view(account.key) : std::string_view{}};
    for (int tries = 0; tries < tries_max; ++tries) {
      auto answer = ledgers_[step.node]->hold(payer, step.units, soon());
      if (answer) {
        held_[step.node].push_back({*std::move(answer), step.account, step.units, is_capped});
        if (is_capped) check_caps(account, step.account);
        return;
      }
      const base::ErrorCode code = answer.error().code;
      if (code == base::ErrorCode::billing_credits_exhausted) {
        RC_ASSERT(step.units > certain(account));
        return;
      }
      if (code == base::ErrorCode::billing_key_cap_reached) {
        RC_ASSERT(is_capped);
        RC_ASSERT(step.units > certain_room(account));
        return;
      }
      RC_ASSERT(code == base::ErrorCode::billing_credits_reserved);
      // Calls must hold the reserved units; merely leased units are returned sooner or later.
      if (step.units > certain(account) - held_units(step.account, false)) return;
      if (is_capped && step.units > certain_room(account) - held_units(step.account, true)) return;
    }
    RC_FAIL("units that no call holds were never given back");
  }

  // Over all days of the case, each day allows at most its cap.
  void check_caps(const Account& account, int index) const {
    const Credits taken = account.charged_by_key + held_units(index, true);
    const std::int64_t days =
        (bed_.latest_ms - began_ms_) / (24 * 60 * 60 * 1'000) + 2;  // the first and the last, too
    RC_ASSERT(taken <= account.per_day * days);
    if (utc_month(began_ms_ - 3'600'000).starts_at_ms == utc_month(bed_.latest_ms).starts_at_ms) {
      RC_ASSERT(taken <= account.per_month);
    }
  }

  base::ErrorCode refusal(const Account& account, Credits units) {
    const auto answer = ledgers_[0]->hold({account.id}, units, soon());
    return answer ? base::ErrorCode::gateway_internal : answer.error().code;
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
    const bool is_capped = at->is_capped;
    held.erase(at);
    if (const auto* charge = std::get_if<Settled>(&settled)) {
      const bool is_new = account.messages.emplace(message, units).second;
      if (is_new) account.charged += units;
      if (is_new && is_capped) account.charged_by_key += units;
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

  Bed& bed_;
  runtime::BlockingPool& pool_;
  const std::int64_t began_ms_ = bed_.latest_ms;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::array<Account, account_count> accounts_;
  std::array<std::unique_ptr<EscrowLedger>, node_count> ledgers_;
  std::array<std::vector<Held>, node_count> held_;
  int messages_ = 0;
};

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::act, rc::gen::weightedElement<Act>({{5, Act::grant},
                                                              {1, Act::void_one},
                                                              {12, Act::hold},
                                                              {6, Act::hold_capped},
                                                              {12, Act::settle},
                                                              {2, Act::repeat},
                                                              {4, Act::release},
                                                              {1, Act::raise_caps},
                                                              {1, Act::crash},
                                                              {1, Act::stop},
                                                              {3, Act::wait},
                                                              {1, Act::jump_ahead},
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

constexpr int cases_per_bed = 20;  // verify() reads the whole database

class BooksProperty : public testing::TestWithParam<storage::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, BooksProperty, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(BooksProperty, BalanceInEveryOrder) {
  if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  runtime::BlockingPool pool(1, 16);
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSize = 40;  // most steps in a case; each step verifies all books
  params.maxSuccess = cases(GetParam() == storage::Engine::sqlite ? 200 : 20);
  const rc::detail::TestMetadata metadata{.id = "books", .description = "the books balance"};
  std::printf("%d cases on %s, seed %llu\n", params.maxSuccess,
              support::name_of(GetParam()).c_str(), static_cast<unsigned long long>(params.seed));
  std::unique_ptr<Bed> bed;
  int cases_on_bed = 0;
  const auto result = rc::detail::checkTestable(
      [&] {
        const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
        if (bed == nullptr || ++cases_on_bed % cases_per_bed == 0) {
          bed = std::make_unique<Bed>(GetParam());
        }
        try {
          World world(*bed, pool);
          for (const Step& step : steps) {
            world.take(step);
            if (step.act != Act::hold && step.act != Act::hold_capped) world.check();
          }
          world.finish();
        } catch (...) {
          bed.reset();  // the next case must not see what this one broke
          throw;
        }
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
