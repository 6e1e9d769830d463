// CallReports: reports calls to the operator, in addition to the access log. It counts calls by
// provider, upstream, route and outcome, and measures the time of upstreams. It logs when an
// upstream begins to fail and why, repeats that at intervals, logs a new kind of failure at once,
// and logs when the upstream works again.
//
// All reports live as long as CallReports, so a reload does not reset them. Owned by app/, outlives
// every Service; log and metrics outlive it. of() is for binding, on any Thread; the rest for all
// loop Threads. The sets of labels are bounded: beyond the bound, further values share the label
// "other".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <turnpike/result.h>

#include "base/error.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/outage.h"
#include "exchange/serve.h"

namespace turnpike::exchange {

class UpstreamReport {
 public:
  UpstreamReport(std::string provider, std::string upstream, base::Log& log,
                 base::Metrics& metrics);
  void call_ended(const Served& served, std::string_view request_id, std::int64_t now_ns);
  void probed(const Done& done, std::int64_t now_ns) noexcept;

  [[nodiscard]] const std::string& provider() const noexcept { return provider_; }
  [[nodiscard]] const std::string& upstream() const noexcept { return upstream_; }

 private:
  void tell_failure(const Served& served, std::string_view request_id, std::uint64_t failures);
  // True once per code in an outage; two codes that share a bit are reported as one.
  [[nodiscard]] bool is_news(base::ErrorCode code) noexcept;

  const std::string provider_;
  const std::string upstream_;
  base::Log& log_;
  base::Histogram& seconds_;
  base::Counter& probes_passed_;
  base::Counter& probes_failed_;
  base::Outage calls_;
  base::Outage probes_;
  std::atomic<std::uint64_t> codes_told_{0};
};

class RouteReport {
 public:
  RouteReport(UpstreamReport& upstream, std::string route, base::Metrics& metrics)
      : upstream_(upstream), route_(std::move(route)), metrics_(metrics) {}
  // Call once for each call of the route.
  void call_ended(const Served& served, std::string_view request_id, std::int64_t now_ns) noexcept;

 private:
  // Index: an error's code, or one of the two values below.
  static constexpr std::size_t answered = base::error_codes_max;
  static constexpr std::size_t caller_gone = answered + 1;

  base::Counter& counter(std::size_t outcome);

  UpstreamReport& upstream_;
  const std::string route_;
  base::Metrics& metrics_;
  std::array<std::atomic<base::Counter*>, caller_gone + 1> counters_{};  // created at first use
};

class CallReports {
 public:
  static constexpr std::size_t upstreams_max = 256;
  static constexpr std::size_t routes_max = 1'000;

  CallReports(base::Log& log, base::Metrics& metrics) : log_(log), metrics_(metrics) {}

  // The same names return the same report. `route` is the route's path with its parameters' names.
  [[nodiscard]] UpstreamReport& of(const std::string& provider, const std::string& upstream);
  [[nodiscard]] RouteReport& of(const std::string& provider, const std::string& upstream,
                                const std::string& route);

 private:
  using Names = std::pair<std::string, std::string>;

  UpstreamReport& upstream_locked(const std::string& provider, const std::string& upstream);

  base::Log& log_;
  base::Metrics& metrics_;
  std::mutex mutex_;
  std::map<Names, std::unique_ptr<UpstreamReport>> upstreams_;  // keyed by provider and upstream
  std::map<std::pair<const UpstreamReport*, std::string>, std::unique_ptr<RouteReport>> routes_;
};

}  // namespace turnpike::exchange
