// TransferSlots: limits the number of heavy replies (over base::limits::heavy_transfer_bytes) in
// progress on the node. A further reply waits a little, then is refused.
//
// Owned by app/, outlives every Slot; acquire() suspends the calling fiber or blocks a plain
// Thread; any Thread.
#pragma once

#include <cstdint>
#include <utility>

#include "base/limits.h"
#include "runtime/deadline.h"
#include "runtime/wait.h"

namespace turnpike::exchange {

class TransferSlots {
 public:
  explicit TransferSlots(std::uint32_t slots = base::limits::heavy_transfers_max,
                         std::uint32_t wait_ms = base::limits::heavy_transfer_wait_ms) noexcept
      : free_(slots), wait_ms_(wait_ms) {}

  class Slot {
   public:
    Slot() noexcept = default;
    Slot(Slot&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Slot& operator=(Slot&& other) noexcept {
      std::swap(owner_, other.owner_);
      return *this;
    }
    ~Slot() {
      if (owner_ != nullptr) owner_->free_.release();
    }
    explicit operator bool() const noexcept { return owner_ != nullptr; }

   private:
    friend class TransferSlots;
    explicit Slot(TransferSlots& owner) noexcept : owner_(&owner) {}
    TransferSlots* owner_ = nullptr;
  };

  // Empty when no slot became free in time.
  [[nodiscard]] Slot acquire(runtime::Deadline until) noexcept {
    if (free_.try_acquire()) return Slot(*this);
    const auto patience = runtime::Deadline::after_ms(wait_ms_).earlier(until);
    return free_.acquire(patience) == runtime::Wake::ready ? Slot(*this) : Slot();
  }

 private:
  runtime::Semaphore free_;
  const std::uint32_t wait_ms_;
};

}  // namespace turnpike::exchange
