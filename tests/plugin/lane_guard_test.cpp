// Lanes behind the guard: what they do wrong never turns into money lost or charged twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/call_by_hand.h"
#include "plugin/guard.h"
#include "plugin/inspect.h"
#include "plugin/surroundings.h"

namespace turnpike::plugin {
namespace {

using runtime::Deadline;

// What the lane below does and what was done to it.
struct Script {
  std::optional<Refusal> refusal;
  int replay_status = 0;
  bool waits_in_admit = false;
  bool waits_in_settle = false;
  Finish finish = Charged{};
  runtime::Event inside;  // the lane's code has been reached
  runtime::Event go_on;
  std::atomic<int> released{0};
  std::atomic<int> settled{0};
  std::string seen;

  void pass(bool waits) {
    inside.set();
    if (waits) go_on.wait(Deadline::never());
  }
};

class ScriptedTicket final : public Ticket {
 public:
  explicit ScriptedTicket(Script& script) : script_(script) {}
  Finish settle(const ReplyView& reply, Call&) override {
    script_.pass(script_.waits_in_settle);
    script_.seen = std::string(reply.body) + std::string(reply.headers[0].value);
    ++script_.settled;
    return script_.finish;
  }
  void release(Outcome, int, Call&) override { ++script_.released; }

 private:
  Script& script_;
};

class ScriptedBoundLane final : public BoundLane {
 public:
  explicit ScriptedBoundLane(Script& script) : script_(script) {}
  Admission admit(const LaneRequest& request, Call&) override {
    script_.pass(script_.waits_in_admit);
    script_.seen = std::string(request.path) + std::string(request.credentials[0].value);
    if (script_.refusal) return *script_.refusal;
    if (script_.replay_status != 0) return Replay{script_.replay_status, {}, "stored"};
    return std::unique_ptr<Ticket>(std::make_unique<ScriptedTicket>(script_));
  }

 private:
  Script& script_;
};

class ScriptedLane final : public Lane {
 public:
  explicit ScriptedLane(Script& script) : script_(script) {}
  [[nodiscard]] LaneTraits traits() const noexcept override {
    return {"scripted", {}, false, false};
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding&, Host&) override {
    return std::unique_ptr<BoundLane>(std::make_unique<ScriptedBoundLane>(script_));
  }

 private:
  Script& script_;
};

class LaneGuardTest : public ::testing::TestWithParam<Execution> {
 protected:
  LaneGuardTest()
      : guard_("scripted", 1, GetParam(),
               {surroundings_.pool, surroundings_.log, *surroundings_.metrics},
               {.pool_threads_max = 1, .pool_queued_max = 0}),
        lane_(guard_.wrap(plain_lane_)) {
    const Settings settings;
    PluginHost host("scripted", surroundings_.resources());
    auto bound = lane_->bind({{}, settings, "gen", "origin"}, host);
    bound_ = *std::move(bound);
  }
  Admission admit(Deadline deadline = Deadline::after_ms(30'000)) {
    const std::string value("credential that dies with this call");
    const HeaderField credential{"x", value};
    LaneRequest request;
    request.path = "/path";
    request.credentials = {&credential, 1};
    CallByHand call(deadline);
    return bound_->admit(request, call);
  }
  std::unique_ptr<Ticket> ticket() {
    Admission admission = admit();
    auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission);
    EXPECT_NE(ticket, nullptr);
    return ticket == nullptr ? nullptr : std::move(*ticket);
  }
  static Finish settle(Ticket& ticket, Deadline deadline = Deadline::after_ms(30'000)) {
    const std::string body("a body that dies with this call");
    const HeaderField header{"x", "v"};
    ReplyView reply;
    reply.body = body;
    reply.headers = {&header, 1};
    CallByHand call(deadline);
    return ticket.settle(reply, call);
  }

  Script script_;
  ScriptedLane plain_lane_{script_};
  Surroundings surroundings_{2};
  Guard guard_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<BoundLane> bound_;
};

INSTANTIATE_TEST_SUITE_P(Execution, LaneGuardTest,
                         ::testing::Values(Execution::cooperative, Execution::blocking),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(LaneGuardTest, AdmitsSettlesAndReleases) {
  EXPECT_EQ(lane_->traits().name, "scripted");
  script_.finish = Charged{{}, 7, 3};
  const auto first = ticket();
  EXPECT_EQ(script_.seen, "/pathcredential that dies with this call");
  const Finish finish = settle(*first);
  ASSERT_TRUE(std::holds_alternative<Charged>(finish));
  EXPECT_EQ(std::get<Charged>(finish).credits_charged, 7u);
  EXPECT_EQ(script_.seen, "a body that dies with this callv");
  CallByHand call;
  ticket()->release(Outcome::upstream_timeout, 0, call);
  EXPECT_EQ(script_.released, 1);
  EXPECT_EQ(guard_.in_flight(), 0u);
}

TEST_P(LaneGuardTest, ARefusalMustNameAnErrorOfTheGateway) {
  script_.refusal = Refusal{"billing.credits_exhausted", "no more", 0, {}, {}, {}};
  Admission admission = admit();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "billing.credits_exhausted");
  script_.refusal->code = "made.up";
  admission = admit();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "gateway.plugin_fault");
  EXPECT_EQ(std::get<Refusal>(admission).message,
            "lane scripted: it refused with the unknown code made.up");
}

TEST_P(LaneGuardTest, AnUnknownSettlementStaysUnknownWhateverItsCode) {
  script_.finish = Unknown{Refusal{"made.up", "", 0, {}, {}, {}}};
  const Finish finish = settle(*ticket());
  ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
  EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "gateway.plugin_fault");
}

TEST_P(LaneGuardTest, AReplayMustHaveAStatusThatHttpHas) {
  script_.replay_status = 200;
  EXPECT_TRUE(std::holds_alternative<Replay>(admit()));
  script_.replay_status = 42;
  const Admission admission = admit();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).message,
            "lane scripted: it replays a status outside 200 to 599");
}

using BlockingLaneGuardTest = LaneGuardTest;
INSTANTIATE_TEST_SUITE_P(Execution, BlockingLaneGuardTest, ::testing::Values(Execution::blocking));

TEST_P(BlockingLaneGuardTest, AnAdmissionWhoseCallerLeftIsReleased) {
  script_.waits_in_admit = true;
  const Admission admission = admit(Deadline::after_ms(300));
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "gateway.plugin_fault");
  EXPECT_EQ(std::get<Refusal>(admission).message,
            "lane scripted: it had not admitted at the deadline");
  script_.inside.wait(Deadline::never());
  EXPECT_EQ(script_.released, 0);

  const Admission refused = admit();  // the only place of its share is taken
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_EQ(std::get<Refusal>(refused).code, "gateway.overloaded");
  script_.go_on.set();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
  // The pool lets go of the work a moment after it counts it as ended.
  while (script_.released == 0) std::this_thread::yield();
  EXPECT_EQ(script_.released, 1);
}

TEST_P(BlockingLaneGuardTest, ASettlementThatWasBegunAndNotSeenToEndIsUnknown) {
  const auto held = ticket();
  script_.waits_in_settle = true;
  script_.inside.reset();
  const Finish finish = settle(*held, Deadline::after_ms(300));
  ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
  EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "billing.settlement_unknown");
  script_.inside.wait(Deadline::never());
  script_.go_on.set();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
  EXPECT_EQ(script_.settled, 1);
}

TEST_P(BlockingLaneGuardTest, ASettlementThatFoundNoRoomChargedNothing) {
  const auto held = ticket();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
  const Finish finish = settle(*held);
  ASSERT_TRUE(std::holds_alternative<NotCharged>(finish));
  EXPECT_EQ(std::get<NotCharged>(finish).refusal.code, "gateway.overloaded");
  EXPECT_EQ(script_.settled, 0);
}

}  // namespace
}  // namespace turnpike::plugin
