// OriginPool: the upstream connections of one loop, by origin: idle ones to reuse, and the cap on
// open ones. The pool that all plain Threads share is the same with a lock, which is never held
// across a wait.
//
// Owned by the Client; a loop's pool is used by its Thread only, the shared one by plain Threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/loop.h"
#include "runtime/wait.h"
#include "wire/address.h"
#include "wire/upstream_connection.h"

namespace turnpike::wire {

// The key of a pooled connection: a request reuses one with an equal key.
struct OriginKey {
  std::string_view authority;
  std::uint32_t connections_max;
  bool is_tls;
  bool allows_private;
};

struct Origin {
  Origin(const OriginKey& key, std::string_view host_name, std::uint16_t port_number)
      : authority(key.authority),
        host(host_name),
        port(port_number),
        connections_max(key.connections_max),
        is_tls(key.is_tls),
        allows_private(key.allows_private),
        literal(parse_address(host, port)),
        seats(key.connections_max) {}
  [[nodiscard]] OriginKey key() const noexcept {
    return {authority, connections_max, is_tls, allows_private};
  }

  const std::string authority;
  const std::string host;
  const std::uint16_t port;
  const std::uint32_t connections_max;
  const bool is_tls;
  const bool allows_private;
  const std::optional<Address> literal;  // set if the host is an IP address

  runtime::Semaphore seats;  // for calls that hold or open a connection
  std::uint32_t calls = 0;   // calls that use this object, including waiting ones
  std::int64_t last_used_ns = 0;
  std::vector<std::unique_ptr<UpstreamConnection>> idle;  // most recently used last

  runtime::Mutex resolving;  // guards the two members below
  std::vector<Address> addresses;
  std::int64_t addresses_until_ns = 0;
};

struct OriginPoolBounds {
  std::uint32_t origins_max;
  std::uint32_t idle_connection_ms;
};

class OriginPool {
 public:
  // Null loop: the pool of the plain Threads.
  OriginPool(const OriginPoolBounds& bounds, runtime::Loop* loop);
  ~OriginPool();  // REQUIRES: clear() was called on a loop's pool
  OriginPool(const OriginPool&) = delete;
  OriginPool& operator=(const OriginPool&) = delete;

  // The origin, for the duration of a call, which ends with leave(). Null when there are too many
  // origins.
  Origin* enter(const OriginKey& key, std::string_view host, std::uint16_t port);
  void leave(Origin& origin) noexcept;

  // An idle connection that seems alive, or null.
  std::unique_ptr<UpstreamConnection> take(Origin& origin) noexcept;
  // Closes the longest idle connection if there are as many as the cap.
  void make_room(Origin& origin) noexcept;
  void give_back(std::unique_ptr<UpstreamConnection> connection) noexcept;
  // Called by a connection that was closed or broken while idle.
  void remove_idle(UpstreamConnection& connection) noexcept;
  // Closes all idle connections and keeps none from now on.
  void clear() noexcept;

 private:
  static void on_timer(void* pool) noexcept;
  void close_old(std::int64_t now_ns) noexcept;
  bool evict_one() noexcept;
  [[nodiscard]] std::unique_lock<std::mutex> guard() noexcept;
  // On a loop the start of its turn is precise enough, and saves a clock read.
  [[nodiscard]] std::int64_t now_ns() const noexcept {
    return loop_ == nullptr ? runtime::now_ns() : loop_->turn_ns();
  }

  const OriginPoolBounds bounds_;
  runtime::Loop* const loop_;
  std::mutex mutex_;
  bool is_cleared_ = false;
  std::unordered_multimap<std::size_t, std::unique_ptr<Origin>> origins_;  // by hash of the key
  std::optional<runtime::Timer> timer_;
};

}  // namespace turnpike::wire
