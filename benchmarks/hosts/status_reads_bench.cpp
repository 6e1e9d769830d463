// Reads of the status compared with /healthz, over real sockets: one loop of the gateway, and a
// client Thread with 32 connections that sends a request on each and reads all the replies. The
// board has two providers and 90 days of history. The ratios at the end are of the best of five
// runs.
#include <benchmark/benchmark.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/sources.h"
#include "hosts/api/status_routes.h"
#include "hosts/log_to_nowhere.h"
#include "hosts/routed_host.h"
#include "hosts/service_documents.h"
#include "registry/compile.h"
#include "runtime/runtime.h"
#include "support/status_story.h"

namespace turnpike::hosts::api {
namespace {

constexpr std::size_t connections = 32;

std::shared_ptr<const registry::Program> two_providers() {
  const auto yaml_of = [](const std::string& key) {
    std::string yaml = "provider: {key: " + key + ", name: " + key + "}\nupstreams: {" + key +
                       "-main: {plugin: http}}\nprices: {" + key +
                       ".standard: {version: 1, credit_cost: 1}}\ndefaults: {price: " + key +
                       ".standard}\nroutes:\n";
    for (int at = 0; at < 5; ++at) {
      yaml += "  - {path: /item-" + std::to_string(at) +
              ", monitoring: {class: continuous, sample: {}, per_day_max: 2000}}\n";
    }
    return yaml;
  };
  const registry::Source sources[] = {{"a.yaml", yaml_of("alpha")}, {"b.yaml", yaml_of("beta")}};
  auto compiled =
      registry::compile({.sources = sources, .installed = {}, .plugins = {}, .lane = nullptr});
  if (!compiled.ok()) std::abort();
  return *compiled;
}

// One round per day makes one segment per day, the most that a document shows.
std::shared_ptr<const status::Board> board_of_90_days() {
  support::StatusStory story(two_providers());
  for (int day = 0; day < 90; ++day) {
    story.close_round();
    story.now_ms += 86'400'000 - story.targets.round_ms;
  }
  story.close_round();
  return story.board();
}

class KeptBoard final : public StatusSource {
 public:
  std::shared_ptr<const status::Board> board() override { return board_; }
  status::StatusStore& store() override { std::abort(); }
  std::string stream() override { std::abort(); }
  Result<status::Sweep, base::Error> begin_sweep(const SweepAsked&) override { std::abort(); }
  Result<status::Sweep, base::Error> complete_sweep(std::string_view, std::string_view) override {
    std::abort();
  }

 private:
  const std::shared_ptr<const status::Board> board_ = board_of_90_days();
};

struct NoRooms {};
constexpr Route<NoRooms> health_row[] = {
    {.facts = {.method = "GET", .path = "/healthz", .endpoint = "health", .answers_head = true},
     .answer = [](const NoRooms&, Turn& turn, const Asked&) { send(turn, liveness_document()); }}};

class Host final : public wire::Handler {
 public:
  Host() {
    std::vector<BoundRoute> rows = bind_routes(std::span<const Route<NoRooms>>(health_row), rooms_);
    bind_routes(status_routes(), status_rooms_, rows);
    host_.emplace(HostParts{runtime, clock_, random_, *access_log_}, std::move(rows),
                  HostRules{.cors = Cors(Origins({}), {}),
                            .authenticates = {PrincipalKind::api_key},
                            .authenticate = {}});
    runtime.loops().front()->post([this] { log_.gather_here(); });
    server_ = wire::make_server(runtime, {}, log_);
    auto started = server_->start({{.name = "api", .address = "127.0.0.1:0", .handler = this}});
    if (!started.ok()) std::abort();
    const std::string& address = started->front().address;
    port = static_cast<std::uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1));
  }
  ~Host() override {
    server_->drain(std::chrono::milliseconds(1'000));
    server_.reset();
    runtime.stop(runtime::Deadline::after_ms(1'000), runtime::Deadline::never());
  }

  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_->handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_->refuse(error, request, responder);
  }

  runtime::Runtime runtime{[] {
    runtime::RuntimeOptions options;
    options.loops = 1;
    return options;
  }()};
  std::uint16_t port = 0;

 private:
  base::SystemClock clock_;
  base::SystemRandom random_;
  LogToNowhere log_;
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::unique_ptr<AccessLog> access_log_ = make_access_log(log_, *metrics_);
  KeptBoard source_;
  const StatusRoutes routes_{{source_, runtime.pool(), clock_, std::string(32, 'k'), ""}};
  const StatusRooms status_rooms_{routes_};
  const NoRooms rooms_{};
  std::optional<RoutedHost> host_;
  std::unique_ptr<wire::Server> server_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) {
    for (int& one : sockets_) {
      one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const int yes = 1;
      ::setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      if (::connect(one, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) std::abort();
    }
  }
  ~Client() {
    for (const int one : sockets_) ::close(one);
  }

  // All replies to a request have one length: it is found out by the first.
  void ask(const std::string& path, const std::string& more = {}) {
    request_ = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more + "\r\n";
    reply_bytes_ = 0;
    send_to(sockets_.front());
    std::string reply;
    for (std::size_t end = reply.npos; reply_bytes_ == 0 || reply.size() < reply_bytes_;) {
      const ssize_t got = ::recv(sockets_.front(), buffer_.data(), buffer_.size(), 0);
      if (got <= 0) std::abort();
      reply.append(buffer_.data(), static_cast<std::size_t>(got));
      end = reply.find("\r\n\r\n");
      if (end == reply.npos || reply_bytes_ != 0) continue;
      const std::size_t at = reply.find("Content-Length: ");
      if (at == reply.npos || !reply.starts_with("HTTP/1.1 200")) std::abort();
      body_bytes = static_cast<std::size_t>(std::atoll(reply.c_str() + at + 16));
      reply_bytes_ = end + 4 + body_bytes;
    }
  }
  void round() {
    for (const int one : sockets_) send_to(one);
    for (const int one : sockets_) {
      for (std::size_t left = reply_bytes_; left > 0;) {
        const ssize_t got = ::recv(one, buffer_.data(), std::min(left, buffer_.size()), 0);
        if (got <= 0) std::abort();
        left -= static_cast<std::size_t>(got);
      }
    }
  }

  std::size_t body_bytes = 0;

 private:
  void send_to(int socket) const {
    const ssize_t sent = ::send(socket, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request_.size())) std::abort();
  }

  std::array<int, connections> sockets_{};
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
  std::string request_;
  std::size_t reply_bytes_ = 0;
};

Host& host() {
  static Host the_host;
  return the_host;
}

void read_path(benchmark::State& state, const std::string& path, const std::string& more = {}) {
  Client client(host().port);
  client.ask(path, more);
  for (auto _ : state) client.round();
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * connections));
  state.counters["bytes"] = static_cast<double>(client.body_bytes);
}

void Read_healthz(benchmark::State& state) { read_path(state, "/healthz"); }
void Read_status(benchmark::State& state) { read_path(state, "/v1/status"); }
void Read_gateway(benchmark::State& state) { read_path(state, "/v1/status/gateway"); }
void Read_gateway_brotli(benchmark::State& state) {
  read_path(state, "/v1/status/gateway", "Accept-Encoding: gzip, br\r\n");
}
void Read_badge(benchmark::State& state) { read_path(state, "/v1/status/badges/alpha.svg"); }

BENCHMARK(Read_healthz)->UseRealTime()->MinTime(0.5)->Repetitions(5);
BENCHMARK(Read_status)->UseRealTime()->MinTime(0.5)->Repetitions(5);
BENCHMARK(Read_gateway)->UseRealTime()->MinTime(0.5)->Repetitions(5);
BENCHMARK(Read_gateway_brotli)->UseRealTime()->MinTime(0.5)->Repetitions(5);
BENCHMARK(Read_badge)->UseRealTime()->MinTime(0.5)->Repetitions(5);

// Prints the usual lines, and at the end the ratio of each to the baseline.
class Ratios final : public benchmark::ConsoleReporter {
 public:
  Ratios() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      double& best = ns_.emplace(run.run_name.function_name, run.GetAdjustedRealTime())
                         .first->second;
      best = std::min(best, run.GetAdjustedRealTime());
    }
  }
  void Finalize() override {
    const auto baseline = ns_.find("Read_healthz");
    if (baseline == ns_.end()) return;
    for (const auto& [name, ns] : ns_) {
      std::printf("%-20s %8.0f requests/s %6.2fx of /healthz\n", name.c_str(),
                  1e9 * connections / ns, baseline->second / ns);
    }
  }

 private:
  std::map<std::string, double> ns_;
};

}  // namespace
}  // namespace turnpike::hosts::api

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  turnpike::hosts::api::Ratios ratios;
  benchmark::RunSpecifiedBenchmarks(&ratios);
  return 0;
}
