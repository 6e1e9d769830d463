// serve() on real fibers: what cancellation may end and what it may not, and many calls on several
// loops at once while the program is replaced.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/published.h"
#include "exchange/serve_fixture.h"
#include "runtime/runtime.h"

namespace turnpike::exchange {
namespace {

// Waits on a fiber for something that comes after the fiber's own cancellation. Returns `ready`
// only if the cancellation did not end the wait.
runtime::Wake wait_across_a_cancellation() {
  runtime::Fiber& fiber = *runtime::Fiber::current();
  fiber.handle().cancel();
  runtime::Event later;
  fiber.loop().spawn([&later] {
    for (int turn = 0; turn < 10; ++turn) runtime::yield();  // a cancelled wait ends earlier
    later.set();
  });
  const runtime::Wake wake = later.wait(runtime::Deadline::never());
  if (wake != runtime::Wake::ready) {
    const runtime::CancelMask mask;  // the other fiber still uses `later`
    static_cast<void>(later.wait(runtime::Deadline::never()));
  }
  return wake;
}

class ServeFiberTest : public ServeTest {
 protected:
  void run_on_fiber(std::function<void()> function) {
    runtime::Event ended;
    runtime.loops()[0]->spawn([&] {
      function();
      ended.set();
    });
    static_cast<void>(ended.wait(runtime::Deadline::never()));
  }

  runtime::Runtime runtime{{}};
};

TEST_F(ServeFiberTest, LetsACancellationEndTheWaitForTheUpstream) {
  provider.script = [&](ReplySink&, Call&) -> Done {
    EXPECT_EQ(wait_across_a_cancellation(), runtime::Wake::cancelled);
    caller.now = Standing::gone;
    return Failure{FailureKind::cancelled, "", {}, true};
  };
  run_on_fiber([&] { run(); });
  EXPECT_EQ(count_of(journal, "release:client_gone_before_reply"), 1u);
}

TEST_F(ServeFiberTest, KeepsACancellationFromASettlement) {
  ledger.while_settling = [] { EXPECT_EQ(wait_across_a_cancellation(), runtime::Wake::ready); };
  run_on_fiber([&] { run(); });
  EXPECT_EQ(count_of(journal, "settle:success"), 1u);
}

TEST_F(ServeFiberTest, KeepsACancellationFromAStreamThatHasBegun) {
  provider.script = [&](ReplySink& sink, Call& call) -> Done {
    const HeaderField headers[] = {{"content-type", "application/json"}};
    const std::string body(300'000, 'x');
    EXPECT_TRUE(sink.head(200, headers, std::nullopt));
    EXPECT_TRUE(sink.body(body));
    EXPECT_EQ(wait_across_a_cancellation(), runtime::Wake::ready);
    EXPECT_TRUE(call.sleep_ms(0));
    return Unit{};
  };
  run_on_fiber([&] { run(); });
  EXPECT_EQ(count_of(journal, "settle:success"), 1u);
}

// ---- many calls at once

// Counts the calls of the ledger; any Thread.
class CountingLedger final : public ledger::Ledger {
 public:
  Result<ledger::Hold, base::Error> hold(const ledger::Payer&, ledger::Credits,
                                         runtime::Deadline) override {
    ++holds;
    runtime::yield();
    return ledger::Hold();
  }
  ledger::Settlement settle(ledger::Hold, ledger::OwnedFact,
                            std::unique_ptr<const ledger::ReplyToKeep>) override {
    runtime::yield();
    ++settled;
    return ledger::Settled{1, -1};
  }
  void release(ledger::Hold, ledger::OwnedFact) noexcept override { ++released; }
  Result<ledger::Balance, base::Error> balance(std::string_view, runtime::Deadline) override {
    return ledger::Balance{};
  }
  std::atomic<std::uint64_t> holds{0};
  std::atomic<std::uint64_t> settled{0};
  std::atomic<std::uint64_t> released{0};
};

// Replies as the query says: a heavy body, a small one, or a failure. Yields wherever it may.
class YieldingProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding&, Host&) override {
    return std::unique_ptr<Upstream>(std::make_unique<Yielding>(*this));
  }
  std::atomic<int> heavy{0};
  std::atomic<int> heavy_at_once{0};

 private:
  class Yielding final : public Upstream {
   public:
    explicit Yielding(YieldingProvider& owner) : owner_(owner) {}
    Done execute(const UpstreamRequest& request, ReplySink& sink, Call&) override {
      runtime::yield();
      if (request.query == "fail") return Failure{FailureKind::transport, "reset", {}, true};
      if (request.query == "small") return reply_with(sink, 200, "{}");
      return send_heavy(sink);
    }
    [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
    Done probe(Call&) override { return Unit{}; }

   private:
    Done send_heavy(ReplySink& sink) {
      const HeaderField headers[] = {{"content-type", "application/json"}};
      const std::string chunk(150'000, 'x');
      if (!sink.head(200, headers, 10 * chunk.size())) return Unit{};
      const int now = ++owner_.heavy;
      int most = owner_.heavy_at_once.load();
      while (now > most && !owner_.heavy_at_once.compare_exchange_weak(most, now)) {
      }
      for (int part = 0; part < 10; ++part) {
        if (!sink.body(chunk)) break;
        runtime::yield();
      }
      --owner_.heavy;
      return Unit{};
    }
    YieldingProvider& owner_;
  };
};

class DroppingWriter final : public ReplyWriter {
 public:
  bool reply(const ReplyHead&, std::string_view) override { return true; }
  bool begin(const ReplyHead&, std::optional<std::uint64_t>) override { return true; }
  bool write(std::string_view) override { return true; }
  bool finish(std::string_view) override { return true; }
  void cut() noexcept override {}
  bool refuse(const base::Error&, const RefusalHead&) override { return true; }
};

// State of one loop, created and used only by its fibers.
struct LoopSide {
  LoopState state{{}};
  std::unique_ptr<base::LoopView<Service>> view;
};

TEST_F(ServeFiberTest, ServesManyCallsWhileTheProgramIsReplaced) {
  constexpr int calls_per_kind = 40;
  constexpr std::uint32_t transfers_max = 3;
  CountingLedger counting;
  support::MemoryReplays replays;
  lanes::CreditsLane lane(counting, replays);
  YieldingProvider yielding;
  TransferSlots slots(transfers_max, 60'000);
  base::Published<Service> published;
  const auto publish = [&](const Service* previous) {
    const ProviderSlot providers[] = {{"scripted", &yielding, &host}};
    const LaneSlot lanes[] = {{&lane, &host, nullptr}};
    BindInput input;
    input.installed.program = program_fixture();
    input.installed.generation.id = "gen_test";
    input.providers = providers;
    input.lanes = lanes;
    input.previous = previous;
    auto bound = bind_service(input);
    ASSERT_TRUE(bound.ok());
    published.publish(*std::move(bound));
  };
  publish(nullptr);

  std::array<LoopSide, 2> sides;
  for (LoopSide& side : sides) side.view = std::make_unique<base::LoopView<Service>>(published);
  runtime::Semaphore ended{0};
  std::atomic<int> replied{0};
  std::atomic<int> failed{0};
  const std::string_view kinds[] = {"heavy", "small", "fail"};
  runtime::Runtime loops({.loops = 2});  // must end before what its fibers use
  for (int call = 0; call < 3 * calls_per_kind; ++call) {
    const std::size_t loop_index = static_cast<std::size_t>(call) % 2;
    const std::string_view kind = kinds[call % 3];
    loops.loops()[loop_index]->spawn([&, loop_index, kind] {
      LoopSide& side = sides[loop_index];
      const HeaderField headers[] = {{"Authorization", "Bearer good"}};
      Invocation invocation;
      invocation.method = "GET";
      invocation.path = "/v1/gateway/acme/items";
      invocation.query = kind;
      invocation.headers = headers;
      invocation.request_id = request_id;
      DroppingWriter dropping;
      {
        const auto pin = side.view->pin();
        const Context context{pin.get(), side.state, authenticator, slots, rules, clock};
        const Served served = serve(context, invocation, dropping);
        served.ending == Ending::replied ? ++replied : ++failed;
      }
      ended.release();
    });
    if (call % 10 == 9) publish(published.current().get());
  }
  for (int call = 0; call < 3 * calls_per_kind; ++call) {
    ASSERT_EQ(ended.acquire(runtime::Deadline::never()), runtime::Wake::ready);
  }
  EXPECT_EQ(replied, 2 * calls_per_kind);
  EXPECT_EQ(failed, calls_per_kind);
  EXPECT_EQ(counting.holds, 3u * calls_per_kind);
  EXPECT_EQ(counting.settled, 2u * calls_per_kind);
  EXPECT_EQ(counting.released, 1u * calls_per_kind);
  EXPECT_LE(yielding.heavy_at_once.load(), static_cast<int>(transfers_max));
  EXPECT_EQ(published.current()->upstream(0).in_flight.count(), 0u);
}

}  // namespace
}  // namespace turnpike::exchange
