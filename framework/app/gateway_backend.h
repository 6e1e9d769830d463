// GatewayBackend: how the public hosts reach the program in service: it pins the loop's view for a
// call, gives the call the state of its loop, and tells how the parts of the process are doing.
//
// Owned by the gateway; called on the fibers of all loop Threads. Each loop has a slot of its own.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/serving.h"
#include "base/published.h"
#include "exchange/charge_rules.h"
#include "exchange/loop_state.h"
#include "exchange/transfer_slots.h"
#include "hosts/backend.h"
#include "hosts/plugin_paths.h"
#include "ledger/escrow_ledger.h"
#include "runtime/runtime.h"
#include "storage/redis_quota.h"

namespace turnpike::app {

class GatewayBackend final : public hosts::Backend, public hosts::PluginPaths {
 public:
  struct Parts {
    const Serving& serving;
    const ledger::EscrowLedger& ledger;
    identity::Authenticator& authenticator;
    runtime::Runtime& runtime;
    const Clock& clock;
    const storage::RedisQuota* redis;  // where free counts are shared; null: they are not
    std::string without_redis;         // what it means when it cannot be reached
    bool is_durability_relaxed = false;
    bool takes_passwords = false;  // on the web host, which is up
    std::span<const exchange::Offering> processors = {};  // in service whatever the program is
  };
  struct Caps {
    std::uint32_t calls_per_account_max;
    std::uint32_t heavy_transfers_max;
    std::uint32_t heavy_transfer_wait_ms;
  };

  GatewayBackend(const Parts& parts, const Caps& caps);

  exchange::Served serve(const exchange::Invocation& invocation,
                         exchange::ReplyWriter& writer) override;
  std::shared_ptr<const catalog::View> view() override;
  hosts::Health health() override;
  Result<Document, base::Error> document(std::string_view path) override;
  Result<hosts::Intake, base::Error> find_intake(std::string_view path) override;

  using Pin = base::LoopView<InService>::Pin;
  // The program of the calling loop, kept for the fiber that asks; null: no valid program is
  // installed.
  [[nodiscard]] Pin pin();
  // The same, to be shared.
  [[nodiscard]] std::shared_ptr<const InService> in_service();

  // From now on the gateway is told as not ready, and serves as before.
  void begin_stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

  // Lets every loop take over the newest program, so that an idle one keeps no old one alive.
  void refresh_loops();

 private:
  struct LoopSlot {
    LoopSlot(const base::Published<InService>& published, const exchange::LoopState::Caps& caps)
        : view(published), state(caps) {}
    base::LoopView<InService> view;
    exchange::LoopState state;
  };

  static void count(const InService& program, const exchange::Served& served) noexcept;
  [[nodiscard]] static Pin pin_for(LoopSlot& slot, const exchange::Invocation& invocation);

  const Parts parts_;
  exchange::TransferSlots transfers_;
  const exchange::ChargeRules rules_;
  std::atomic<bool> is_stopping_{false};
  std::vector<std::unique_ptr<LoopSlot>> slots_;  // by index of the loop
};

}  // namespace turnpike::app
