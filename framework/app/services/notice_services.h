// NoticeServices: outgoing notifications, assembled for the gateway: the office that the hosts use,
// and fibers that send due deliveries and scan for new events.
//
// Owned by the gateway, made before the hosts and destroyed after them. start(), cancel(),
// has_ended() and stop_client() are called by its Thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <turnpike/host.h>

#include "app/config/config.h"
#include "app/services/background_work.h"
#include "app/serving.h"
#include "base/log.h"
#include "base/metrics.h"
#include "ledger/usage.h"
#include "notices/office.h"
#include "notices/sender.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"
#include "wire/client.h"

namespace turnpike::app {

class NoticeServices {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    notices::NoticeStore& store;
    ledger::UsageStore& usage;
    const Serving& serving;
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
  };
  NoticeServices(const Config& config, const Parts& parts);
  NoticeServices(const NoticeServices&) = delete;
  NoticeServices& operator=(const NoticeServices&) = delete;

  [[nodiscard]] notices::Office& office() noexcept { return office_; }

  void start();
  void cancel() { work_.cancel(); }
  [[nodiscard]] bool has_ended(runtime::Deadline deadline) { return work_.has_ended(deadline); }
  // Called after has_ended(), before the runtime stops.
  void stop_client();

 private:
  void take_and_hand_out();
  void send_what_comes();
  [[nodiscard]] std::optional<notices::DueDelivery> next_taken();
  void scan();
  [[nodiscard]] bool note_prices(const std::string& generation,
                                 const registry::Program& program);

  const Parts parts_;
  // A separate client: hosts of endpoints cannot use up connections to upstreams.
  const std::unique_ptr<wire::Client> client_;
  notices::Office office_;
  notices::Sender sender_;

  // Deliveries taken but not started. All fibers are of one loop; the mutex only satisfies the
  // thread-safety analysis.
  std::mutex mutex_;
  std::deque<notices::DueDelivery> taken_;
  runtime::Semaphore waiting_{0};   // a unit per entry of `taken_`, until the service stops
  std::uint32_t free_ = 0;          // idle senders
  runtime::Event freed_;            // a sender is idle again
  runtime::PoolUser indexing_;
  std::string noted_generation_;    // generation whose prices were noted

  BackgroundWork work_;
};

}  // namespace turnpike::app
