#include "hosts/mcp/calls_in_flight.h"

#include <functional>

namespace turnpike::hosts::mcp {
namespace {

std::uint64_t hash_of(std::string_view credential, std::string_view id) noexcept {
  const std::hash<std::string_view> hash;
  return hash(credential) * 31 + hash(id);
}

}  // namespace

CallsInFlight::Call::Call(CallsInFlight& calls, std::string_view credential,
                          std::string_view id) noexcept
    : credential_(credential), id_(id), hash_(hash_of(credential, id)) {
  if (credential.empty() || id.empty()) return;
  if (auto* const fiber = runtime::Fiber::current()) fiber_ = fiber->handle();
  shard_ = &calls.shard_of(hash_);
  const std::lock_guard lock(shard_->mutex);
  next_ = shard_->first;
  if (next_ != nullptr) next_->previous_ = this;
  shard_->first = this;
}

CallsInFlight::Call::~Call() {
  if (shard_ == nullptr) return;
  const std::lock_guard lock(shard_->mutex);
  (previous_ == nullptr ? shard_->first : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

bool CallsInFlight::cancel(std::string_view credential, std::string_view id) noexcept {
  const std::uint64_t hash = hash_of(credential, id);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  Call* named = nullptr;
  for (Call* call = shard.first; call != nullptr; call = call->next_) {
    if (!call->is_named(hash, credential, id)) continue;
    if (named != nullptr) return false;
    named = call;
  }
  if (named == nullptr) return false;
  named->is_cancelled_.store(true, std::memory_order_release);
  // Called under the lock, so that the fiber cannot have begun another request.
  named->fiber_.cancel();
  return true;
}

}  // namespace turnpike::hosts::mcp
