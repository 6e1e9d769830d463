#include "runtime/timer_wheel.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace turnpike::runtime {
namespace {

constexpr std::int64_t ms = 1'000'000;

struct Node final : TimerNode {
  std::int64_t deadline_ns = 0;
  std::function<void(Node&)> then;

 private:
  void expired() noexcept override { then(*this); }
};

TEST(TimerWheel, NeverEarlyAndAtMostOneTickLate) {
  TimerWheel wheel(0);
  Node node;
  int expiries = 0;
  node.then = [&](Node&) { ++expiries; };
  wheel.arm(node, Deadline{5 * ms + 1});
  wheel.advance(5 * ms + 999'999);
  EXPECT_EQ(expiries, 0);
  wheel.advance(6 * ms);
  EXPECT_EQ(expiries, 1);
  EXPECT_FALSE(node.armed());
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, NextIsNeverAfterTheEarliestDeadline) {
  TimerWheel wheel(1'000 * ms);
  EXPECT_EQ(wheel.next().ns, Deadline::never().ns);
  Node near;
  Node far;
  near.then = far.then = [](Node&) {};
  wheel.arm(far, Deadline{90'000 * ms});
  EXPECT_LE(wheel.next().ns, 90'000 * ms);
  wheel.arm(near, Deadline{1'003 * ms});
  EXPECT_EQ(wheel.next().ns, 1'003 * ms);
  wheel.disarm(near);
  EXPECT_GT(wheel.next().ns, 1'003 * ms);
  wheel.disarm(far);
  wheel.disarm(far);
  EXPECT_EQ(wheel.next().ns, Deadline::never().ns);
}

TEST(TimerWheel, APassedDeadlineThatArmsItselfAgainDoesNotHoldUpTheAdvance) {
  TimerWheel wheel(0);
  Node node;
  int expiries = 0;
  node.then = [&](Node& self) {
    ++expiries;
    wheel.arm(self, Deadline{0});
  };
  wheel.arm(node, Deadline{0});
  wheel.advance(10 * ms);
  EXPECT_EQ(expiries, 10);
  wheel.disarm(node);
}

TEST(TimerWheel, AnExpiryMayDisarmANodeOfTheSameTick) {
  TimerWheel wheel(0);
  Node first;
  Node second;
  int expiries = 0;
  first.then = [&](Node&) { ++expiries, wheel.disarm(second); };
  second.then = [&](Node&) { ++expiries, wheel.disarm(first); };
  wheel.arm(first, Deadline{ms});
  wheel.arm(second, Deadline{ms});
  wheel.advance(ms);
  EXPECT_EQ(expiries, 1);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, ADeadlineBeyondTheCoarsestLevelIsKept) {
  TimerWheel wheel(0);
  Node node;
  int expiries = 0;
  node.then = [&](Node&) { ++expiries; };
  const std::int64_t five_years_ns = std::int64_t{5} * 365 * 86'400'000 * ms;
  wheel.arm(node, Deadline{five_years_ns});
  wheel.advance(five_years_ns - ms);
  EXPECT_EQ(expiries, 0);
  wheel.advance(five_years_ns);
  EXPECT_EQ(expiries, 1);
}

// Compared with a sorted model: random deadlines of all magnitudes, cancellations, jumps of the
// clock.
TEST(TimerWheel, AgreesWithASortedModel) {
  std::mt19937_64 chance(20261121);
  std::int64_t now = 123'456'789 * ms;
  TimerWheel wheel(now);
  std::vector<std::unique_ptr<Node>> nodes(2'000);
  std::multimap<std::int64_t, Node*> model;
  std::vector<Node*> fired;
  for (auto& node : nodes) {
    node = std::make_unique<Node>();
    node->then = [&](Node& self) { fired.push_back(&self); };
  }
  const auto forget = [&](Node* node) {
    for (auto [at, end] = model.equal_range(node->deadline_ns); at != end; ++at) {
      if (at->second == node) return model.erase(at), void();
    }
    FAIL() << "a node expired that was not armed";
  };
  for (int round = 0; round < 20'000; ++round) {
    Node& node = *nodes[chance() % nodes.size()];
    if (node.armed()) {
      forget(&node);
      wheel.disarm(node);
    } else {
      node.deadline_ns = now + ms + static_cast<std::int64_t>(chance() % (ms << (chance() % 30)));
      wheel.arm(node, Deadline{node.deadline_ns});
      model.emplace(node.deadline_ns, &node);
    }
    if (round % 7 != 0) continue;
    if (!model.empty()) {
      EXPECT_LE(wheel.next().ns, model.begin()->first + ms);
    }
    now += static_cast<std::int64_t>(chance() % (ms << (chance() % 22)));
    fired.clear();
    wheel.advance(now);
    for (Node* expired : fired) {
      EXPECT_LE(expired->deadline_ns, now);
      forget(expired);
    }
    // No timer may remain that was due a whole tick ago.
    if (!model.empty()) {
      EXPECT_GT(model.begin()->first, now - ms);
    }
    ASSERT_EQ(wheel.size(), model.size());
  }
  for (auto& node : nodes) wheel.disarm(*node);
}

}  // namespace
}  // namespace turnpike::runtime
