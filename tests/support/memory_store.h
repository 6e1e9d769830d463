// MemoryStore: a Store in memory with the contract of the real one, and faults that a test injects.
// MemoryStores: one MemoryStore for each plugin.
//
// Any Thread, but the test sets hooks and faults only while nothing else uses the store. A hook
// runs without the store's lock, so it may use the store, move time or call die(). Between die()
// and revive(), every operation fails as `unavailable` and changes nothing, as if the process were
// dead.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <turnpike/call.h>
#include <turnpike/store.h>

#include "base/limits.h"
#include "records/rules.h"
#include "records/stores.h"

namespace turnpike::support {

class MemoryStore final : public Store {
 public:
  // The forced answer of an apply().
  enum class Fault : std::uint8_t {
    none,
    conflict,         // as if another writer had been faster: nothing is written
    unavailable,      // nothing is written
    unknown_applied,  // the answer is lost; the writes are done if the checks hold
    unknown_lost,     // the answer is lost; nothing is written
  };

  explicit MemoryStore(std::function<std::int64_t()> now_ms = [] { return std::int64_t{0}; })
      : now_ms_(std::move(now_ms)) {}

  // Queues a fault; each later apply() takes one, in order.
  void fail_next(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(fault);
  }
  // While true, get() and scan() fail.
  void fail_reads(bool fails) noexcept {
    const std::lock_guard lock(mutex_);
    reads_fail_ = fails;
  }
  void die() noexcept { set_dead(true); }
  void revive() noexcept { set_dead(false); }

  std::function<void()> before_apply;
  std::function<void()> after_apply;  // runs after the write, before the caller knows of it

  // All records (no Call is needed), and the number of applies that reached the store.
  [[nodiscard]] std::map<std::string, StoreRecord> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }
  [[nodiscard]] std::size_t applies() const {
    const std::lock_guard lock(mutex_);
    return applies_;
  }

  StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                     Call&) noexcept override {
    if (before_apply) before_apply();
    const StoreApplied applied = decide(checks, writes);
    if (after_apply) after_apply();
    const std::lock_guard lock(mutex_);
    // A caller that dies here never learns the result.
    return is_dead_ ? StoreApplied{} : applied;
  }

  Result<std::optional<StoreRecord>> get(std::string_view key, Call&) noexcept override {
    if (const auto fault = records::fault_of_key(key)) return misused(*fault);
    const std::lock_guard lock(mutex_);
    if (is_dead_ || reads_fail_) return away();
    const auto found = records_.find(std::string(key));
    if (found == records_.end()) return std::optional<StoreRecord>();
    return std::optional<StoreRecord>(found->second);
  }

  Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                        std::uint32_t limit, Call&) noexcept override {
    auto fault = records::fault_of_bound(prefix);
    if (!fault) fault = records::fault_of_bound(after);
    if (fault) return misused(*fault);
    const std::lock_guard lock(mutex_);
    if (is_dead_ || reads_fail_) return away();
    limit = std::min(limit, base::limits::store_scan_records_max);
    std::vector<StoreRecord> page;
    std::size_t bytes = 0;
    for (auto at = records_.lower_bound(std::string(prefix));
         at != records_.end() && at->first.starts_with(prefix) && page.size() < limit &&
         bytes < base::limits::store_scan_bytes_max;
         ++at) {
      if (!after.empty() && at->first <= after) continue;
      page.push_back(at->second);
      bytes += at->second.value.size();
    }
    return page;
  }

  [[nodiscard]] std::int64_t now_ms() const noexcept override { return now_ms_(); }

 private:
  static Failure misused(const std::string& fault) {
    return {FailureKind::plugin_fault, "the store was given " + fault, {}, false};
  }
  static Failure away() { return {FailureKind::unavailable, "the test said so", {}, false}; }

  void set_dead(bool is_dead) noexcept {
    const std::lock_guard lock(mutex_);
    is_dead_ = is_dead;
  }

  StoreApplied decide(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes) {
    const std::lock_guard lock(mutex_);
    if (is_dead_ || records::fault_of(checks, writes)) return {};
    ++applies_;
    Fault fault = Fault::none;
    if (!faults_.empty()) {
      fault = faults_.front();
      faults_.pop_front();
    }
    switch (fault) {
      case Fault::conflict:
        return {StoreOutcome::conflict, 0};
      case Fault::unavailable:
        return {};
      case Fault::unknown_lost:
        return {StoreOutcome::unknown, 0};
      case Fault::unknown_applied:
        (void)write(checks, writes);
        return {StoreOutcome::unknown, 0};
      case Fault::none:
        break;
    }
    return write(checks, writes);
  }

  StoreApplied write(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes) {
    for (const StoreCheck& check : checks) {
      const auto found = records_.find(std::string(check.key));
      const std::uint64_t version = found == records_.end() ? 0 : found->second.version;
      if (version != check.version) return {StoreOutcome::conflict, 0};
    }
    // Versions never repeat and are in no order that a plugin could rely on.
    last_version_ = (last_version_ * 6364136223846793005ull + 1442695040888963407ull);
    const std::uint64_t version = (last_version_ >> 1) | 1;
    for (const StoreWrite& write : writes) {
      const std::string key(write.key);
      if (write.value) {
        records_[key] = {key, std::string(*write.value), version};
      } else {
        records_.erase(key);
      }
    }
    return {StoreOutcome::applied, version};
  }

  const std::function<std::int64_t()> now_ms_;
  mutable std::mutex mutex_;
  std::map<std::string, StoreRecord> records_;
  std::deque<Fault> faults_;
  std::uint64_t last_version_ = 7;
  std::size_t applies_ = 0;
  bool reads_fail_ = false;
  bool is_dead_ = false;
};

class MemoryStores final : public records::Stores {
 public:
  // All Stores of one plugin share this one, as in the real implementation.
  MemoryStore& of(std::string_view plugin) {
    const std::lock_guard lock(mutex_);
    return stores_[std::string(plugin)];
  }
  std::unique_ptr<Store> store_of(std::string_view plugin) override {
    return std::make_unique<Shared>(of(plugin));
  }

 private:
  class Shared final : public Store {
   public:
    explicit Shared(MemoryStore& store) : store_(store) {}
    StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                       Call& call) noexcept override {
      return store_.apply(checks, writes, call);
    }
    Result<std::optional<StoreRecord>> get(std::string_view key, Call& call) noexcept override {
      return store_.get(key, call);
    }
    Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                          std::uint32_t limit, Call& call) noexcept override {
      return store_.scan(prefix, after, limit, call);
    }
    [[nodiscard]] std::int64_t now_ms() const noexcept override { return store_.now_ms(); }

   private:
    MemoryStore& store_;
  };

  std::mutex mutex_;
  std::map<std::string, MemoryStore> stores_;
};

}  // namespace turnpike::support
