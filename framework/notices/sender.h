// Sender: sends deliveries that are due and writes down what the receivers said; and makes the
// scans that find events which nobody writes down when they happen. All nodes of a deployment do,
// each delivery and each scan by one at a time.
//
// A request is one POST of Standard Webhooks 1.0, to the address that the wire's client judged
// (wire/client.h): public ones alone, unless the operator allows others; redirects are not
// followed, which the specification advises. Bodies of replies are not read. Log lines name
// endpoints by their ids and hosts: a URL may hold a token.
//
// Owned by app/; its functions are called on fibers of one loop, several at once.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <turnpike/host.h>

#include "base/log.h"
#include "base/metrics.h"
#include "notices/store.h"
#include "runtime/pool.h"

namespace turnpike::notices {

class Sender {
 public:
  static constexpr std::int64_t request_ms_max = 15'000;
  static constexpr std::int64_t kept_ms = 30 * 24 * 3'600'000ll;

  // All outlive it.
  struct Parts {
    NoticeStore& store;
    runtime::BlockingPool& pool;
    Http& http;
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
    bool allows_private = false;  // addresses of private networks and this machine
  };
  explicit Sender(Parts parts);

  // Up to `most` that are due, leased.
  [[nodiscard]] std::vector<DueDelivery> take(std::uint32_t most);
  // Sends one and writes down what became of it. A fiber that is cancelled meanwhile gives it back.
  void send(const DueDelivery& delivery);
  // Whatever scans are due. `prices`: of the program in service, where they may be others than
  // those that were given last; true: they are noted.
  bool scan(std::string_view generation, const std::vector<RoutePrice>* prices);

 private:
  [[nodiscard]] Attempt post(const DueDelivery& delivery);
  void tell(std::string_view what, const Result<std::uint32_t, base::Error>& told);
  void report_standing();
  void report(std::string_view what, const base::Error& error);
  template <class F>
  [[nodiscard]] auto ask(F&& work) const -> std::invoke_result_t<F> {
    std::optional<std::invoke_result_t<F>> answer;
    if (!parts_.pool.run_to_end(user_, [&]() noexcept { answer.emplace(work()); })) {
      return base::Error{base::ErrorCode::notification_unavailable, "The pool is full.", 1};
    }
    return *std::move(answer);
  }

  const Parts parts_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::notices
