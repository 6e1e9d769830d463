// MemoryStore: a Store in memory with the contract of the real one, for tests of what stands on it,
// and faults that a test switches on. MemoryStores: one for each plugin.
//
// Any Thread; hooks and faults are set by the test while nobody else uses the store. A hook runs
// without the store's lock, so it may use the store, move time or let the process "die": from die()
// on every operation fails as `unavailable` and changes nothing, until revive().
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
  // What the next apply() answers, whatever would become of it.
  enum class Fault : std::uint8_t {
    none,
    conflict,         // as if another had been faster: nothing is done
    unavailable,      // nothing is done
    unknown_applied,  // the answer is lost, what it asked for is done (if its checks hold)
    unknown_lost,     // the answer is lost, nothing is done
  };

  explicit MemoryStore(std::function<std::int64_t()> now_ms = [] { return std::int64_t{0}; })
      : now_ms_(std::move(now_ms)) {}

  // Of the applies to come, in order.
  void fail_next(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(fault);
  }
  // get() and scan() fail.
  void fail_reads(bool fails) noexcept {
    const std::lock_guard lock(mutex_);
    reads_fail_ = fails;
  }
  void die() noexcept { set_dead(true); }
  void revive() noexcept { set_dead(false); }

  std::function<void()> before_apply;
  std::function<void()> after_apply;  // it is done, its caller does not know yet

  // Everything in it, without a Call; and how many applies came.
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
    // Never used again, and in no order that a plugin could lean on.
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
  // The same for every Store of one plugin, as in the real one.
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
