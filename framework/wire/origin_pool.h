// OriginPool: the upstream connections of one loop, by origin: idle ones to use again, and the cap
// on how many are open. The one that all plain Threads share is the same with a lock, which is
// never held across a wait.
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

// The key of a pooled connection: a request uses one whose key is equal.
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
  const std::optional<Address> literal;  // the host is an address

  runtime::Semaphore seats;  // calls that hold a connection, or open one
  std::uint32_t calls = 0;   // that use this object, the waiting ones included
  std::int64_t last_used_ns = 0;
  std::vector<std::unique_ptr<UpstreamConnection>> idle;  // the last one rested last

  runtime::Mutex resolving;  // guards the two below
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

  // The origin, for the time of a call; leave() ends it. Null when there are too many origins.
  Origin* enter(const OriginKey& key, std::string_view host, std::uint16_t port);
  void leave(Origin& origin) noexcept;

  // An idle connection that seems alive, or null.
  std::unique_ptr<UpstreamConnection> take(Origin& origin) noexcept;
  // Room for one more: closes the idle connection that rested longest when there are that many.
  void make_room(Origin& origin) noexcept;
  void give_back(std::unique_ptr<UpstreamConnection> connection) noexcept;
  // By the connection itself, when its idleness ended badly.
  void remove_idle(UpstreamConnection& connection) noexcept;
  // Closes all that is idle and keeps nothing from now on.
  void clear() noexcept;

 private:
  static void on_timer(void* pool) noexcept;
  void close_old(std::int64_t now_ns) noexcept;
  bool evict_one() noexcept;
  [[nodiscard]] std::unique_lock<std::mutex> guard() noexcept;
  // On a loop the beginning of its turn is close enough, and saves asking the clock.
  [[nodiscard]] std::int64_t now_ns() const noexcept {
    return loop_ == nullptr ? runtime::now_ns() : loop_->turn_ns();
  }

  const OriginPoolBounds bounds_;
  runtime::Loop* const loop_;
  std::mutex mutex_;
  bool is_cleared_ = false;
  std::unordered_multimap<std::size_t, std::unique_ptr<Origin>> origins_;  // by hash_of() the key
  std::optional<runtime::Timer> timer_;
};

}  // namespace turnpike::wire
