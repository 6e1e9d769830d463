// Random applies on few keys, several at once from two processes. For all outcomes there must be an
// order in which a plain map gives the same outcomes and the same final records.
#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "records/fixture.h"

namespace turnpike::records {
namespace {

struct Kept {
  std::string value;
  std::uint64_t version = 0;
  friend bool operator==(const Kept&, const Kept&) = default;
};
using Model = std::map<std::string, Kept>;

// One caller's apply and its outcome.
struct Attempt {
  std::vector<std::pair<std::string, std::uint64_t>> checks;
  std::vector<std::pair<std::string, std::optional<std::string>>> writes;
  StoreApplied applied;

  void run(Store& store) {
    Checks all_checks;
    Writes all_writes;
    for (const auto& [key, version] : checks) all_checks.push_back({key, version});
    for (const auto& [key, value] : writes) {
      all_writes.push_back({key, value ? std::optional<std::string_view>(*value) : std::nullopt});
    }
    TestCall call;
    applied = store.apply(all_checks, all_writes, call);
  }

  // Repeats it on `model`; returns false if the outcome would differ.
  bool repeat(Model& model) const {
    const bool holds = std::all_of(checks.begin(), checks.end(), [&](const auto& check) {
      const auto found = model.find(check.first);
      return (found == model.end() ? 0 : found->second.version) == check.second;
    });
    if (applied.outcome != (holds ? StoreOutcome::applied : StoreOutcome::conflict)) return false;
    for (const auto& [key, value] : writes) {
      if (!holds) break;
      model.erase(key);
      if (value) model[key] = {*value, applied.version};
    }
    return true;
  }
};

class StoreProperty : public OnEveryStore {
 protected:
  static constexpr std::size_t callers = 4;
  static constexpr int rounds = 60;
  static constexpr int seeds = 5;

  Attempt any_attempt() {
    Attempt attempt;
    for (const char* key : {"a", "b", "c"}) {
      const auto known = model_.find(key);
      const std::uint64_t version = known == model_.end() ? 0 : known->second.version;
      switch (chance_() % 8) {
        case 0:
        case 1:
        case 2:
          attempt.checks.emplace_back(key, version);
          break;
        case 3:
          attempt.checks.emplace_back(key, version == 0 ? old_version_ : 0);
          break;
        default:
          break;
      }
      switch (chance_() % 5) {
        case 0:
        case 1:
          attempt.writes.emplace_back(key, std::to_string(chance_()));
          break;
        case 2:
          attempt.writes.emplace_back(key, std::nullopt);
          break;
        default:
          break;
      }
      if (version != 0) old_version_ = version;
    }
    return attempt;
  }

  Model stored() {
    TestCall call;
    Model model;
    const auto page = store_of("p")->scan("", "", 100, call);
    EXPECT_TRUE(page.ok());
    for (std::size_t at = 0; page.ok() && at < page->size(); ++at) {
      model[(*page)[at].key] = {(*page)[at].value, (*page)[at].version};
    }
    return model;
  }

  // Applies the attempts to the model in an order that explains all outcomes; false if there is
  // none.
  bool explain(const std::vector<Attempt>& attempts, const Model& after) {
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < attempts.size(); ++at) order.push_back(at);
    do {
      Model model = model_;
      const bool same = std::all_of(order.begin(), order.end(),
                                    [&](std::size_t at) { return attempts[at].repeat(model); });
      if (same && model == after) {
        model_ = std::move(model);
        return true;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  std::mt19937_64 chance_;
  Model model_;
  std::uint64_t old_version_ = 7;
};
TURNPIKE_ON_EVERY_STORE(StoreProperty);

TEST_P(StoreProperty, ConcurrentAppliesHaveAnOrderThatExplainsThem) {
  int conflicts = 0;
  int applied = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    chance_.seed(static_cast<std::uint64_t>(seed));
    for (int round = 0; round < rounds; ++round) {
      std::vector<Attempt> attempts;
      for (std::size_t at = 0; at < callers; ++at) attempts.push_back(any_attempt());
      std::vector<std::thread> threads;
      for (std::size_t at = 0; at < callers; ++at) {
        threads.emplace_back(
            [&attempt = attempts[at], store = store_of("p", at % 2 == 1)] { attempt.run(*store); });
      }
      for (std::thread& thread : threads) thread.join();
      for (const Attempt& attempt : attempts) {
        conflicts += attempt.applied.outcome == StoreOutcome::conflict ? 1 : 0;
        applied += attempt.applied.outcome == StoreOutcome::applied ? 1 : 0;
      }
      ASSERT_TRUE(explain(attempts, stored())) << "seed " << seed << ", round " << round;
    }
  }
  EXPECT_EQ(conflicts + applied, static_cast<int>(callers) * rounds * seeds);
  EXPECT_GT(conflicts, 50);
  EXPECT_GT(applied, 50);
}

}  // namespace
}  // namespace turnpike::records
