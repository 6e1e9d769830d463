// Sender: sends due deliveries and records the replies of the receivers; and runs the scans for
// events that no transaction writes when they happen. All nodes of a deployment do so; each
// delivery and each scan is leased to one at a time.
//
// A request is one POST of Standard Webhooks 1.0, to an address that the wire's client accepted
// (wire/client.h): only public ones, unless the operator allows others; redirects are not followed,
// as the specification advises. Bodies of replies are not read. Log lines name endpoints by their
// ids and hosts: a URL may hold a token.
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

  // All parts outlive the sender.
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

  // Leases up to `most` due deliveries.
  [[nodiscard]] std::vector<DueDelivery> take(std::uint32_t most);
  // Sends a delivery and records the outcome. A fiber that is cancelled meanwhile releases the
  // lease.
  void send(const DueDelivery& delivery);
  // Releases the lease of a delivery that was taken and is not sent.
  void give_back(const DueDelivery& delivery);
  // Runs the scans that are due. `prices`: of the program in service, if they may differ from the
  // last ones; true: they are noted.
  bool scan(std::string_view generation, const std::vector<RoutePrice>* prices);

 private:
  [[nodiscard]] Attempt post(const DueDelivery& delivery);
  void finish(const DueDelivery& delivery, const Attempt& attempt);
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
