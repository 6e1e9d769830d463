#include "hosts/access_log.h"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace turnpike::hosts {

namespace {

constexpr std::array<std::string_view, status_classes> class_names = {"none", "1xx", "2xx",
                                                                      "3xx",  "4xx", "5xx"};
const std::vector<double> second_bounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                           0.25,   0.5,   1,      2.5,   5,    10,    30};

// One literal, so that the keys of a line lie beside each other in memory. As 22 literals they lay
// in 22 pages of the program's constants, and half of the rendering of a line was waiting for them.
constexpr std::string_view key_words =
    " request_id client_request_id peer client method path rpc account_id key_id provider operation"
    " route lane status error reason credits_charged request_bytes reply_bytes total_us upstream_us"
    " whole ";

consteval base::LogKey key(std::string_view name) {
  for (std::size_t at = key_words.find(name); at != std::string_view::npos;
       at = key_words.find(name, at + 1)) {
    if (key_words[at - 1] == ' ' && key_words[at + name.size()] == ' ') {
      return base::LogKey(key_words.substr(at, name.size()));
    }
  }
  throw "not among key_words";
}

class LoggedAccess final : public AccessLog {
 public:
  LoggedAccess(base::Log& log, base::Metrics& metrics, ClientAddress clients)
      : log_(log),
        metrics_(metrics),
        clients_(std::move(clients)),
        none_(LoggedAccess::endpoint("none")) {
    for (const base::ErrorInfo& info : base::all_errors()) {
      errors_[static_cast<std::size_t>(info.code)] = &metrics.counter(
          "turnpike_errors_total", "Errors answered, by code.", {{"code", std::string(info.name)}});
    }
    call_seconds_ = &metrics.histogram("turnpike_call_seconds",
                                       "Time of calls of routes, in seconds.", {}, second_bounds);
    credits_ = &metrics.counter("turnpike_credits_charged_total", "Credits charged.", {});
  }

  const Endpoint& endpoint(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    for (const Endpoint& one : endpoints_) {
      if (one.name == name) return one;
    }
    Endpoint& made = endpoints_.emplace_back(Endpoint{std::string(name), {}});
    for (std::size_t status = 0; status < status_classes; ++status) {
      made.requests[status] = &metrics_.counter(
          "turnpike_http_requests_total", "Requests answered, by endpoint and status class.",
          {{"endpoint", made.name}, {"status", std::string(class_names[status])}});
    }
    return made;
  }

  [[nodiscard]] std::string client_of(std::string_view peer, Headers headers) const override {
    return clients_.behind_proxy(peer, headers);
  }

  void write(const AccessRecord& record) noexcept override {
    // The line needs these texts soon, and since the call began, other calls have used the cache.
    for (const std::string_view text :
         {record.request_id, record.peer, record.method, record.path, record.account_id,
          record.key_id, record.provider, record.operation, record.route, record.lane}) {
      __builtin_prefetch(text.data());
    }
    count(record);
    log_.write(
        Severity::info, "access",
        {{key("request_id"), record.request_id},
         {key("client_request_id"), record.client_request_id},
         {key("peer"), record.peer},
         {key("client"), record.client},
         {key("method"), record.method},
         {key("path"), record.path},
         {key("rpc"), record.rpc},
         {key("account_id"), record.account_id},
         {key("key_id"), record.key_id},
         {key("provider"), record.provider},
         {key("operation"), record.operation},
         {key("route"), record.route},
         {key("lane"), record.lane},
         {key("status"), record.status},
         {key("error"), record.error ? base::info_of(*record.error).name : std::string_view()},
         {key("reason"), record.reason.substr(0, reason_bytes_shown)},
         {key("credits_charged"), record.credits_charged},
         {key("request_bytes"), record.request_bytes},
         {key("reply_bytes"), record.reply_bytes},
         {key("total_us"), record.total_us},
         {key("upstream_us"), record.upstream_us},
         {key("whole"), record.is_whole}});
  }

 private:
  struct LaneCounts {
    std::string name;
    base::Counter* answered;
    base::Counter* refused;
  };
  static constexpr std::size_t lanes_max = 8;

  void count(const AccessRecord& record) noexcept {
    const auto status = static_cast<std::size_t>(record.status) / 100;
    const Endpoint& endpoint = record.endpoint == nullptr ? none_ : *record.endpoint;
    endpoint.requests[status < status_classes ? status : 0]->add();
    if (record.error) errors_[static_cast<std::size_t>(*record.error)]->add();
    if (!record.is_call) return;
    call_seconds_->observe(record.total_us / 1e6);
    if (record.credits_charged != 0) credits_->add(record.credits_charged);
    if (const LaneCounts* const lane = lane_of(record.lane)) {
      (record.error ? lane->refused : lane->answered)->add();
    }
  }

  // Null: no lane was chosen, there are more than lanes_max lanes, or memory is exhausted.
  const LaneCounts* lane_of(std::string_view name) noexcept {
    if (name.empty()) return nullptr;
    for (std::atomic<const LaneCounts*>& slot : lanes_) {
      const LaneCounts* lane = slot.load(std::memory_order_acquire);
      if (lane == nullptr) lane = make_lane(slot, name);
      if (lane == nullptr || lane->name == name) return lane;
    }
    return nullptr;
  }
  // Another loop may have filled this slot meanwhile, with the counts of another lane.
  [[gnu::noinline]] const LaneCounts* make_lane(std::atomic<const LaneCounts*>& slot,
                                                std::string_view name) noexcept {
    const std::lock_guard lock(mutex_);
    if (const LaneCounts* const made = slot.load()) return made;
    try {
      const auto counter = [&](const char* outcome) {
        return &metrics_.counter("turnpike_lane_calls_total",
                                 "Calls that chose a lane, by whether they were answered.",
                                 {{"lane", std::string(name)}, {"outcome", outcome}});
      };
      slot.store(&lane_counts_.emplace_back(
                     LaneCounts{std::string(name), counter("answered"), counter("refused")}),
                 std::memory_order_release);
    } catch (...) {  // losing a count is better than failing the call
    }
    return slot.load();
  }

  base::Log& log_;
  base::Metrics& metrics_;
  const ClientAddress clients_;
  std::mutex mutex_;
  std::deque<Endpoint> endpoints_;  // elements never move
  const Endpoint& none_;
  std::array<base::Counter*, base::error_codes_max> errors_{};
  base::Histogram* call_seconds_ = nullptr;
  base::Counter* credits_ = nullptr;
  std::deque<LaneCounts> lane_counts_;  // elements never move
  std::array<std::atomic<const LaneCounts*>, lanes_max> lanes_{};  // made at first count
};

}  // namespace

std::unique_ptr<AccessLog> make_access_log(base::Log& log, base::Metrics& metrics,
                                           ClientAddress clients) {
  return std::make_unique<LoggedAccess>(log, metrics, std::move(clients));
}

}  // namespace turnpike::hosts
