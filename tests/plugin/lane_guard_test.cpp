// Lanes behind the guard: their faults never cause lost money or a double charge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "plugin/call_by_hand.h"
#include "plugin/guard.h"
#include "plugin/inspect.h"
#include "plugin/surroundings.h"
#include "runtime/runtime.h"

namespace turnpike::plugin {
namespace {

using runtime::Deadline;

// The behaviour of the lane below, and a record of its calls.
struct Script {
  std::optional<Refusal> refusal;
  ReadTerms terms;
  bool throws_in_terms = false;
  int replay_status = 0;
  bool waits_in_admit = false;
  bool waits_in_settle = false;
  bool throws_in_admit = false;
  bool throws_in_settle = false;
  bool throws_in_release = false;
  std::optional<Refusal> answer_to_release;
  Finish finish = Charged{};
  runtime::Event inside;  // the lane's code has been reached
  runtime::Event go_on;
  std::atomic<runtime::Wake> wake{};
  std::atomic<int> released{0};
  std::atomic<int> settled{0};
  std::atomic<Outcome> why{};
  std::atomic<std::int64_t> release_deadline_ns{0};
  std::atomic<int> tickets{0};  // alive
  std::atomic<int> lanes{0};
  std::atomic<bool> died_on_a_loop{false};
  std::string seen;

  void gone(std::atomic<int>& objects) {
    if (runtime::Loop::current() != nullptr) died_on_a_loop = true;
    --objects;
  }

  void pass(bool waits) {
    inside.set();
    if (waits) wake = go_on.wait(Deadline::never());
  }
};

class ScriptedTicket final : public Ticket {
 public:
  explicit ScriptedTicket(Script& script) : script_(script) { ++script_.tickets; }
  ~ScriptedTicket() override { script_.gone(script_.tickets); }
  Finish settle(const ReplyView& reply, Call&) override {
    script_.pass(script_.waits_in_settle);
    script_.seen = std::string(reply.body) + std::string(reply.headers[0].value);
    ++script_.settled;
    if (script_.throws_in_settle) throw std::runtime_error("out of luck");
    return script_.finish;
  }
  std::optional<Refusal> release(Outcome outcome, int, Call& call) override {
    script_.why = outcome;
    script_.release_deadline_ns = call.deadline_ns();
    ++script_.released;
    if (script_.throws_in_release) throw std::runtime_error("out of luck");
    return script_.answer_to_release;
  }

 private:
  Script& script_;
};

class ScriptedBoundLane final : public BoundLane {
 public:
  ScriptedBoundLane(Script& script, const LaneBinding& binding)
      : script_(script),
        operations_(binding.operations),
        generation_id_(binding.generation_id),
        public_origin_(binding.public_origin) {
    ++script_.lanes;
  }
  ~ScriptedBoundLane() override { script_.gone(script_.lanes); }
  Admission admit(const LaneRequest& request, Call&) override {
    script_.pass(script_.waits_in_admit);
    script_.seen = std::string(request.path) + std::string(request.credentials[0].value);
    if (!operations_.empty()) {
      const PricedOperation& priced = operations_[request.operation];
      script_.seen = std::string(priced.route_id) + std::string(priced.path) +
                     std::string(priced.price_policy_key) + std::string(priced.terms) +
                     std::string(priced.free_bucket) + std::string(generation_id_) +
                     std::string(public_origin_);
    }
    if (script_.throws_in_admit) throw std::runtime_error("out of luck");
    if (script_.refusal) return *script_.refusal;
    if (script_.replay_status != 0) return Replay{script_.replay_status, {}, "stored"};
    return std::unique_ptr<Ticket>(std::make_unique<ScriptedTicket>(script_));
  }

 private:
  Script& script_;
  const std::span<const PricedOperation> operations_;
  const std::string_view generation_id_;
  const std::string_view public_origin_;
};

class ScriptedLane final : public Lane {
 public:
  explicit ScriptedLane(Script& script) : script_(script) {}
  [[nodiscard]] LaneTraits traits() const noexcept override {
    return {"scripted", {}, false, false};
  }
  [[nodiscard]] Result<ReadTerms> read_terms(const RegistryParts&) const override {
    if (script_.throws_in_terms) throw std::runtime_error("out of luck");
    return script_.terms;
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host&) override {
    return std::unique_ptr<BoundLane>(std::make_unique<ScriptedBoundLane>(script_, binding));
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
    bind();
  }
  void bind(std::span<const PricedOperation> operations = {},
            std::string_view generation_id = "gen", std::string_view public_origin = "origin") {
    const Settings settings;
    PluginHost host("scripted", surroundings_.resources());
    auto bound = lane_->bind({operations, settings, generation_id, public_origin}, host);
    bound_ = *std::move(bound);
  }
  // Occupies the lane's only pool thread until `script_.go_on` is set.
  std::thread take_the_thread() {
    script_.waits_in_admit = true;
    script_.inside.reset();
    std::thread other([this] { ticket().reset(); });
    script_.inside.wait(Deadline::never());
    return other;
  }
  static bool is_overloaded(const Admission& admission) {
    const auto* refusal = std::get_if<Refusal>(&admission);
    return refusal != nullptr && refusal->code == "gateway.overloaded";
  }
  // Expects that many faults; the last with this reason and the id of its request.
  void expect_faults(int faults, const std::string& reason) {
    EXPECT_THAT(surroundings_.metrics->text(),
                ::testing::HasSubstr(
                    R"(turnpike_guard_failures_total{kind="plugin_fault",plugin="scripted"} )" +
                    std::to_string(faults) + "\n"));
    const std::string lines = surroundings_.log.lines();
    const std::size_t last = lines.rfind('\n', lines.size() - 2) + 1;
    EXPECT_THAT(
        lines.substr(last),
        ::testing::AllOf(
            ::testing::HasSubstr(R"("event":"plugin_fault")"), ::testing::HasSubstr(reason),
            ::testing::HasSubstr(R"("request_id":"01930000-0000-7000-8000-000000000001")")));
  }
  void stop_pool() { EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000))); }
  Admission admit(Deadline deadline = Deadline::after_ms(30'000)) {
    const std::string value("credential that dies with this call");
    const HeaderField credential{"x", value};
    LaneRequest request;
    request.path = "/path";
    request.credentials = {&credential, 1};
    CallByHand call(deadline);
    return bound_->admit(request, call);
  }
  // Retries while the lane is overloaded: the pool thread may not have finished the previous call.
  Admission admit_in_turn() {
    Admission admission = admit();
    while (is_overloaded(admission)) admission = admit();
    return admission;
  }
  std::unique_ptr<Ticket> ticket() {
    Admission admission = admit_in_turn();
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
  std::optional<runtime::Runtime> runtime_;  // ends after the pool, which wakes its fibers
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
            "plugin scripted: it refused with the unknown code made.up: no more");
  expect_faults(1, "it refused with the unknown code made.up: no more");
}

// A fault that the shell around a lane caught arrives as a refusal or an unknown outcome with the
// code of a fault. The guard must still count and log it.
TEST_P(LaneGuardTest, AFaultThatTheShellCaughtIsCountedAndToldWithItsRequest) {
  const Refusal caught{"gateway.plugin_fault", "out of luck", 0, {}, {}, {}};
  script_.finish = Unknown{caught};
  const Finish finish = settle(*ticket());
  ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
  EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "billing.settlement_unknown");
  expect_faults(1, "out of luck");
  script_.answer_to_release = caught;
  CallByHand call;
  EXPECT_EQ(ticket()->release(Outcome::upstream_timeout, 0, call), std::nullopt)
      << "its caller is told of the upstream, not of the lane";
  expect_faults(2, "out of luck");
  script_.refusal = caught;
  EXPECT_TRUE(std::holds_alternative<Refusal>(admit_in_turn()));
  expect_faults(3, "out of luck");
}

// Terms are part of a program's hash, so they must be canonical JSON.
TEST_P(LaneGuardTest, TermsThatCannotNameAProgramAreAFault) {
  const Settings part;
  const Settings* const prices[] = {&part};
  const RegistryParts::Policy policies[] = {{}};
  const RegistryParts parts{&part, prices, policies};
  const auto fault = [&] {
    const auto read = lane_->read_terms(parts);
    return read.ok() ? std::string() : read.error().message;
  };
  const auto sound = [] {
    ReadTerms read;
    read.canonical = R"({"a":1,"b":[]})";
    read.prices = {{true, "[]", "[]", {}, {}, "{}", "{}", {}}};
    read.policies = {{{}, {}, "{}"}};
    return read;
  };
  script_.terms = sound();
  EXPECT_EQ(fault(), "");
  script_.terms.canonical = R"({"b":[],"a":1})";
  EXPECT_THAT(fault(), ::testing::HasSubstr("canonical JSON"));
  script_.terms = sound();
  script_.terms.prices[0].definition = "[1.0]";
  EXPECT_THAT(fault(), ::testing::HasSubstr("canonical JSON"));
  script_.terms = sound();
  script_.terms.policies[0].canonical = "upfront";
  EXPECT_THAT(fault(), ::testing::HasSubstr("canonical JSON"));
  script_.terms = sound();
  script_.terms.policies[0].billing = "[]";
  EXPECT_THAT(fault(), ::testing::HasSubstr("no JSON object"));
  script_.terms = sound();
  script_.terms.prices.clear();
  EXPECT_THAT(fault(), ::testing::HasSubstr("other terms than it was given"));
  script_.terms.mistakes = {{}};
  EXPECT_EQ(fault(), "") << "the rest means nothing";
  script_.throws_in_terms = true;
  EXPECT_THAT(fault(), ::testing::HasSubstr("out of luck"));
}

TEST_P(LaneGuardTest, AnUnknownSettlementMayHaveTheCodeOfTheLaneForIt) {
  constexpr LaneCode codes[] = {
      {"scripted.lost", 503, Fault::gateway, Advice::never, "Lost.", CodeRole::outcome_unknown}};
  ASSERT_TRUE(base::add_lane_codes("scripted", codes).ok());
  script_.finish = Unknown{Refusal{"scripted.lost", "sentence", 0, {}, {}, {}}};
  const Finish finish = settle(*ticket());
  ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
  EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "scripted.lost");
}

TEST_P(LaneGuardTest, AnUnknownSettlementIsToldAsUnknownWhateverItsCode) {
  for (const char* code : {"made.up", "billing.credits_exhausted", "billing.settlement_unknown"}) {
    script_.finish = Unknown{Refusal{code, "sentence", 0, {}, {}, {}}};
    const Finish finish = settle(*ticket());
    ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
    EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "billing.settlement_unknown");
    EXPECT_THAT(std::get<Unknown>(finish).refusal.message, ::testing::HasSubstr("sentence"));
  }
}

TEST_P(LaneGuardTest, WhatALaneThrowsIsAFaultAndASettlementThatThrewIsUnknown) {
  const auto held = ticket();
  script_.throws_in_settle = true;
  const Finish finish = settle(*held);
  ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
  EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "billing.settlement_unknown");
  script_.throws_in_release = true;
  CallByHand call;
  ticket()->release(Outcome::upstream_timeout, 0, call);
  EXPECT_EQ(script_.released, 1);
  script_.throws_in_admit = true;
  const Admission admission = admit_in_turn();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "gateway.plugin_fault");
  EXPECT_THAT(surroundings_.metrics->text(),
              ::testing::HasSubstr(
                  R"(turnpike_guard_failures_total{kind="plugin_fault",plugin="scripted"} 3)"));
  EXPECT_THAT(surroundings_.log.lines(), ::testing::HasSubstr("the plugin threw: out of luck"));
}

TEST_P(LaneGuardTest, ATicketThatNobodyEndedIsReleased) {
  ticket().reset();  // as if an exception ended the call
  stop_pool();
  EXPECT_EQ(script_.released, 1);
  EXPECT_EQ(script_.why, Outcome::gateway_stopped);
  EXPECT_EQ(script_.tickets, 0);
}

TEST_P(LaneGuardTest, ASettlementIsNotCancelledWithItsFiber) {
  runtime_.emplace(runtime::RuntimeOptions{});
  const auto held = ticket();
  script_.waits_in_settle = true;
  script_.inside.reset();
  std::optional<Finish> finish;
  runtime::Event ended;
  auto fiber = runtime_->loops().front()->spawn([&] {
    finish.emplace(settle(*held));
    ended.set();
  });
  script_.inside.wait(Deadline::never());
  fiber.cancel();
  script_.go_on.set();
  ended.wait(Deadline::never());
  EXPECT_TRUE(std::holds_alternative<Charged>(*finish));
  EXPECT_EQ(script_.wake, runtime::Wake::ready);
}

TEST_P(LaneGuardTest, ALaneOutlivedByATicketKeepsItsOwnCopyOfTheBinding) {
  {
    std::string terms(100, 't');
    const std::string route("route"), path("/path"), policy("policy"), bucket("bucket"),
        id("gen_1"), origin("o");
    PricedOperation operation;
    operation.route_id = route;
    operation.path = path;
    operation.price_policy_key = policy;
    operation.terms = terms;
    operation.free_bucket = bucket;
    const PricedOperation operations[] = {operation, operation};
    bind(operations, id, origin);
    terms.assign(100, 'x');
  }
  const auto held = ticket();
  EXPECT_EQ(script_.seen, "route/pathpolicy" + std::string(100, 't') + "bucketgen_1o");
  EXPECT_EQ(script_.lanes, 1);
  bound_.reset();
  EXPECT_EQ(script_.lanes, 1);
  settle(*held);
  stop_pool();
  EXPECT_EQ(script_.tickets, 0);
}

TEST_P(LaneGuardTest, ABoundLaneThatALoopLetsGoOfLastDiesElsewhere) {
  runtime_.emplace(runtime::RuntimeOptions{});
  runtime::Event ended;
  auto held = ticket();
  bound_.reset();
  runtime_->loops().front()->spawn([&] {
    settle(*held);
    EXPECT_EQ(script_.died_on_a_loop, !guard_.uses_pool());  // the ticket, on this fiber
    script_.died_on_a_loop = false;
    held.reset();
    ended.set();
  });
  ended.wait(Deadline::never());
  stop_pool();
  EXPECT_EQ(script_.lanes, 0);
  EXPECT_FALSE(script_.died_on_a_loop);
}

TEST_P(LaneGuardTest, AReplayMustHaveAStatusThatHttpHas) {
  script_.replay_status = 200;
  EXPECT_TRUE(std::holds_alternative<Replay>(admit()));
  script_.replay_status = 42;
  const Admission admission = admit();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).message,
            "plugin scripted: it replays a status outside 200 to 599");
}

using BlockingLaneGuardTest = LaneGuardTest;
INSTANTIATE_TEST_SUITE_P(Execution, BlockingLaneGuardTest, ::testing::Values(Execution::blocking));

TEST_P(BlockingLaneGuardTest, AnAdmissionWhoseCallerLeftIsReleased) {
  script_.waits_in_admit = true;
  Admission admission = admit(Deadline::after_ms(100));
  // On a busy machine the admission may not have begun by the deadline; then it never begins.
  for (int wait_ms = 200; guard_.pool_counts().abandoned == 0; wait_ms *= 2) {
    admission = admit(Deadline::after_ms(wait_ms));
  }
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "gateway.plugin_fault");
  EXPECT_EQ(std::get<Refusal>(admission).message,
            "plugin scripted: it had not admitted at the deadline");
  script_.inside.wait(Deadline::never());
  EXPECT_EQ(script_.released, 0);

  EXPECT_TRUE(is_overloaded(admit()));  // the only place of its share is taken
  script_.go_on.set();
  stop_pool();
  EXPECT_EQ(script_.released, 1);
  EXPECT_EQ(script_.why, Outcome::client_gone_before_reply);
  EXPECT_EQ(script_.tickets, 0);
}

TEST_P(BlockingLaneGuardTest, ASettlementThatWasBegunAndNotSeenToEndIsUnknown) {
  script_.waits_in_settle = true;
  Finish finish = settle(*ticket(), Deadline::after_ms(100));
  int not_begun = 0;  // by the deadline, on a busy machine; these are released
  for (int wait_ms = 200; std::holds_alternative<NotCharged>(finish); wait_ms *= 2) {
    ++not_begun;
    finish = settle(*ticket(), Deadline::after_ms(wait_ms));
  }
  ASSERT_TRUE(std::holds_alternative<Unknown>(finish));
  EXPECT_EQ(std::get<Unknown>(finish).refusal.code, "billing.settlement_unknown");
  script_.go_on.set();
  stop_pool();
  EXPECT_EQ(script_.settled, 1);
  EXPECT_EQ(script_.released, not_begun);
  EXPECT_EQ(script_.tickets, 0);
}

TEST_P(BlockingLaneGuardTest, ASettlementToldAsNotChargedNeverBeginsAndItsTicketIsReleased) {
  const auto held = ticket();
  std::thread other = take_the_thread();
  const Deadline deadline = Deadline::after_ms(5);
  const Finish finish = settle(*held, deadline);
  ASSERT_TRUE(std::holds_alternative<NotCharged>(finish));
  EXPECT_EQ(std::get<NotCharged>(finish).refusal.code, "gateway.overloaded");
  EXPECT_EQ(script_.released, 0);  // no thread is free for it yet
  script_.go_on.set();
  other.join();
  stop_pool();
  EXPECT_EQ(script_.settled, 0);
  EXPECT_EQ(script_.why, Outcome::gateway_stopped);
  EXPECT_GT(script_.release_deadline_ns, deadline.ns);  // the release has its own time
  EXPECT_EQ(script_.released, 2);                       // this ticket and the other thread's
  EXPECT_EQ(script_.tickets, 0);
}

TEST_P(BlockingLaneGuardTest, AFullPoolDelaysTheEndOfATicketButDoesNotRefuseIt) {
  const auto first = ticket();
  const auto second = ticket();
  std::thread other = take_the_thread();
  EXPECT_TRUE(is_overloaded(admit()));
  std::thread settling([&] { EXPECT_TRUE(std::holds_alternative<Charged>(settle(*first))); });
  std::thread releasing([&] {
    CallByHand call;
    second->release(Outcome::upstream_timeout, 0, call);
  });
  while (guard_.pool_counts().queued < 2) std::this_thread::yield();
  script_.go_on.set();
  settling.join();
  releasing.join();
  other.join();
  EXPECT_EQ(script_.settled, 1);
  EXPECT_GE(script_.released, 1);
}

TEST_P(BlockingLaneGuardTest, StoppingThePoolEndsEveryTicketWhoseEndIsOwed) {
  std::vector<std::unique_ptr<Ticket>> held;
  for (int count = 0; count < 5; ++count) held.push_back(ticket());
  std::thread other = take_the_thread();
  CallByHand no_time(Deadline{0});
  for (const auto& ticket : held) ticket->release(Outcome::upstream_timeout, 0, no_time);
  EXPECT_FALSE(surroundings_.pool.stop(Deadline{0}));
  EXPECT_EQ(script_.released, 0);
  script_.go_on.set();
  other.join();
  stop_pool();
  EXPECT_EQ(script_.released, 6);  // includes the one admitted last
  EXPECT_EQ(script_.tickets, 0);
}

TEST_P(BlockingLaneGuardTest, ATicketIsEndedByItsCallerOnceThePoolHasStopped) {
  const auto settled = ticket();
  const auto released = ticket();
  stop_pool();
  EXPECT_TRUE(std::holds_alternative<Charged>(settle(*settled)));
  CallByHand call;
  released->release(Outcome::upstream_timeout, 0, call);
  EXPECT_EQ(script_.settled, 1);
  EXPECT_EQ(script_.released, 1);
  EXPECT_EQ(script_.tickets, 0);
}

// Callers leave at deadlines around the moment at which their settlement begins, on a thread that
// also serves others. Whatever a caller is told must match what the lane did.
TEST_P(BlockingLaneGuardTest, WhatIsToldOfASettlementHoldsForEveryMomentOfLeaving) {
  constexpr int rounds = 600;
  std::vector<std::unique_ptr<Ticket>> held;
  while (held.size() < rounds) held.push_back(ticket());
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) (void)admit();
  });
  int not_charged = 0;
  for (int round = 0; round < rounds; ++round) {
    const Finish finish = settle(*held[round], Deadline{runtime::now_ns() + round % 100 * 200});
    not_charged += std::holds_alternative<NotCharged>(finish) ? 1 : 0;
  }
  is_over = true;
  other.join();
  stop_pool();
  EXPECT_EQ(script_.settled, rounds - not_charged);
  EXPECT_EQ(script_.tickets, 0);
  RecordProperty("not_charged", not_charged);
}

}  // namespace
}  // namespace turnpike::plugin
