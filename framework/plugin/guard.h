// Guard: the only way to call into a plugin. It returns the objects of the plugin's slots wrapped,
// so users of the SDK's interfaces go through it without knowing. It enforces the interface
// (CheckedSink), counts calls, and runs blocking code away from the loops:
//
//   cooperative  on the calling fiber
//   blocking     on the runtime's pool, within this plugin's share of it. The plugin writes into a
//                bounded buffer that the caller drains, never to the caller's socket. At the
//                deadline the caller leaves with `timeout`; the call itself owns copies of its
//                arguments, so they are still valid when a stuck plugin continues.
//
// Objects of a caller that left are not leaked: a lane's ticket gets exactly one end however full
// the pool is, at the latest when the pool stops (lane_guard.cpp), and no destructor of an upstream
// or a bound lane runs on a loop.
//
// A cooperative plugin that stalls its loop too often is moved to the pool, too (note_stall()).
//
// One per plugin, owned by the Catalog, outlives every object it wrapped. Any fiber, any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <turnpike/abi.h>
#include <turnpike/lane.h>
#include <turnpike/processor.h>
#include <turnpike/provider.h>

#include "base/log.h"
#include "base/metrics.h"
#include "runtime/pool.h"

namespace turnpike::plugin {

struct GuardOptions {
  std::uint32_t pool_threads_max = 2;  // threads that calls of one plugin may occupy at a time
  std::uint32_t pool_queued_max = 256;
  std::uint32_t stalls_max = 3;  // per minute; a further one moves a cooperative plugin to the pool
};

// The parts of the gateway that a Guard uses; all of them outlive it.
struct GuardSurroundings {
  runtime::BlockingPool& pool;
  base::Log& log;
  base::Metrics& metrics;
};

class Guard {
 public:
  // `number` tags the fibers that run the plugin's code, for the watchdog; not 0.
  Guard(std::string name, std::uint32_t number, Execution execution,
        const GuardSurroundings& surroundings, const GuardOptions& options);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // The wrapped object must outlive the returned one and all objects that it returned.
  [[nodiscard]] std::unique_ptr<Provider> wrap(Provider& provider);
  [[nodiscard]] std::unique_ptr<Lane> wrap(Lane& lane);
  [[nodiscard]] std::unique_ptr<Processor> wrap(Processor& processor);

  // Records that the watchdog saw this plugin hold up a loop; for the watchdog's Thread alone.
  void note_stall(std::int64_t now_ns) noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  // True if calls run on the pool: the plugin is blocking, or was demoted.
  [[nodiscard]] bool uses_pool() const noexcept {
    return uses_pool_.load(std::memory_order_relaxed);
  }
  // Number of callers inside or waiting for the plugin.
  [[nodiscard]] std::uint32_t in_flight() const noexcept {
    return in_flight_.load(std::memory_order_relaxed);
  }
  // Running and abandoned calls on the pool.
  [[nodiscard]] runtime::PoolUser::Counts pool_counts() const { return pool_user_.counts(); }

  // The next three functions are for the wrapped objects.
  [[nodiscard]] runtime::BlockingPool& pool() noexcept { return pool_; }
  [[nodiscard]] const runtime::PoolUser& pool_user() const noexcept { return pool_user_; }
  // Counts a finished call and returns its result, with the plugin's name in a failure's message.
  // Faults of the plugin itself are also logged; `request_id` is empty outside of requests.
  [[nodiscard]] Done finish(Done done, std::string_view request_id) noexcept;

  // Counts a caller while it is inside the plugin or waits for it.
  class Visit {
   public:
    explicit Visit(Guard& guard) noexcept;
    ~Visit() { guard_.in_flight_.fetch_sub(1, std::memory_order_relaxed); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Guard& guard_;
  };

  // Tags the running fiber with the plugin's number while the plugin's code runs on it.
  class Tag {
   public:
    explicit Tag(const Guard& guard) noexcept;
    ~Tag();
    Tag(const Tag&) = delete;
    Tag& operator=(const Tag&) = delete;

   private:
    runtime::Fiber* fiber_;
    std::uint32_t outer_ = 0;
  };

 private:
  static constexpr std::size_t kinds = static_cast<std::size_t>(FailureKind::plugin_fault) + 1;

  const std::string name_;
  const std::uint32_t number_;
  const std::uint32_t stalls_max_;
  runtime::BlockingPool& pool_;
  runtime::PoolUser pool_user_;
  base::Log& log_;
  base::Counter* calls_ = nullptr;
  base::Counter* failures_[kinds] = {};
  std::atomic<bool> uses_pool_;
  std::atomic<std::uint32_t> in_flight_{0};
  std::uint32_t stalls_ = 0;  // since stalls_since_ns_
  std::int64_t stalls_since_ns_ = 0;
};

std::string_view name_of(FailureKind kind) noexcept;

}  // namespace turnpike::plugin
