// What serve() itself costs: a call with an instant upstream, an instant ledger and a writer that
// drops everything, unpaid and paid, and then line by line. `allocs`: allocations per iteration.
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/sources.h"
#include "exchange/bench_parts.h"
#include "exchange/bench_program.h"
#include "exchange/call_reports.h"
#include "exchange/delivery.h"
#include "exchange/serve.h"
#include "exchange/service.h"
#include "identity/authenticator.h"
#include "lanes/credits.h"
#include "support/allocations.h"
#include "support/memory_replays.h"
#include "text/uri.h"

namespace turnpike::exchange {
namespace {

constexpr std::string_view request_id = "019a0000-0000-7000-8000-000000000001";

std::vector<HeaderField> headers_with(HeaderField credential) {
  std::vector<HeaderField> headers(std::begin(bench_headers), std::end(bench_headers));
  headers.push_back(credential);
  return headers;
}

class InstantLedger final : public ledger::Ledger {
 public:
  Result<ledger::Hold, base::Error> hold(const ledger::Payer&, ledger::Credits,
                                         runtime::Deadline) override {
    return ledger::Hold();
  }
  ledger::Settlement settle(ledger::Hold, ledger::OwnedFact fact,
                            std::unique_ptr<const ledger::ReplyToKeep>) override {
    benchmark::DoNotOptimize(&fact.view());
    return ledger::Settled{1, 999};
  }
  void release(ledger::Hold, ledger::OwnedFact) noexcept override {}
  Result<ledger::Balance, base::Error> balance(std::string_view, runtime::Deadline) override {
    return ledger::Balance{};
  }
};

class OneKey final : public identity::Authenticator {
 public:
  Result<std::shared_ptr<const identity::Principal>, base::Error> authenticate(
      std::string_view, runtime::Deadline, identity::Accepts = {}) override {
    return principal_;
  }

 private:
  std::shared_ptr<const identity::Principal> principal_ = identity::make_principal(
      {.id = "key_01hz0000000000000000", .account_id = "acct_01hz0000000000000000"});
};

class DroppingWriter final : public ReplyWriter {
 public:
  bool reply(const ReplyHead& head, std::string_view body) override {
    benchmark::DoNotOptimize(&head);
    benchmark::DoNotOptimize(body.data());
    ++replies;
    return true;
  }
  bool begin(const ReplyHead&, std::optional<std::uint64_t>) override { return true; }
  bool write(std::string_view) override { return true; }
  bool finish(std::string_view) override { return true; }
  void cut() noexcept override {}
  bool refuse(const base::Error&, const RefusalHead&) override {
    ++refusals;
    return true;
  }
  std::uint64_t replies = 0;
  std::uint64_t refusals = 0;
};

// Everything around serve(), made once.
struct Gateway {
  Gateway() {
    const ProviderSlot providers[] = {{"instant", &provider, &host}};
    const LaneSlot lanes[] = {{&credits, &host, nullptr}, {&open, &host, nullptr}};
    BindInput input;
    input.installed.program = bench_program();
    input.installed.generation.id = "gen_3f9a3f9a3f9a3f9a";
    input.providers = providers;
    input.lanes = lanes;
    input.reports = &reports;
    auto bound = bind_service(input);
    if (!bound.ok()) std::abort();
    service = *std::move(bound);
  }

  Invocation invocation(Headers headers) const {
    Invocation call;
    call.method = "GET";
    call.path = bench_path;
    call.query = bench_query;
    call.headers = headers;
    call.request_id = request_id;
    call.client_request_id = "client-1234567890";
    return call;
  }

  base::SystemClock clock;
  std::unique_ptr<base::Log> log = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  CallReports reports{*log, *metrics};
  BenchHost host;
  InstantProvider provider;
  InstantLedger ledger;
  support::MemoryReplays replays;
  lanes::CreditsLane credits{ledger, replays};
  OpenLane open;
  OneKey authenticator;
  TransferSlots transfers;
  runtime::BlockingPool pool{1, 16};
  ChargeRules rules{pool};
  LoopState loop{{}};
  std::shared_ptr<const Service> service;
  Context context() { return {service.get(), loop, authenticator, transfers, rules, clock}; }
};

Gateway& gateway() {
  static Gateway the_gateway;
  return the_gateway;
}

// Runs `step` in the benchmark loop of `state` and reports its allocations.
template <class Step>
void measure(benchmark::State& state, Step step) {
  step();  // makes the buffers of the first call
  const std::uint64_t before = allocations_so_far();
  for (auto _ : state) step();
  state.counters["allocs"] = benchmark::Counter(static_cast<double>(allocations_so_far() - before),
                                                benchmark::Counter::kAvgIterations);
}

void serve_calls(benchmark::State& state, HeaderField credential, Ending expected) {
  const auto headers = headers_with(credential);
  const Invocation invocation = gateway().invocation(headers);
  const Context context = gateway().context();
  DroppingWriter writer;
  measure(state, [&] {
    const Served served = serve(context, invocation, writer);
    if (served.ending != expected) state.SkipWithError("the call did not end as expected");
  });
}

void Serve_unpaid(benchmark::State& state) {
  serve_calls(state, OpenLane::credential, Ending::replied);
}
BENCHMARK(Serve_unpaid);

void Serve_paid(benchmark::State& state) {
  serve_calls(state, {"Authorization", "Bearer turnpike_sk_v1_dev_abc"}, Ending::replied);
}
BENCHMARK(Serve_paid);

void Serve_refused_401(benchmark::State& state) {
  serve_calls(state, {"Accept-Language", "de"}, Ending::refused);
}
BENCHMARK(Serve_refused_401);

// ---- line by line -----------------------------------------------------------------------------

void Line_clock(benchmark::State& state) {
  measure(state, [] { benchmark::DoNotOptimize(gateway().clock.monotonic_ns()); });
}
BENCHMARK(Line_clock);

void Line_read_credentials(benchmark::State& state) {
  const auto headers = headers_with({"Authorization", "Bearer turnpike_sk_v1_dev_abc"});
  measure(state,
          [&] { benchmark::DoNotOptimize(read_credentials(headers, gateway().service->lanes())); });
}
BENCHMARK(Line_read_credentials);

void Line_choose_lane(benchmark::State& state) {
  const auto headers = headers_with({"Authorization", "Bearer turnpike_sk_v1_dev_abc"});
  const Credentials credentials = read_credentials(headers, gateway().service->lanes());
  Asked asked;
  asked.target = Target::operation;
  measure(state, [&] {
    benchmark::DoNotOptimize(choose_lane(gateway().service->lanes(), credentials, asked));
  });
}
BENCHMARK(Line_choose_lane);

void Line_match(benchmark::State& state) {
  measure(state, [] { benchmark::DoNotOptimize(gateway().service->program().match(bench_path)); });
}
BENCHMARK(Line_match);

// The lookup copies a shared pointer: this is what serve() pays around the Authenticator.
void Line_authenticate(benchmark::State& state) {
  measure(state,
          [] { benchmark::DoNotOptimize(gateway().authenticator.authenticate("token", {})); });
}
BENCHMARK(Line_authenticate);

void Line_preflight(benchmark::State& state) {
  const Service& service = *gateway().service;
  const auto match = service.program().match(bench_path);
  const auto* operation = service.program().operation(*match.route, Method::get);
  measure(state, [&] {
    benchmark::DoNotOptimize(service.state(*operation));
    benchmark::DoNotOptimize(text::query_fault(bench_query));
  });
}
BENCHMARK(Line_preflight);

void Line_caps(benchmark::State& state) {
  measure(state, [] {
    LoopState::Seat seat;
    benchmark::DoNotOptimize(seat.enter(gateway().loop));
    benchmark::DoNotOptimize(seat.enter_account("acct_01hz0000000000000000"));
    benchmark::DoNotOptimize(gateway().service->upstream(0).in_flight.try_enter());
  });
}
BENCHMARK(Line_caps);

void Line_hold_and_settle(benchmark::State& state) {
  const Service& service = *gateway().service;
  const LaneRow* row = service.lanes().find(LaneRole::credits);
  BoundLane& lane = *service.lane(*row).bound;
  LaneRequest request;
  request.request_id = request_id;
  request.client_request_id = "client-1234567890";
  request.account_id = "acct_01hz0000000000000000";
  request.principal_id = "key_01hz0000000000000000";
  LiveCall call(request_id, runtime::Deadline::after_ms(30'000), nullptr);
  measure(state, [&] {
    Admission admission = lane.admit(request, call);
    Finish finish = std::get<std::unique_ptr<Ticket>>(admission)->settle({}, call);
    benchmark::DoNotOptimize(&finish);
  });
}
BENCHMARK(Line_hold_and_settle);

void Line_take_reply(benchmark::State& state) {
  const Service& service = *gateway().service;
  const auto match = service.program().match(bench_path);
  DroppingWriter writer;
  const registry::NoCharges no_conditions;
  measure(state, [&] {
    LoopState::Seat seat;
    if (!seat.enter(gateway().loop)) std::abort();
    LiveCall call(request_id, {}, nullptr);
    const RouteTerms& route = service.terms(*match.route);
    const registry::Operation& operation = *service.program().operation(*match.route, Method::get);
    const Delivery::Terms terms{*operation.response,
                                route,
                                operation.response->max_bytes,
                                false,
                                false,
                                no_conditions,
                                gateway().rules,
                                {},
                                {},
                                0,
                                0};
    Delivery delivery(terms, writer, call, gateway().transfers, seat.scratch(), gateway().clock);
    if (delivery.head(200, upstream_headers, upstream_body.size())) delivery.body(upstream_body);
    benchmark::DoNotOptimize(delivery.judge(Unit{}, 0, false));
  });
}
BENCHMARK(Line_take_reply);

}  // namespace
}  // namespace turnpike::exchange

BENCHMARK_MAIN();
