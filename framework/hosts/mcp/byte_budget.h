// ByteBudget: how many bytes of messages may be in memory at once. Messages are read before anybody
// is asked who sent them, so their number alone bounds nothing.
//
// Owned by the host; any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace turnpike::hosts::mcp {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes_max) : left_(static_cast<std::int64_t>(bytes_max)) {}

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
    if (left_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return Share(left_, wanted);
    left_.fetch_add(wanted, std::memory_order_relaxed);
    return std::nullopt;
  }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace turnpike::hosts::mcp
