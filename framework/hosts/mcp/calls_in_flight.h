// CallsInFlight: the calls of tools that are being answered, so that a `notifications/cancelled`,
// which comes in a POST of its own and on another connection, reaches the call that it names. Only
// the holder of the credential of a call can name the call: ids do not suffice, since every client
// counts them from 0.
//
// Owned by the host; any Thread. A Call lives on the stack of its fiber.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "runtime/fiber.h"

namespace turnpike::hosts::mcp {

class CallsInFlight {
  struct Shard;

 public:
  CallsInFlight() = default;
  CallsInFlight(const CallsInFlight&) = delete;
  CallsInFlight& operator=(const CallsInFlight&) = delete;

  class Call {
   public:
    // `credential` and `id` (JSON text) outlive the call; if either is empty, the call cannot be
    // named.
    Call(CallsInFlight& calls, std::string_view credential, std::string_view id) noexcept;
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // The caller has cancelled this call. Any Thread.
    [[nodiscard]] bool is_cancelled() const noexcept {
      return is_cancelled_.load(std::memory_order_acquire);
    }

   private:
    friend class CallsInFlight;
    [[nodiscard]] bool is_named(std::uint64_t hash, std::string_view credential,
                                std::string_view id) const noexcept {
      return hash_ == hash && id_ == id && credential_ == credential;
    }

    const std::string_view credential_;
    const std::string_view id_;
    const std::uint64_t hash_;
    runtime::FiberHandle fiber_;
    Shard* shard_ = nullptr;  // null: the call cannot be named
    Call* previous_ = nullptr;
    Call* next_ = nullptr;
    std::atomic<bool> is_cancelled_{false};
  };

  // Cancels the waits of the one call with this credential and id. False: there is no such call, or
  // there are several, from clients that share a credential. It is then unknown which client
  // cancelled, so all continue.
  bool cancel(std::string_view credential, std::string_view id) noexcept;

 private:
  // Many shards, so that loops rarely contend for one.
  struct alignas(64) Shard {
    std::mutex mutex;
    Call* first = nullptr;
  };
  [[nodiscard]] Shard& shard_of(std::uint64_t hash) noexcept {
    return shards_[hash % shards_.size()];
  }

  std::array<Shard, 64> shards_;
};

}  // namespace turnpike::hosts::mcp
