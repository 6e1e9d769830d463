#include "x402/offers/offer_cache.h"

#include <atomic>
#include <functional>

namespace turnpike::x402 {
namespace {

// Threads are numbered in the order of their first call, over all caches.
constinit std::atomic<std::size_t> threads_so_far = 0;

std::size_t number_of_this_thread() noexcept {
  constexpr std::size_t none = ~std::size_t{0};
  static constinit thread_local std::size_t number = none;
  if (number == none) number = threads_so_far.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// The nodes of the list and the index, and the allocator's share.
constexpr std::size_t entry_overhead_bytes = 256;

}  // namespace

std::size_t OfferCache::Entry::bytes() const noexcept {
  return target.size() + text->size() + entry_overhead_bytes;
}

std::size_t OfferCache::KeyHash::operator()(const Key& key) const noexcept {
  // Operation and terms are ours, few and constant, so only path and query need a good hash.
  // Callers who find collisions make a chain no longer than a part has entries.
  const std::hash<std::string_view> hash;
  return hash(key.path) * 31 + hash(key.query) + (key.terms ^ key.operation);
}

OfferCache::OfferCache(std::uint32_t window_s, std::size_t bytes_max, std::size_t parts)
    : window_s_(window_s) {
  for (std::size_t at = 0; at < parts; ++at) {
    parts_.push_back(std::make_unique<Part>(bytes_max / parts));
  }
}
OfferCache::~OfferCache() = default;

OfferCache::Part& OfferCache::own_part() noexcept {
  return *parts_[number_of_this_thread() % parts_.size()];
}

std::size_t OfferCache::bytes() const {
  std::size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->bytes();
  return bytes;
}

OfferCache::Text OfferCache::Part::find(const Key& key, std::int64_t valid_until_s) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end() || found->second->valid_until_s != valid_until_s) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->text;
}

OfferCache::Text OfferCache::Part::keep(const Key& key, std::int64_t valid_until_s, Text text) {
  std::list<Entry> added;  // made before the lock is taken
  added.push_back({key, std::string(key.path).append(key.query), valid_until_s, text});
  Entry& entry = added.front();
  entry.key.path = std::string_view(entry.target).substr(0, key.path.size());
  entry.key.query = std::string_view(entry.target).substr(key.path.size());
  const std::lock_guard lock(mutex_);
  if (const auto known = index_.find(key); known != index_.end()) drop(known->second);
  entries_.splice(entries_.begin(), added);
  index_.emplace(entry.key, entries_.begin());
  bytes_ += entry.bytes();
  while (bytes_ > bytes_max_) drop(std::prev(entries_.end()));
  return text;
}

void OfferCache::Part::drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes();
  index_.erase(entry->key);
  entries_.erase(entry);
}

std::size_t OfferCache::Part::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace turnpike::x402
