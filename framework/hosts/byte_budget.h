// ByteBudget: how many bytes of requests may be in memory at once: of MCP messages, which are read
// before anybody is asked who sent them, and of bodies of calls, some of which nobody signs. Their
// number alone bounds too little. The last quarter is for short ones: a few callers who send long
// ones slowly do not keep everybody else out.
//
// Owned by the host; any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace turnpike::hosts {

class ByteBudget {
 public:
  static constexpr std::uint64_t short_bytes_max = 64 * 1024;  // nearly every one is

  explicit ByteBudget(std::uint64_t bytes_max)
      : kept_for_short_(static_cast<std::int64_t>(bytes_max / 4)),
        left_(static_cast<std::int64_t>(bytes_max)) {}

  // Given back when it is destroyed; the budget outlives it.
  class Share {
   public:
    Share(std::atomic<std::int64_t>& left, std::int64_t bytes) : left_(&left), bytes_(bytes) {}
    Share(Share&& other) noexcept
        : left_(std::exchange(other.left_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (left_ != nullptr) left_->fetch_add(bytes_, std::memory_order_relaxed);
    }

   private:
    std::atomic<std::int64_t>* left_;
    std::int64_t bytes_;
  };

  // Nothing when that much is not left.
  [[nodiscard]] std::optional<Share> take(std::uint64_t bytes) noexcept {
    const auto wanted = static_cast<std::int64_t>(bytes);
    const std::int64_t kept = bytes <= short_bytes_max ? 0 : kept_for_short_;
    std::int64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (left - wanted < kept) return std::nullopt;
    } while (!left_.compare_exchange_weak(left, left - wanted, std::memory_order_relaxed));
    return Share(left_, wanted);
  }

 private:
  const std::int64_t kept_for_short_;
  std::atomic<std::int64_t> left_;
};

}  // namespace turnpike::hosts
