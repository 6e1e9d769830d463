#include "plugin/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "plugin/call_by_hand.h"
#include "plugin/catalog.h"
#include "plugin/fixture_files.h"
#include "plugin/gate.h"
#include "plugin/pool_call.h"
#include "plugin/surroundings.h"
#include "runtime/runtime.h"

namespace turnpike::plugin {
namespace {

using runtime::Deadline;
using ::testing::HasSubstr;

constexpr std::uint64_t reply_bytes_max = 10'000;

// All good fixtures, loaded once per test.
class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    for (const char* name : {"good/echo.so", "good/echo_blocking.so", "good/faulty.so",
                             "good/faulty_blocking.so", "good/unpaid_lane.so"}) {
      directory_.add(name);
    }
    CatalogOptions options;
    options.directories = {directory_.path()};
    options.guard.pool_threads_max = 2;
    options.guard.pool_queued_max = 0;
    auto catalog = Catalog::load(options, surroundings_.resources());
    EXPECT_TRUE(catalog.ok()) << catalog.error()[0].text();
    catalog_.emplace(*std::move(catalog));
  }

  // Binds one upstream of `plugin` with one operation that has these route settings.
  std::unique_ptr<Upstream> bind(std::string_view plugin, const Settings& route,
                                 const Settings& upstream = {}) {
    BoundOperation operation;
    operation.settings = &route;
    LoadedPlugin* loaded = catalog_->find(plugin);
    auto bound = loaded->provider()->bind({"upstream", upstream, {&operation, 1}}, loaded->host());
    EXPECT_TRUE(bound.ok()) << bound.error().message;
    return bound.ok() ? *std::move(bound) : nullptr;
  }

  static Done execute(Upstream& upstream, ReplySink& sink, std::string_view query = {},
                      Deadline deadline = Deadline::after_ms(30'000)) {
    // Copies that end with this call, so that a sanitizer finds a plugin that keeps a view of them.
    const std::string own_query(query);
    const std::string body("the body");
    const std::string value("a header's value");
    const HeaderField header{"X-Header", value};
    const PathParameter parameter{"id", "7", "7"};
    UpstreamRequest request;
    request.query = own_query;
    request.body = body;
    request.headers = {&header, 1};
    request.parameters = {&parameter, 1};
    request.reply_bytes_max = reply_bytes_max;
    CallByHand call(deadline);
    return upstream.execute(request, sink, call);
  }

  // Calls a plugin that gets stuck, and leaves it at the deadline. On a busy machine a call may not
  // have begun by then, and so never does; the wait grows until one has.
  static Done leave_stuck(Upstream& upstream, ReplySink& sink, std::string_view query = {}) {
    for (int wait_ms = 100;; wait_ms *= 2) {
      Done done = execute(upstream, sink, query, Deadline::after_ms(wait_ms));
      if (done.ok() || done.error().maybe_sent) return done;
    }
  }

  Guard& guard(std::string_view plugin) { return catalog_->find(plugin)->guard(); }

  PluginDirectory directory_;
  std::optional<runtime::Runtime> runtime_;  // ends after the pool, which wakes its fibers
  Surroundings surroundings_{8};
  std::optional<Catalog> catalog_;
};

// Runs the same tests for a plugin on the calling Thread and on the pool.
class EitherGuardTest : public GuardTest, public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] static std::string faulty() { return std::string("faulty") + GetParam(); }
  [[nodiscard]] static std::string echo() { return std::string("echo") + GetParam(); }

  Failure failure_of(const std::string& fault) {
    const auto upstream = bind(faulty(), map({{"fault", scalar(fault)}}));
    kept_ = KeptReply();
    Done done = execute(*upstream, kept_);
    EXPECT_FALSE(done.ok()) << fault;
    return done.ok() ? Failure{} : std::move(done).error();
  }
  KeptReply kept_;
};

INSTANTIATE_TEST_SUITE_P(Execution, EitherGuardTest, ::testing::Values("", "_blocking"),
                         [](const auto& instance) {
                           return std::string(*instance.param == '\0' ? "cooperative" : "blocking");
                         });

TEST_P(EitherGuardTest, EachBreachOfTheInterfaceIsAFaultWithItsOwnMessage) {
  const std::pair<const char*, const char*> breaches[] = {
      {"throws", "the plugin threw: out of luck"},
      {"throws_private", "the plugin threw: an exception of a type that is not std::exception"},
      {"no_head", "it reported success without a head"},
      {"body_before_head", "it gave a body before the head"},
      {"two_heads", "it gave a second head"},
      {"bad_status", "it gave a status outside 200 to 599"},
      {"short_body", "it ended after 4 of 10 declared bytes"},
      {"long_body", "it gave a longer body than it declared"}};
  for (const auto& [fault, message] : breaches) {
    const Failure failure = failure_of(fault);
    EXPECT_EQ(failure.kind, FailureKind::plugin_fault) << fault;
    EXPECT_EQ(failure.message, "plugin " + faulty() + ": " + message);
    EXPECT_TRUE(failure.maybe_sent);
    EXPECT_LE(kept_.heads, 1);
    EXPECT_THAT(surroundings_.log.lines(), HasSubstr(message));
  }
  EXPECT_THAT(surroundings_.metrics->text(),
              HasSubstr("turnpike_guard_failures_total{kind=\"plugin_fault\",plugin=\"" + faulty() +
                        "\"} 8"));
  EXPECT_EQ(guard(faulty()).in_flight(), 0u);
}

TEST_P(EitherGuardTest, NoMoreThanTheCeilingPasses) {
  for (const char* fault : {"oversize", "ignores_stop", "too_long_declared"}) {
    const Failure failure = failure_of(fault);
    EXPECT_EQ(failure.kind, FailureKind::too_large) << fault;
    EXPECT_EQ(failure.message, "plugin " + faulty() + ": its reply is longer than 10000 bytes");
    EXPECT_LE(kept_.body_text.size(), reply_bytes_max);
  }
  KeptReply reply;  // exactly the limit is allowed
  EXPECT_TRUE(execute(*bind(echo(), {}), reply, "echo.body_bytes=10000").ok());
  EXPECT_EQ(reply.body_text.size(), reply_bytes_max);
  EXPECT_FALSE(execute(*bind(echo(), {}), reply, "echo.body_bytes=10001").ok());
}

TEST_P(EitherGuardTest, BindsThatThrowOrReturnNothingAreFailures) {
  LoadedPlugin* loaded = catalog_->find(faulty());
  const std::pair<const char*, const char*> breaches[] = {
      {"throws", "the plugin threw: cannot bind"},
      {"throws_private", "the plugin threw: an exception of a type that is not std::exception"},
      {"null", "bind() returned no upstream"}};
  for (const auto& [fault, message] : breaches) {
    const Settings settings = map({{"bind", scalar(fault)}});
    const auto bound = loaded->provider()->bind({"u", settings, {}}, loaded->host());
    ASSERT_FALSE(bound.ok());
    EXPECT_EQ(bound.error().kind, FailureKind::plugin_fault);
    EXPECT_EQ(bound.error().message, message);
  }
}

TEST_P(EitherGuardTest, AProbeThatThrowsIsAFailure) {
  const auto upstream = bind(faulty(), {});
  CallByHand call;
  const Done done = upstream->probe(call);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "plugin " + faulty() + ": the plugin threw: no probe");
  EXPECT_TRUE(bind(echo(), {})->probe(call).ok());
}

TEST_P(EitherGuardTest, AReplyPassesWholeAndInOrder) {
  const auto upstream = bind(echo(), map({{"headers", map({{"X-A", scalar("1")}})}}));
  KeptReply reply;
  ASSERT_TRUE(execute(*upstream, reply, "echo.status=404&echo.chunks=7&a=%20&a").ok());
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.heads, 1);
  ASSERT_EQ(reply.headers.size(), 2u);
  EXPECT_EQ(reply.headers[1].name, "X-A");
  EXPECT_EQ(reply.declared, reply.body_text.size());
  EXPECT_THAT(reply.body_text, HasSubstr("\"query\":\"echo.status=404&echo.chunks=7&a=%20&a\""));
  EXPECT_THAT(reply.body_text, HasSubstr("\"body\":\"the body\""));
  EXPECT_THAT(reply.body_text,
              HasSubstr("\"parameters\":{\"id\":{\"raw\":\"7\",\"value\":\"7\"}}"));
  EXPECT_THAT(reply.body_text, HasSubstr("01930000-0000-7000-8000-000000000001"));
}

TEST_P(EitherGuardTest, APluginsOwnFailureKeepsItsKind) {
  KeptReply reply;
  const Done done =
      execute(*bind(echo(), {}), reply, "echo.failure=transport&echo.failure_sent=true");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::transport);
  EXPECT_EQ(done.error().message, "plugin " + echo() + ": failed as asked");
  EXPECT_TRUE(done.error().maybe_sent);
}

TEST_P(EitherGuardTest, TheDeadlineEndsAWaitingPlugin) {
  KeptReply reply;
  const Done done =
      execute(*bind(echo(), {}), reply, "echo.delay_ms=600000", Deadline::after_ms(20));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::timeout);
  EXPECT_EQ(reply.heads, 0);
}

// A sink that waits for a slow caller extends the deadline. The plugin, on the pool too, then has
// the full time again.
TEST_P(EitherGuardTest, ThePluginSeesItsDeadlineMoveOn) {
  class SlowReply final : public ReplySink {
   public:
    explicit SlowReply(CallByHand& call) : call_(call) {}
    bool head(int, Headers, std::optional<std::uint64_t>) override { return true; }
    bool body(std::string_view bytes) override {
      if (body_bytes == 0) {
        runtime::sleep_until({call_.deadline_ns()});
        call_.move_deadline(Deadline::after_ms(30'000));
      }
      body_bytes += bytes.size();
      return true;
    }
    std::size_t body_bytes = 0;

   private:
    CallByHand& call_;
  };
  const auto upstream = bind(echo(), {});
  // The pieces do not fit into the buffer between pool and caller, so the pool waits, too.
  UpstreamRequest request;
  request.query = "echo.body_bytes=1200000&echo.chunks=3&echo.chunk_delay_ms=1";
  // A busy machine may take longer to reach the second piece, at which the sink waits.
  for (int wait_ms = 100;; wait_ms *= 2) {
    CallByHand call(Deadline::after_ms(wait_ms));
    SlowReply reply(call);
    const Done done = upstream->execute(request, reply, call);
    if (!done.ok() && wait_ms < 6'400) continue;
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(reply.body_bytes, 1'200'000u);
    break;
  }
}

TEST_P(EitherGuardTest, AHeadAfterTheDeadlineDoesNotPass) {
  KeptReply reply;
  const Done done = execute(*bind(echo(), {}), reply, {}, Deadline{runtime::now_ns() - 1});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::timeout);
  EXPECT_EQ(reply.heads, 0);
}

TEST_P(EitherGuardTest, ASinkThatTakesNoMoreEndsTheCall) {
  for (const bool at_head : {true, false}) {
    KeptReply reply;
    reply.stops_at_head = at_head;
    reply.stops_after_bytes = 100;
    const Done done = execute(*bind(echo(), {}), reply, "echo.body_bytes=5000&echo.chunks=50");
    ASSERT_FALSE(done.ok());
    EXPECT_LE(reply.pieces, 1);
  }
}

TEST_P(EitherGuardTest, StateIsAskedWithoutDetour) {
  const auto upstream =
      bind(echo(), map({{"condition", scalar("evidence_stale")}, {"reason", scalar("Old.")}}));
  EXPECT_EQ(upstream->state(0).condition, Condition::evidence_stale);
  EXPECT_EQ(upstream->state(0).reason, "Old.");
}

TEST_P(EitherGuardTest, ManyCallersAtOnce) {
  CatalogOptions options;
  options.directories = {directory_.path()};
  options.guard.pool_threads_max = 4;
  options.guard.pool_queued_max = 64;
  auto catalog = Catalog::load(options, surroundings_.resources());
  ASSERT_TRUE(catalog.ok());
  catalog_.emplace(*std::move(catalog));
  const auto upstream = bind(echo(), {});
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          KeptReply reply;
          if (execute(*upstream, reply, "echo.body_bytes=9000&echo.chunks=9").ok() &&
              reply.body_text == std::string(9000, 'x')) {
            ++right;
          }
        }
      });
    }
  }
  EXPECT_EQ(right, 400);
  EXPECT_EQ(guard(echo()).in_flight(), 0u);
}

TEST_F(GuardTest, AStuckCallIsLeftAtTheDeadlineAndFindsItsMemoryWhenItWakes) {
  Gate gate;
  const Settings upstream_settings = map({{"gate", scalar(gate.path())}});
  KeptReply reply;
  {
    const auto upstream =
        bind("faulty_blocking", map({{"fault", scalar("stuck")}}), upstream_settings);
    const Done done = leave_stuck(*upstream, reply, "a=1&b=2&long=enough-to-be-on-the-heap");
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, FailureKind::timeout);
    EXPECT_EQ(done.error().message, "plugin faulty_blocking: it had not replied at the deadline");
    EXPECT_TRUE(done.error().maybe_sent);
    EXPECT_EQ(guard("faulty_blocking").in_flight(), 0u);
  }  // now only the call keeps the upstream alive
  gate.wait_for_plugin();
  EXPECT_EQ(guard("faulty_blocking").pool_counts().abandoned, 1u);
  gate.open();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
  EXPECT_EQ(guard("faulty_blocking").pool_counts().running, 0u);
  EXPECT_EQ(reply.heads, 0);
}

// The pool may count a call as running before it has reached the plugin.
TEST(PoolCallTest, IsNotMadeOnceItsCallerLeftAndToldSo) {
  class Counting final : public Upstream {
   public:
    Done execute(const UpstreamRequest&, ReplySink&, Call&) override {
      ++calls;
      return Unit{};
    }
    [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
    Done probe(Call&) override { return Unit{}; }
    int calls = 0;
  };
  const auto upstream = std::make_shared<Counting>();
  const CallByHand call;
  PoolCall left(upstream, {}, call);
  EXPECT_FALSE(left.leave());
  left.run();
  EXPECT_EQ(upstream->calls, 0);
  PoolCall begun(upstream, {}, call);
  begun.run();
  EXPECT_TRUE(begun.leave());
  EXPECT_EQ(upstream->calls, 1);
}

TEST_F(GuardTest, AStuckPluginTakesItsShareOfThePoolAndNoMore) {
  Gate gates[2];
  std::vector<std::unique_ptr<Upstream>> stuck;
  for (Gate& gate : gates) {
    stuck.push_back(bind("faulty_blocking", map({{"fault", scalar("stuck")}}),
                         map({{"gate", scalar(gate.path())}})));
    KeptReply reply;
    EXPECT_FALSE(leave_stuck(*stuck.back(), reply).ok());
    gate.wait_for_plugin();
  }
  KeptReply reply;
  const Done done = execute(*stuck[0], reply);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::unavailable);
  EXPECT_EQ(done.error().message, "plugin faulty_blocking: its share of the pool is full");
  EXPECT_FALSE(done.error().maybe_sent);
  EXPECT_TRUE(execute(*bind("echo_blocking", {}), reply).ok());  // other plugins still work
  for (Gate& gate : gates) gate.open();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
}

// ---- on fibers ----------------------------------------------------------------------------------

class FiberGuardTest : public GuardTest {
 protected:
  runtime::Runtime& start(runtime::RuntimeOptions options = {}) {
    runtime_.emplace(std::move(options));
    return *runtime_;
  }
  // Runs `function` on a fiber of the loop.
  runtime::FiberHandle spawn(std::function<void()> function) {
    return runtime_->loops()[0]->spawn([this, function = std::move(function)] {
      function();
      ended_.set();
    });
  }
  void wait_for_fiber() {
    ASSERT_EQ(ended_.wait(Deadline::after_ms(30'000)), runtime::Wake::ready);
    ended_.reset();
  }

  runtime::Event ended_;
};

TEST_F(FiberGuardTest, BothKindsReplyOnAFiber) {
  start();
  for (const char* name : {"echo", "echo_blocking"}) {
    const auto upstream = bind(name, {});
    KeptReply reply;
    std::optional<Done> done;
    spawn([&] { done.emplace(execute(*upstream, reply, "echo.delay_ms=2&echo.body_bytes=9000")); });
    wait_for_fiber();
    EXPECT_TRUE(done->ok());
    EXPECT_EQ(reply.body_text.size(), 9000u);
  }
}

TEST_F(FiberGuardTest, ABlockingPluginIsBoundOnThePool) {
  start();
  std::unique_ptr<Upstream> upstream;
  spawn([&] { upstream = bind("echo_blocking", {}); });
  wait_for_fiber();
  KeptReply reply;
  EXPECT_TRUE(execute(*upstream, reply).ok());
}

TEST_F(FiberGuardTest, ACancelledCallerLeavesAStuckPluginAtOnce) {
  start();
  Gate gate;
  const auto upstream = bind("faulty_blocking", map({{"fault", scalar("stuck")}}),
                             map({{"gate", scalar(gate.path())}}));
  KeptReply reply;
  std::optional<Done> done;
  const auto fiber = spawn([&] { done.emplace(execute(*upstream, reply)); });
  gate.wait_for_plugin();
  fiber.cancel();
  wait_for_fiber();
  ASSERT_FALSE(done->ok());
  EXPECT_EQ(done->error().kind, FailureKind::cancelled);
  gate.open();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
}

TEST_F(GuardTest, AFewStallsOverALongTimeMoveNoPluginToThePool) {
  Guard& faulty = guard("faulty");
  constexpr std::int64_t minute_ns = 60'000'000'000;
  std::int64_t now_ns = 1;
  for (int stall = 0; stall < 100; ++stall, now_ns += minute_ns / 3) {
    faulty.note_stall(now_ns);
    EXPECT_FALSE(faulty.uses_pool());
  }
  now_ns += minute_ns;
  for (std::uint32_t stall = 0; stall <= GuardOptions{}.stalls_max; ++stall) {
    EXPECT_FALSE(faulty.uses_pool());
    faulty.note_stall(now_ns + stall);
  }
  EXPECT_TRUE(faulty.uses_pool());
}

TEST_F(FiberGuardTest, AStallIsLaidAtThePluginsDoorAndTooManyMoveItToThePool) {
  Guard& faulty = guard("faulty");
  std::atomic<int> laid_at_its_door{0};
  runtime::Event stalled;
  runtime::RuntimeOptions options;
  options.stall_threshold_ms = 5;
  options.on_stall = [&](const runtime::Stall& stall) {
    const bool is_of_plugin = stall.tag == faulty.number();
    EXPECT_EQ(catalog_->note_stall(stall.tag, 0), is_of_plugin ? "faulty" : "");
    if (!is_of_plugin) return;  // the stall began before the fiber had its tag
    ++laid_at_its_door;
    stalled.set();
  };
  start(std::move(options));
  for (std::uint32_t call = 0; call <= GuardOptions{}.stalls_max; ++call) {
    ASSERT_FALSE(faulty.uses_pool());
    Gate gate;
    const auto upstream =
        bind("faulty", map({{"fault", scalar("stuck")}}), map({{"gate", scalar(gate.path())}}));
    KeptReply reply;
    spawn([&] { (void)execute(*upstream, reply); });
    gate.wait_for_plugin();  // now the loop is blocked
    ASSERT_EQ(stalled.wait(Deadline::after_ms(30'000)), runtime::Wake::ready);
    stalled.reset();
    gate.open();
    wait_for_fiber();
  }
  EXPECT_EQ(laid_at_its_door, static_cast<int>(GuardOptions{}.stalls_max) + 1);
  EXPECT_TRUE(faulty.uses_pool());
  EXPECT_THAT(surroundings_.log.lines(), HasSubstr("plugin_moved_to_pool"));

  Gate gate;  // the same plugin no longer blocks the loop
  const auto upstream =
      bind("faulty", map({{"fault", scalar("stuck")}}), map({{"gate", scalar(gate.path())}}));
  KeptReply reply;
  std::optional<Done> done;
  spawn([&] { done.emplace(leave_stuck(*upstream, reply)); });
  wait_for_fiber();
  ASSERT_TRUE(done.has_value() && !done->ok());
  EXPECT_EQ(done->error().kind, FailureKind::timeout);
  gate.wait_for_plugin();
  gate.open();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
  runtime_.reset();  // must end before the variables of on_stall
}

}  // namespace
}  // namespace turnpike::plugin
