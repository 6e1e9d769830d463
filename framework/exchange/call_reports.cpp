#include "exchange/call_reports.h"

#include <vector>

namespace turnpike::exchange {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::int64_t call_line_interval_ns = 60 * ns_per_second;
constexpr std::int64_t call_quiet_ns = 30 * ns_per_second;
// Probes are far apart, and each shows the current state.
constexpr std::int64_t probe_line_interval_ns = 900 * ns_per_second;
constexpr std::int64_t probe_quiet_ns = 0;

constexpr std::string_view other = "other";

const std::vector<double> second_bounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                           0.25,   0.5,   1,      2.5,   5,    10,    30};

}  // namespace

UpstreamReport::UpstreamReport(std::string provider, std::string upstream, base::Log& log,
                               base::Metrics& metrics)
    : provider_(std::move(provider)),
      upstream_(std::move(upstream)),
      log_(log),
      seconds_(metrics.histogram(
          "turnpike_upstream_seconds", "The upstream's part of calls, in seconds.",
          {{"provider", provider_}, {"upstream", upstream_}}, second_bounds)),
      probes_passed_(metrics.counter(
          "turnpike_upstream_probes_total", "Probes of whether an upstream is there, by result.",
          {{"provider", provider_}, {"upstream", upstream_}, {"result", "passed"}})),
      probes_failed_(metrics.counter(
          "turnpike_upstream_probes_total", "Probes of whether an upstream is there, by result.",
          {{"provider", provider_}, {"upstream", upstream_}, {"result", "failed"}})),
      calls_(call_line_interval_ns, call_quiet_ns),
      probes_(probe_line_interval_ns, probe_quiet_ns) {}

void UpstreamReport::call_ended(const Served& served, std::string_view request_id,
                                std::int64_t now_ns) {
  if (served.upstream_us != 0) seconds_.observe(served.upstream_us / 1e6);
  if (served.upstream_part == UpstreamPart::failed) {
    const auto code = served.error.value_or(base::ErrorCode::gateway_upstream_failure);
    if (const auto failures = calls_.failed(now_ns, is_news(code))) {
      tell_failure(served, request_id, failures);
    }
  } else if (served.upstream_part == UpstreamPart::worked) {
    const std::uint64_t failures = calls_.worked(now_ns);
    if (failures == 0) return;
    codes_told_.store(0, std::memory_order_relaxed);
    log_.write(Severity::info, "upstream_works_again",
               {{"provider", provider_}, {"upstream", upstream_}, {"failures", failures}});
  }
}

void UpstreamReport::tell_failure(const Served& served, std::string_view request_id,
                                  std::uint64_t failures) {
  std::string operation(served.operation_method);
  operation.append(" ").append(served.operation_path);
  log_.write(Severity::warning, "upstream_fails",
             {{"provider", provider_},
              {"upstream", upstream_},
              {"operation", operation},
              {"error", served.error ? base::info_of(*served.error).name : std::string_view()},
              {"upstream_status", served.upstream_status},
              {"reason", served.operator_note},
              {"request_id", request_id},
              {"failures", failures}});
}

bool UpstreamReport::is_news(base::ErrorCode code) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(code) % 64);
  return (codes_told_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void UpstreamReport::probed(const Done& done, std::int64_t now_ns) noexcept {
  if (done.ok()) {
    probes_passed_.add();
    if (const auto failures = probes_.worked(now_ns)) {
      log_.write(Severity::info, "probe_passes_again",
                 {{"provider", provider_}, {"upstream", upstream_}, {"failures", failures}});
    }
    return;
  }
  probes_failed_.add();
  if (const auto failures = probes_.failed(now_ns)) {
    log_.write(Severity::warning, "probe_fails",
               {{"provider", provider_},
                {"upstream", upstream_},
                {"reason", done.error().message},
                {"failures", failures}});
  }
}

void RouteReport::call_ended(const Served& served, std::string_view request_id,
                             std::int64_t now_ns) noexcept {
  std::size_t outcome = answered;
  if (served.error) {
    outcome = static_cast<std::size_t>(*served.error);
  } else if (served.ending == Ending::caller_gone) {
    outcome = caller_gone;
  }
  try {
    counter(outcome).add();
    upstream_.call_ended(served, request_id, now_ns);
  } catch (...) {  // out of memory: a count is not worth failing the call
  }
}

base::Counter& RouteReport::counter(std::size_t outcome) {
  std::atomic<base::Counter*>& kept = counters_[outcome];
  if (base::Counter* known = kept.load(std::memory_order_acquire)) return *known;
  const std::string_view name = outcome == answered ? "answered"
                                : outcome == caller_gone
                                    ? "caller_gone"
                                    : base::info_of(static_cast<base::ErrorCode>(outcome)).name;
  base::Counter& made = metrics_.counter("turnpike_route_calls_total",
                                         "Calls of a route, by outcome: answered by the provider, "
                                         "given up by the caller, or the code of the error.",
                                         {{"provider", upstream_.provider()},
                                          {"upstream", upstream_.upstream()},
                                          {"route", route_},
                                          {"outcome", std::string(name)}});
  kept.store(&made, std::memory_order_release);
  return made;
}

UpstreamReport& CallReports::of(const std::string& provider, const std::string& upstream) {
  const std::lock_guard lock(mutex_);
  return upstream_locked(provider, upstream);
}

RouteReport& CallReports::of(const std::string& provider, const std::string& upstream,
                             const std::string& route) {
  const std::lock_guard lock(mutex_);
  UpstreamReport& owner = upstream_locked(provider, upstream);
  auto found = routes_.find({&owner, route});
  if (found == routes_.end()) {
    const std::string name = routes_.size() < routes_max ? route : std::string(other);
    found = routes_.try_emplace({&owner, name}).first;
  }
  if (found->second == nullptr) {
    found->second = std::make_unique<RouteReport>(owner, found->first.second, metrics_);
  }
  return *found->second;
}

UpstreamReport& CallReports::upstream_locked(const std::string& provider,
                                             const std::string& upstream) {
  auto found = upstreams_.find({provider, upstream});
  if (found == upstreams_.end()) {
    const std::string rest(other);
    found = upstreams_
                .try_emplace(upstreams_.size() < upstreams_max ? Names{provider, upstream}
                                                               : Names{rest, rest})
                .first;
  }
  if (found->second == nullptr) {
    found->second =
        std::make_unique<UpstreamReport>(found->first.first, found->first.second, log_, metrics_);
  }
  return *found->second;
}

}  // namespace turnpike::exchange
