// InFlight: a capped count of calls in progress: of a loop, of an account, or to an upstream. A
// call beyond the cap is refused at once; nothing waits. Owned by the object whose calls it counts,
// which outlives every seat; any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace turnpike::runtime {

class InFlight {
 public:
  explicit InFlight(std::uint32_t cap) noexcept : cap_(cap) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // One counted call; the destructor frees its place. False when there was no place.
  class Seat {
   public:
    Seat() noexcept = default;
    Seat(Seat&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Seat& operator=(Seat&& other) noexcept {
      std::swap(owner_, other.owner_);
      return *this;
    }
    ~Seat() {
      if (owner_ != nullptr) owner_->count_.fetch_sub(1, std::memory_order_relaxed);
    }
    explicit operator bool() const noexcept { return owner_ != nullptr; }

   private:
    friend class InFlight;
    explicit Seat(InFlight& owner) noexcept : owner_(&owner) {}
    InFlight* owner_ = nullptr;
  };

  [[nodiscard]] Seat try_enter() noexcept { return try_enter_leaving(0); }
  // For less urgent calls: succeeds only while this many places are left for others.
  [[nodiscard]] Seat try_enter_leaving(std::uint32_t places) noexcept {
    const std::uint64_t taken = count_.fetch_add(1, std::memory_order_relaxed);
    if (taken + places < cap_) return Seat(*this);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return {};
  }
  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

 private:
  const std::uint32_t cap_;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace turnpike::runtime
