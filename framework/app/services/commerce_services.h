// CommerceServices: the purchase of Credits, assembled for the gateway: the processors in service,
// the shop that the hosts use, the intake of notices, and a fiber that finishes purchases.
//
// Owned by the gateway, made before the hosts and destroyed after them. start(), cancel() and
// has_ended() are called by its Thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "app/config/config.h"
#include "app/plugins/bound_processors.h"
#include "app/plugins/plugin_set.h"
#include "app/services/background_work.h"
#include "base/log.h"
#include "base/metrics.h"
#include "commerce/reconciler.h"
#include "commerce/shop.h"
#include "exchange/service.h"
#include "runtime/runtime.h"

namespace turnpike::app {

class CommerceServices {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    commerce::PurchaseStore& store;
    commerce::AutoTopUpStore& top_ups;
    const PluginSet& plugins;
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
  };
  struct Surroundings {
    std::string api_url;
    std::string web_url;
    std::string deployment_id;
  };
  CommerceServices(const Config& config, const Parts& parts, const Surroundings& surroundings);
  CommerceServices(const CommerceServices&) = delete;
  CommerceServices& operator=(const CommerceServices&) = delete;

  // The problems that prevent a start of the gateway; empty: none.
  [[nodiscard]] const std::vector<registry::Problem>& problems() const noexcept {
    return bound_.problems();
  }
  [[nodiscard]] commerce::Shop& shop() noexcept { return shop_; }
  // The offerings of processors besides their slot (turnpike/offers.h).
  [[nodiscard]] const std::vector<exchange::Offering>& offerings() const noexcept {
    return offerings_;
  }

  void start();
  void cancel() { work_.cancel(); }
  [[nodiscard]] bool has_ended(runtime::Deadline deadline) { return work_.has_ended(deadline); }

 private:
  void reconcile();
  // Writes setup problems that processors report to the log; nothing waits for it.
  void check_processors();
  void run_own_work(commerce::ProcessorIntake& intake, const std::string& name);
  void report_notes() const;

  const Parts parts_;
  BoundProcessors bound_;
  commerce::Desk desk_;
  commerce::AutoTopUps auto_top_ups_;
  commerce::Shop shop_;
  commerce::Reconciler reconciler_;
  std::deque<commerce::ProcessorIntake> intakes_;
  std::vector<exchange::Offering> offerings_;
  BackgroundWork work_;
};

}  // namespace turnpike::app
