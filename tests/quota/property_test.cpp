// Property: whatever two accounts do on shared and separate buckets, with a clock that goes forward
// and back, a store grants exactly what a slow and obvious model grants, and refuses by the same
// limit. The model keeps every grant as a record and counts them for every question. The stores are
// NodeStore and the one in Redis, whose script implements the same rules again.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "base/sources.h"
#include "quota/node_store.h"
#include "storage/redis_quota.h"
#include "support/redis.h"
#include "support/stores.h"

namespace turnpike::quota {
namespace {

enum class Act : std::uint8_t { take, give_back, wait, jump_back, reclaim };

struct Step {
  Act act = Act::take;
  int account = 0;
  int bucket = 0;
  int amount = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* names[] = {"take", "give_back", "wait", "jump_back", "reclaim"};
  return out << names[static_cast<int>(step.act)] << "(account " << step.account << ", bucket "
             << step.bucket << ", " << step.amount << ")";
}

// Two routes share bucket 0; bucket 1 has no quota, bucket 2 a cumulative limit.
Limits limits_of(int bucket, std::uint32_t permit_ttl_seconds) {
  Limits limits;
  limits.window = {static_cast<std::uint32_t>(3 + bucket), 10};
  limits.concurrency = 2;
  limits.permit_ttl_seconds = permit_ttl_seconds;
  if (bucket != 1) limits.quota = Window{6, 25};
  if (bucket == 2) limits.cumulative_limit = 9;
  return limits;
}

class Model {
 public:
  struct Grant {
    std::int64_t at_ms;  // by the clock that never goes back
    std::int64_t end_ns;
    bool is_back = false;
  };

  explicit Model(std::uint32_t permit_ttl_seconds) : permit_ttl_seconds_(permit_ttl_seconds) {}

  // Called for each reading of the clock, which then never goes back.
  void see(std::int64_t now_ms) { latest_ms_ = std::max(latest_ms_, now_ms); }
  std::optional<Limit> take(int account, int bucket, std::int64_t now_ms, std::int64_t now_ns) {
    see(now_ms);
    auto& grants = grants_[{account, bucket}];
    const Limits limits = limits_of(bucket, permit_ttl_seconds_);
    const auto in_window = [&](const Window& window) {
      const std::int64_t length = window.seconds * 1'000;
      return static_cast<std::uint32_t>(std::count_if(
          grants.begin(), grants.end(),
          [&](const Grant& grant) { return grant.at_ms / length == latest_ms_ / length; }));
    };
    if (limits.cumulative_limit && grants.size() >= *limits.cumulative_limit) {
      return Limit::cumulative;
    }
    if (limits.quota && in_window(*limits.quota) >= limits.quota->limit) return Limit::quota;
    if (in_window(limits.window) >= limits.window.limit) return Limit::window;
    const auto out = std::count_if(grants.begin(), grants.end(), [&](const Grant& grant) {
      return !grant.is_back && grant.end_ns > now_ns;
    });
    if (out >= limits.concurrency) return Limit::concurrency;
    grants.push_back({latest_ms_, now_ns + limits.permit_ttl_seconds * 1'000'000'000ll});
    return std::nullopt;
  }
  std::size_t last(int account, int bucket) { return grants_[{account, bucket}].size() - 1; }
  void give_back(int account, int bucket, std::size_t number) {
    grants_[{account, bucket}][number].is_back = true;
  }

 private:
  std::map<std::pair<int, int>, std::vector<Grant>> grants_;
  std::int64_t latest_ms_ = 0;
  const std::uint32_t permit_ttl_seconds_;
};

rc::Gen<Step> steps() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::act, rc::gen::weightedElement<Act>({{12, Act::take},
                                                              {6, Act::give_back},
                                                              {3, Act::wait},
                                                              {1, Act::jump_back},
                                                              {1, Act::reclaim}})),
      rc::gen::set(&Step::account, rc::gen::inRange(0, 2)),
      rc::gen::set(&Step::bucket, rc::gen::inRange(0, 3)),
      rc::gen::set(&Step::amount, rc::gen::inRange(0, 12'000)));
}

// A store and its clock.
class World {
 public:
  virtual ~World() = default;
  virtual QuotaStore& store() = 0;
  [[nodiscard]] virtual std::int64_t now_ms() const = 0;  // for windows
  [[nodiscard]] virtual std::int64_t now_ns() const = 0;  // for permits
  virtual void wait(int ms) = 0;
  virtual void jump_back(int ms) = 0;
  virtual void reclaim() {}
};

class OneNode final : public World {
 public:
  QuotaStore& store() override { return store_; }
  [[nodiscard]] std::int64_t now_ms() const override { return clock_.now_ms(); }
  [[nodiscard]] std::int64_t now_ns() const override { return clock_.monotonic_ns(); }
  void wait(int ms) override { clock_.move_ms(ms); }
  void jump_back(int ms) override { clock_.step_ms(-ms); }
  void reclaim() override { store_.reclaim(100'000); }

 private:
  support::ManualClock clock_;
  NodeStore store_{clock_, std::nullopt};
};

// The server's clock cannot be set, but the latest time that it has seen can. We write times from a
// day ahead, and windows follow them as after a lasting jump back. Permits are not affected.
class OnRedis final : public World {
 public:
  OnRedis() { wait(86'400'000); }
  QuotaStore& store() override { return *store_; }
  [[nodiscard]] std::int64_t now_ms() const override { return now_ms_; }
  [[nodiscard]] std::int64_t now_ns() const override { return 0; }
  void wait(int ms) override {
    now_ms_ += ms;
    const std::string command = "SET turnpike:free:clock " + std::to_string(now_ms_);
    EXPECT_EQ(server_.run(command), "+OK");
  }
  void jump_back(int) override {}

 private:
  support::Redis server_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::int64_t now_ms_ = clock_.now_ms();
  std::unique_ptr<QuotaStore> store_ =
      *storage::make_redis_quota({.url = server_.url()}, random_, *log_);
};

// Plays one script and compares every step with the model. The accounts belong to this script.
void play(World& world, const std::string& account_prefix, std::uint32_t permit_ttl_seconds) {
  Model model(permit_ttl_seconds);
  struct Out {
    int account;
    int bucket;
    std::size_t number;
    std::unique_ptr<Permit> permit;
  };
  std::vector<Out> out;
  const auto script = *rc::gen::container<std::vector<Step>>(steps());
  for (const Step& step : script) {
    switch (step.act) {
      case Act::take: {
        const auto& bucket = world.store().bucket("b" + std::to_string(step.bucket));
        auto decided = world.store().take(account_prefix + std::to_string(step.account), bucket,
                                          limits_of(step.bucket, permit_ttl_seconds),
                                          runtime::Deadline::after_ms(60'000));
        RC_ASSERT(decided.ok());
        const auto expected = model.take(step.account, step.bucket, world.now_ms(), world.now_ns());
        RC_ASSERT(decided->refused_by == expected);
        RC_ASSERT((decided->permit == nullptr) == expected.has_value());
        if (expected) break;
        out.push_back({step.account, step.bucket, model.last(step.account, step.bucket),
                       std::move(decided->permit)});
        break;
      }
      case Act::give_back:
        if (out.empty()) break;
        std::swap(out[static_cast<std::size_t>(step.amount) % out.size()], out.back());
        model.give_back(out.back().account, out.back().bucket, out.back().number);
        out.pop_back();
        break;
      case Act::wait:
        world.wait(step.amount);
        break;
      case Act::jump_back:
        world.jump_back(step.amount * 3);
        break;
      case Act::reclaim:
        world.reclaim();
        model.see(world.now_ms());
        break;
    }
  }
}

TEST(QuotaStoreProperty, ANodeGrantsWhatASlowModelGrants) {
  EXPECT_TRUE(rc::check([] {
    OneNode world;
    play(world, "acc_", 7);
  }));
}

TEST(QuotaStoreProperty, RedisGrantsWhatASlowModelGrants) {
  if (const std::string why = support::redis_missing(); !why.empty()) GTEST_SKIP() << why;
  OnRedis world;
  int scripts = 0;
  EXPECT_TRUE(rc::check([&] { play(world, "acc_" + std::to_string(++scripts) + "_", 3'600); }));
}

}  // namespace
}  // namespace turnpike::quota
