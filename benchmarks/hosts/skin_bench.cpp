// What a call costs its loop in CPU time, from the bytes of its head to the bytes of its reply, and
// how much of a paid call each line takes (the table at the end). Everything is the gateway's own
// code, with three exceptions: there are no sockets, the upstream answers at once, and a charge is
// answered without a commit, because committing is the work of another Thread. The log is at its
// default level: one line per call, rendered and dropped.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sources.h"
#include "exchange/bench_parts.h"
#include "exchange/bench_program.h"
#include "exchange/call_reports.h"
#include "exchange/charge_rules.h"
#include "exchange/loop_state.h"
#include "exchange/service.h"
#include "exchange/transfer_slots.h"
#include "hosts/api/api_host.h"
#include "hosts/api/api_routes.h"
#include "hosts/api/gateway_call.h"
#include "hosts/log_to_nowhere.h"
#include "hosts/route_table.h"
#include "identity/accounts.h"
#include "identity/cached_authenticator.h"
#include "lanes/credits.h"
#include "lanes/free.h"
#include "ledger/calls.h"
#include "ledger/escrow/escrow_ledger.h"
#include "ledger/statements/statements.h"
#include "quota/node_store.h"
#include "runtime/runtime.h"
#include "support/stores.h"
#include "wire/reply_head.h"
#include "wire/request_parser.h"

namespace turnpike::hosts::api {
namespace {

constexpr std::string_view date = "Sat, 21 Nov 2026 06:53:48 GMT";

std::string head_of(std::string_view path, HeaderField credential) {
  std::string head = "GET " + std::string(path) + "?" + std::string(exchange::bench_query);
  head += " HTTP/1.1\r\n";
  const auto add = [&head](HeaderField field) {
    head += std::string(field.name) + ": " + std::string(field.value) + "\r\n";
  };
  for (const HeaderField& field : exchange::bench_headers) add(field);
  add(credential);
  return head + "\r\n";
}

// Takes holds from the real escrow. A settlement returns the units instead of committing the
// charge.
class UncommittedLedger final : public ledger::Ledger {
 public:
  explicit UncommittedLedger(ledger::Ledger& escrow) : escrow_(escrow) {}
  Result<ledger::Hold, base::Error> hold(const ledger::Payer& payer, ledger::Credits units,
                                         runtime::Deadline until) override {
    return escrow_.hold(payer, units, until);
  }
  ledger::Settlement settle(ledger::Hold, ledger::OwnedFact fact,
                            std::unique_ptr<const ledger::ReplyToKeep>) override {
    benchmark::DoNotOptimize(&fact.view());
    return ledger::Settled{1, 999};
  }
  void release(ledger::Hold, ledger::OwnedFact) noexcept override {}
  Result<ledger::Balance, base::Error> balance(std::string_view account_id,
                                               runtime::Deadline deadline) override {
    return escrow_.balance(account_id, deadline);
  }

 private:
  ledger::Ledger& escrow_;
};

class NoMetrics final : public base::Metrics {
 public:
  base::Counter& counter(const std::string&, const std::string&, const base::Labels&) override {
    return counter_;
  }
  base::Gauge& gauge(const std::string&, const std::string&, const base::Labels&) override {
    std::abort();
  }
  base::Histogram& histogram(const std::string&, const std::string&, const base::Labels&,
                             const std::vector<double>&) override {
    return histogram_;
  }
  [[nodiscard]] std::string text() const override { return {}; }
  [[nodiscard]] std::vector<base::Reading> read(std::string_view) const override { return {}; }

 private:
  struct NoCounter final : base::Counter {
    void add(std::uint64_t) noexcept override {}
  };
  struct NoHistogram final : base::Histogram {
    void observe(double) noexcept override {}
  };
  NoCounter counter_;
  NoHistogram histogram_;
};

// A request as the session passes it to the host. `fields` is reused, as a session's is.
class ParsedRequest final : public wire::Request {
 public:
  ParsedRequest(const std::string& bytes, std::vector<HeaderField>& fields)
      : parser_(bounds, fields) {
    if (parser_.parse_head(bytes.data(), bytes.size()) != wire::ParseStep::complete) std::abort();
    method_ = parser_.method();
    path_ = parser_.target().path;
    query_ = parser_.target().query;
    has_query_ = parser_.target().has_query;
    headers_ = fields;
  }
  [[nodiscard]] std::string_view peer_address() noexcept override { return "127.0.0.1:50000"; }
  [[nodiscard]] std::uint64_t peer_network() const noexcept override { return 1; }
  Result<std::string_view, base::Error> read_body(std::uint64_t,
                                                  wire::BodyMeter*) noexcept override {
    return std::string_view();
  }
  [[nodiscard]] bool client_gone() const noexcept override { return false; }

 private:
  static constexpr wire::HeadBounds bounds{
      base::limits::request_path_bytes_max, base::limits::request_query_bytes_max,
      base::limits::request_header_bytes_max, base::limits::request_header_fields_max};
  wire::RequestParser parser_;
};

// Writes the reply's bytes to a buffer that is reused, as a session does.
class BufferResponder final : public wire::Responder {
 public:
  bool send(int status, Headers headers, std::string_view body) noexcept override {
    last_status = status;
    body_bytes_ = body.size();
    buffer_.clear();
    if (!wire::append_reply_head(buffer_, status, headers, {.length = body.size()}, date)) {
      std::abort();
    }
    buffer_ += body;
    benchmark::DoNotOptimize(buffer_.data());
    return true;
  }
  bool begin(int, Headers, std::optional<std::uint64_t>) noexcept override { std::abort(); }
  bool write(std::string_view) noexcept override { std::abort(); }
  bool finish() noexcept override { std::abort(); }
  void cut() noexcept override { std::abort(); }
  [[nodiscard]] bool begun() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t body_bytes_sent() const noexcept override { return body_bytes_; }

  int last_status = 0;

 private:
  std::string buffer_;
  std::uint64_t body_bytes_ = 0;
};

runtime::RuntimeOptions one_loop() {
  runtime::RuntimeOptions options;
  options.stall_threshold_ms = 60'000;  // a measuring fiber does not let the loop turn
  return options;
}

class NoPluginPaths final : public PluginPaths {
 public:
  Result<Document, base::Error> document(std::string_view) override {
    return base::Error{base::ErrorCode::request_not_found, "", 0};
  }
  Result<Intake, base::Error> find_intake(std::string_view) override {
    return base::Error{base::ErrorCode::request_not_found, "", 0};
  }
};

// The parts of a gateway, made once, in the order in which app/ makes them.
struct Gateway final : Backend {
  Gateway() {
    runtime.loops().front()->post([this] { log.gather_here(); });
    if (!escrow.start().ok() || !free_counts.start().ok()) std::abort();
    const auto account = identity::Accounts(node->accounts(), {}).create("bench");
    if (!account.ok()) std::abort();
    account_id = account->id;
    constexpr std::int64_t year_ms = 365ll * 24 * 60 * 60 * 1000;
    const auto granted =
        node->ledger().grant({account_id, 1'000'000'000, ledger::Origin::operator_grant,
                              store.clock.now_ms() + year_ms, 0});
    identity::ApiKeys keys(node->keys(), identity::Environment::development, random);
    const auto key = keys.create(account_id, "bench");
    if (!granted.ok() || !key.ok()) std::abort();
    secret = key->secret;

    const exchange::ProviderSlot providers[] = {{"instant", &provider, &host}};
    const exchange::LaneSlot lanes[] = {
        {&credits, &host, nullptr}, {&free, &host, nullptr}, {&open, &host, nullptr}};
    exchange::BindInput input;
    input.installed.program = exchange::bench_program();
    input.installed.generation.id = "gen_3f9a3f9a3f9a3f9a";
    input.providers = providers;
    input.lanes = lanes;
    input.reports = &reports;
    auto bound = exchange::bind_service(input);
    if (!bound.ok()) std::abort();
    service = *std::move(bound);
  }
  ~Gateway() override { escrow.stop(); }

  exchange::Served serve(const exchange::Invocation& invocation,
                         exchange::ReplyWriter& writer) override {
    return exchange::serve({service.get(), loop, authenticator, transfers, rules, clock},
                           invocation, writer);
  }
  std::shared_ptr<const catalog::View> view() override { return nullptr; }
  Health health() override { return {}; }

  [[nodiscard]] std::string paid_head() const {
    const std::string bearer = "Bearer " + secret;
    return head_of(exchange::bench_path, {"Authorization", bearer});
  }
  [[nodiscard]] std::string free_head() const {
    const std::string bearer = "Bearer " + secret;
    return head_of(std::string(exchange::bench_path) + ":free", {"Authorization", bearer});
  }

  base::SystemClock clock;
  base::SystemRandom random;
  LogToNowhere log;
  std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  exchange::CallReports reports{log, *metrics};
  support::TestStore store{storage::Engine::sqlite, 4};
  std::unique_ptr<storage::Node> node = store.open();
  runtime::Runtime runtime{one_loop()};
  ledger::EscrowLedger escrow{
      node->ledger(), {}, {log, *metrics, runtime.pool(), [](std::string_view) { std::abort(); }}};
  UncommittedLedger uncommitted{escrow};
  ledger::PooledStatements statements{node->usage(), runtime.pool()};
  ledger::PooledCalls calls{node->usage(), escrow, runtime.pool()};
  quota::NodeStore free_counts{clock,
                               quota::NodeStore::Durable{node->free_counts(), runtime.pool(), log}};
  identity::CachedAuthenticator authenticator{node->keys(), {}, {clock, log, runtime.pool()}};
  exchange::BenchHost host;
  exchange::InstantProvider provider;
  lanes::CreditsLane credits{uncommitted, escrow};
  lanes::FreeLane free{free_counts};
  exchange::OpenLane open;
  std::shared_ptr<const exchange::Service> service;
  exchange::LoopState loop{{}};  // of the one loop
  exchange::TransferSlots transfers;
  exchange::ChargeRules rules{runtime.pool()};
  std::unique_ptr<AccessLog> access_log = make_access_log(log, *metrics);
  const Discovery discovery{{}};
  NoPluginPaths no_plugin_paths;
  ApiHost api{{*this, no_plugin_paths, authenticator, uncommitted, statements, calls, free_counts,
               runtime, clock, random, *access_log, discovery, nullptr},
              {{}, {}, {}, std::string(32, 'k')}};
  std::string account_id, secret;
};

Gateway& gateway() {
  static Gateway the_gateway;
  return the_gateway;
}

// Measures `step` on a fiber of the gateway's loop. The CPU time is that of the loop's Thread.
template <class Step>
void measure(benchmark::State& state, Step step) {
  runtime::Event ended;
  gateway().runtime.loops().front()->spawn([&] {
    step();  // fills caches and buffers
    for (auto _ : state) step();
    ended.set();
  });
  ended.wait(runtime::Deadline::never());
}

void measure_call(benchmark::State& state, const std::string& head, int expected) {
  std::vector<HeaderField> fields;
  BufferResponder responder;
  measure(state, [&] {
    ParsedRequest request(head, fields);
    gateway().api.handle(request, responder);
    if (responder.last_status != expected) state.SkipWithError("the call did not end as expected");
  });
}

void Call_paid(benchmark::State& state) { measure_call(state, gateway().paid_head(), 200); }
BENCHMARK(Call_paid);

void Call_unpaid(benchmark::State& state) {
  measure_call(state, head_of(exchange::bench_path, exchange::OpenLane::credential), 200);
}
BENCHMARK(Call_unpaid);

void Call_free(benchmark::State& state) { measure_call(state, gateway().free_head(), 200); }
BENCHMARK(Call_free);

void Call_refused_401(benchmark::State& state) {
  measure_call(state, head_of(exchange::bench_path, {"Accept-Language", "de"}), 401);
}
BENCHMARK(Call_refused_401);

// ---- line by line -----------------------------------------------------------------------------

void Line_parse_head(benchmark::State& state) {
  const std::string head = gateway().paid_head();
  std::vector<HeaderField> fields;
  measure(state, [&] {
    ParsedRequest request(head, fields);
    benchmark::DoNotOptimize(&request);
  });
}
BENCHMARK(Line_parse_head);

void Line_request_id(benchmark::State& state) {
  base::UuidSource ids(gateway().clock, gateway().random);
  measure(state, [&] { benchmark::DoNotOptimize(ids.next()); });
}
BENCHMARK(Line_request_id);

// Finds the route and reads the headers that matter to the host.
void Line_route_and_headers(benchmark::State& state) {
  const std::string head = gateway().paid_head();
  std::vector<HeaderField> fields;
  ParsedRequest request(head, fields);
  BufferResponder responder;
  std::vector<const RouteFacts*> facts;
  for (const auto& route : api::api_routes()) facts.push_back(&route.facts);
  const Cors cors(Origins({}), {});
  const auto access_log = make_access_log(gateway().log, *gateway().metrics);
  const HostRules rules{.cors = cors, .authenticates = {PrincipalKind::api_key}};
  const RouteTable table(facts, rules, *access_log);
  measure(state, [&] {
    const RouteTable::Place place = table.find(request.path());
    Turn turn(request, responder, table.cors_of(place), {}, 0);
    benchmark::DoNotOptimize(table.row_for(turn, place));
    benchmark::DoNotOptimize(&turn);
  });
}
BENCHMARK(Line_route_and_headers);

void Line_authenticate(benchmark::State& state) {
  measure(state, [] {
    benchmark::DoNotOptimize(gateway().authenticator.authenticate(
        gateway().secret, runtime::Deadline::after_ms(30'000)));
  });
}
BENCHMARK(Line_authenticate);

void Line_match(benchmark::State& state) {
  const registry::Program& program = gateway().service->program();
  measure(state, [&] { benchmark::DoNotOptimize(program.match(exchange::bench_path)); });
}
BENCHMARK(Line_match);

void Line_hold_and_give_back(benchmark::State& state) {
  measure(state, [&] {
    const auto hold =
        gateway().escrow.hold({gateway().account_id}, 1, runtime::Deadline::after_ms(30'000));
    if (!hold.ok()) state.SkipWithError("refused");
  });
}
BENCHMARK(Line_hold_and_give_back);

// The fields of a paid call's reply, the bytes of its head, and its body after them.
void Line_reply_headers_and_bytes(benchmark::State& state) {
  const std::string head = gateway().paid_head();
  std::vector<HeaderField> fields;
  ParsedRequest request(head, fields);
  BufferResponder responder;
  const Cors cors(Origins({}), {});
  base::UuidSource ids(gateway().clock, gateway().random);
  Turn turn(request, responder, cors, ids.next(), 0);
  const std::atomic<bool> is_stopping{false};
  hosts::ByteBudget bodies(base::limits::request_bodies_bytes_max,
                           base::limits::request_body_bytes_max);
  GatewayCall call(turn, is_stopping, bodies, gateway().authenticator);
  const HeaderField passed[] = {exchange::upstream_headers[0], exchange::upstream_headers[3]};
  exchange::ReplyHead reply;
  reply.headers = passed;
  reply.facts = {exchange::ReplyFrom::provider, "gen_3f9a3f9a3f9a3f9a", "credits", 1, 999, 12, 345};
  measure(state, [&] { benchmark::DoNotOptimize(call.reply(reply, exchange::upstream_body)); });
}
BENCHMARK(Line_reply_headers_and_bytes);

void write_record(benchmark::State& state, base::Log& log, base::Metrics& metrics) {
  const auto access_log = make_access_log(log, metrics);
  AccessRecord record;
  record.request_id = "019a0000-0000-7000-8000-000000000001";
  record.client_request_id = "client-1234567890";
  record.peer = "127.0.0.1:50000";
  record.method = "GET";
  record.path = exchange::bench_path;
  record.endpoint = &access_log->endpoint("gateway");
  record.is_call = true;
  record.account_id = "acct_0000000000000000000000";
  record.key_id = "key_0000000000000000000000";
  record.provider = "govdata";
  record.operation = "GET /v1/gateway/govdata/global/v1/daos";
  record.route = "route-00000000000000000000000000000000";
  record.lane = "credits";
  record.status = 200;
  record.credits_charged = 1;
  record.reply_bytes = exchange::upstream_body.size();
  record.total_us = 900;
  record.upstream_us = 700;
  measure(state, [&] { access_log->write(record); });
}

void Line_metrics(benchmark::State& state) {
  const auto log = base::make_silent_log();
  write_record(state, *log, *gateway().metrics);
}
BENCHMARK(Line_metrics);

void Line_access_log(benchmark::State& state) {
  NoMetrics metrics;
  write_record(state, gateway().log, metrics);
}
BENCHMARK(Line_access_log);

// Prints the usual lines, and at the end each line's share of the paid call.
class Shares final : public benchmark::ConsoleReporter {
 public:
  Shares() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      const std::string& name = run.run_name.function_name;
      const double ns = run.GetAdjustedCPUTime();
      if (name == "Call_paid") {
        paid_ns_ = ns;
      } else if (name.rfind("Line_", 0) == 0) {
        lines_.emplace_back(name.substr(5), ns);
      }
    }
  }

  void Finalize() override {
    if (paid_ns_ == 0 || lines_.empty()) return;
    std::printf("\n%-28s %8s %7s\n", "line of a paid call", "CPU ns", "share");
    double rest_ns = paid_ns_;
    for (const auto& [name, ns] : lines_) {
      print(name, ns);
      rest_ns -= ns;
    }
    print("exchange, lane and the rest", rest_ns);
    print("the whole call", paid_ns_);
  }

 private:
  void print(const std::string& name, double ns) const {
    std::printf("%-28s %8.0f %6.1f%%\n", name.c_str(), ns, 100 * ns / paid_ns_);
  }

  double paid_ns_ = 0;
  std::vector<std::pair<std::string, double>> lines_;
};

}  // namespace
}  // namespace turnpike::hosts::api

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  turnpike::hosts::api::Shares shares;
  benchmark::RunSpecifiedBenchmarks(&shares);
  return 0;
}
