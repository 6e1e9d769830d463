// ByteBudget: a bound on the bytes of requests that are in memory at once. It covers MCP messages,
// which are read before their sender is known, and bodies of calls, some of which are anonymous. A
// bound on the number of requests would not suffice. A request takes its share as its bytes arrive,
// not when it announces them, so that announcements cannot keep others out.
//
// Three quarters are the open part, for all clients. The rest is reserved for callers with a valid
// credential, for when the open part is full. A network may hold at most an eighth of the open
// part, and an account at most an eighth of the reserved part (or one longest request, if that is
// more). The last quarter of each part is for the first bytes of requests. Most requests are no
// longer than that, so a few clients that send long requests slowly do not starve the others.
//
// Owned by the host; any Thread. A Share is used by the fiber of its request.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace turnpike::hosts {

class ByteBudget {
 public:
  static constexpr std::uint64_t short_bytes_max = 64 * 1024;  // most requests are no longer

  // `one_bytes_max`: the length of a request that always fits. Longer requests, up to `longest`,
  // fit where an eighth of the budget is enough for them.
  ByteBudget(std::uint64_t bytes_max, std::uint64_t one_bytes_max, std::uint64_t longest)
      : ByteBudget(bytes_max, std::max(one_bytes_max, std::min(bytes_max / 8, longest))) {}
  // `one_bytes_max`: the length of the longest request.
  ByteBudget(std::uint64_t bytes_max, std::uint64_t one_bytes_max)
      : open_(bytes_max - bytes_max / 4, one_bytes_max), kept_(bytes_max / 4, one_bytes_max) {}

  // The bytes that one request holds; its destructor gives them back. The budget outlives it.
  class Share {
   public:
    // `network`: the client's, see wire::Request::peer_network().
    Share(ByteBudget& budget, std::uint64_t network) noexcept
        : budget_(budget), network_(network) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
      if (open_bytes_ > 0) budget_.open_.give_back(network_, open_bytes_);
      if (kept_bytes_ > 0) budget_.kept_.give_back(account_, kept_bytes_);
    }

    // Returns false, having taken nothing, when the open part has no room.
    [[nodiscard]] bool grow(std::uint64_t bytes) noexcept {
      if (!budget_.open_.take(network_, bytes, is_short(bytes))) return false;
      open_bytes_ += bytes;
      return true;
    }
    // The same for the reserved part. REQUIRES: `account` is the owner of the credential, the same
    // at each call.
    [[nodiscard]] bool grow_kept(std::uint64_t account, std::uint64_t bytes) noexcept {
      if (!budget_.kept_.take(account, bytes, is_short(bytes))) return false;
      account_ = account;
      kept_bytes_ += bytes;
      return true;
    }

   private:
    [[nodiscard]] bool is_short(std::uint64_t more) const noexcept {
      return open_bytes_ + kept_bytes_ + more <= short_bytes_max;
    }

    ByteBudget& budget_;
    const std::uint64_t network_;
    std::uint64_t account_ = 0;
    std::uint64_t open_bytes_ = 0;
    std::uint64_t kept_bytes_ = 0;
  };

 private:
  class Part {
   public:
    Part(std::uint64_t bytes, std::uint64_t one_bytes_max)
        : for_short_(bytes / 4),
          holder_bytes_max_(std::max(bytes / 8, one_bytes_max)),
          left_(static_cast<std::int64_t>(bytes)) {}

    [[nodiscard]] bool take(std::uint64_t holder, std::uint64_t bytes, bool is_short) noexcept {
      auto& held = held_by(holder);
      if (held.fetch_add(bytes, relaxed) + bytes > holder_bytes_max_) {
        held.fetch_sub(bytes, relaxed);
        return false;
      }
      const auto wanted = static_cast<std::int64_t>(bytes);
      const auto spared = is_short ? 0 : static_cast<std::int64_t>(for_short_);
      if (left_.fetch_sub(wanted, relaxed) - wanted >= spared) return true;
      give_back(holder, bytes);
      return false;
    }
    void give_back(std::uint64_t holder, std::uint64_t bytes) noexcept {
      left_.fetch_add(static_cast<std::int64_t>(bytes), relaxed);
      held_by(holder).fetch_sub(bytes, relaxed);
    }

   private:
    static constexpr auto relaxed = std::memory_order_relaxed;
    static constexpr int slot_bits = 10;

    // Holders whose numbers hash to one slot share its bound: about one pair in a thousand.
    [[nodiscard]] std::atomic<std::uint64_t>& held_by(std::uint64_t holder) noexcept {
      return held_[holder * 0x9E3779B97F4A7C15u >> (64 - slot_bits)];  // Fibonacci hashing
    }

    const std::uint64_t for_short_;
    const std::uint64_t holder_bytes_max_;
    std::atomic<std::int64_t> left_;
    std::array<std::atomic<std::uint64_t>, 1u << slot_bits> held_{};
  };

  Part open_;
  Part kept_;
};

}  // namespace turnpike::hosts
