// GatewayBackend: the public hosts' access to the program in service: it pins the loop's view for a
// call, gives the call the state of its loop, and reports the health of the parts of the process.
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
#include "ledger/escrow/escrow_ledger.h"
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
    const storage::RedisQuota* redis;  // of shared free counts; null: not shared
    std::string without_redis;         // consequence while Redis is unreachable
    bool is_durability_relaxed = false;
    bool takes_passwords = false;  // on the web host, if it is served
    std::span<const exchange::Offering> processors = {};  // in service with any program
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
  // Returns the program of the calling loop, pinned for the calling fiber; null: no valid program
  // is installed.
  [[nodiscard]] Pin pin();
  // The same with shared ownership.
  [[nodiscard]] std::shared_ptr<const InService> in_service();

  // From now on reports the gateway as not ready; calls are served as before.
  void begin_stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

  // Makes every loop adopt the newest program, so that an idle loop does not keep an old one alive.
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
