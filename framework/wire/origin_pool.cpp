#include "wire/origin_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace turnpike::wire {
namespace {

using runtime::Deadline;

bool same(const OriginKey& left, const OriginKey& right) noexcept {
  return left.authority == right.authority && left.connections_max == right.connections_max &&
         left.is_tls == right.is_tls && left.allows_private == right.allows_private;
}

std::size_t hash_of(const OriginKey& key) noexcept {
  return std::hash<std::string_view>()(key.authority) ^ (std::size_t{key.connections_max} << 2) ^
         (key.is_tls ? 1u : 0u) ^ (key.allows_private ? 2u : 0u);
}

}  // namespace

OriginPool::OriginPool(const OriginPoolBounds& bounds, runtime::Loop* loop)
    : bounds_(bounds), loop_(loop) {
  if (loop != nullptr) timer_.emplace(*loop, &OriginPool::on_timer, this);
}

OriginPool::~OriginPool() = default;

std::unique_lock<std::mutex> OriginPool::guard() noexcept {
  return loop_ == nullptr ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

Origin* OriginPool::enter(const OriginKey& key, std::string_view host, std::uint16_t port) {
  const auto lock = guard();
  const std::size_t hash = hash_of(key);
  const auto [first, last] = origins_.equal_range(hash);
  auto found = std::find_if(first, last,
                            [&key](const auto& entry) { return same(entry.second->key(), key); });
  if (found == last) {
    if (origins_.size() >= bounds_.origins_max && !evict_one()) return nullptr;
    found = origins_.emplace(hash, std::make_unique<Origin>(key, host, port));
  }
  Origin& origin = *found->second;
  ++origin.calls;
  return &origin;
}

void OriginPool::leave(Origin& origin) noexcept {
  const auto lock = guard();
  --origin.calls;
  origin.last_used_ns = now_ns();
}

// Evicts the unused origin that was used longest ago.
bool OriginPool::evict_one() noexcept {
  auto oldest = origins_.end();
  for (auto entry = origins_.begin(); entry != origins_.end(); ++entry) {
    if (entry->second->calls > 0) continue;
    if (oldest == origins_.end() || entry->second->last_used_ns < oldest->second->last_used_ns) {
      oldest = entry;
    }
  }
  if (oldest == origins_.end()) return false;
  origins_.erase(oldest);
  return true;
}

std::unique_ptr<UpstreamConnection> OriginPool::take(Origin& origin) noexcept {
  const auto lock = guard();
  const std::int64_t oldest_ns = now_ns() - std::int64_t{bounds_.idle_connection_ms} * 1'000'000;
  while (!origin.idle.empty()) {
    std::unique_ptr<UpstreamConnection> connection = std::move(origin.idle.back());
    origin.idle.pop_back();
    if (connection->rouse() && connection->idle_since_ns() > oldest_ns) return connection;
  }
  return nullptr;
}

void OriginPool::make_room(Origin& origin) noexcept {
  const auto lock = guard();
  if (!origin.idle.empty() && origin.idle.size() >= origin.connections_max) {
    origin.idle.erase(origin.idle.begin());
  }
}

void OriginPool::give_back(std::unique_ptr<UpstreamConnection> connection) noexcept {
  const auto lock = guard();
  const std::int64_t now = now_ns();
  if (loop_ == nullptr) close_old(now);
  Origin& origin = connection->origin();
  if (is_cleared_ || origin.idle.size() >= origin.connections_max) return;
  if (!connection->rest(now)) return;
  try {
    origin.idle.push_back(std::move(connection));
  } catch (...) {  // out of memory: the connection closes
    return;
  }
  if (timer_ && !timer_->armed()) {
    timer_->arm(Deadline{now + std::int64_t{bounds_.idle_connection_ms} * 1'000'000});
  }
}

void OriginPool::remove_idle(UpstreamConnection& connection) noexcept {
  auto& idle = connection.origin().idle;
  const auto found = std::find_if(idle.begin(), idle.end(), [&connection](const auto& entry) {
    return entry.get() == &connection;
  });
  if (found == idle.end()) return;
  const std::unique_ptr<UpstreamConnection> removed = std::move(*found);
  idle.erase(found);
}

void OriginPool::on_timer(void* object) noexcept {
  auto& pool = *static_cast<OriginPool*>(object);
  const std::int64_t now = pool.now_ns();
  pool.close_old(now);
  const bool has_idle = std::any_of(pool.origins_.begin(), pool.origins_.end(),
                                    [](const auto& entry) { return !entry.second->idle.empty(); });
  // A connection then lives at most half of the limit too long.
  if (has_idle) {
    pool.timer_->arm(Deadline{now + std::int64_t{pool.bounds_.idle_connection_ms} * 500'000});
  }
}

void OriginPool::close_old(std::int64_t now) noexcept {
  const std::int64_t oldest_ns = now - std::int64_t{bounds_.idle_connection_ms} * 1'000'000;
  for (auto& entry : origins_) {
    std::erase_if(entry.second->idle, [oldest_ns](const auto& connection) {
      return connection->idle_since_ns() <= oldest_ns;
    });
  }
}

void OriginPool::clear() noexcept {
  const auto lock = guard();
  is_cleared_ = true;
  for (auto& entry : origins_) entry.second->idle.clear();
  if (timer_) timer_->disarm();
}

}  // namespace turnpike::wire
