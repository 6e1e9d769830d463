#include "quota/node_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_name.h"
#include "quota/permits.h"
#include "runtime/wait.h"

namespace turnpike::quota {
namespace {

constexpr std::size_t shard_count = 256;
constexpr std::uint32_t ahead_max = 1'024;   // grants by which a row may be written ahead
constexpr std::uint32_t ahead_divisor = 16;  // and at most this fraction of a limit
constexpr std::uint32_t ahead_ms = 200;      // a caller's requests of this time are covered
constexpr std::int64_t gather_ms = 2;        // requests of this time share a transaction
constexpr std::int64_t pause_ms = 50;        // of the keeper without work
constexpr std::int64_t retry_ms = 250;       // after a failed write
constexpr std::size_t reclaimed_a_round = 2'048;
constexpr std::size_t looked_at_in_one_lock = 64;  // buckets of the hash table
constexpr std::uint32_t dropped_at_a_time = 1'000;
constexpr std::int64_t drop_interval_ms = 1'000;
constexpr std::uint32_t load_threads_max = 4;
constexpr std::uint32_t load_queue_max = 4'096;

base::Error unavailable() {
  return {base::ErrorCode::gateway_free_unavailable,
          "The limits of the free variant cannot be checked now.", 1};
}

// Requests that wait for one transaction.
struct Batch {
  runtime::Event done;
  bool is_written = false;  // set before `done`
};

struct KeyView {
  std::string_view account_id;
  const Bucket* bucket;
  std::size_t hash;

  KeyView(std::string_view account, const Bucket& of)
      : account_id(account),
        bucket(&of),
        hash(std::hash<std::string_view>()(account) ^
             (reinterpret_cast<std::uintptr_t>(&of) >> 4) * 0x9E3779B97F4A7C15u) {}
};

struct Key {
  std::string account_id;
  const Bucket* bucket;
  std::size_t hash;
  explicit Key(const KeyView& view)
      : account_id(view.account_id), bucket(view.bucket), hash(view.hash) {}
};

struct KeyHash {
  using is_transparent = void;
  template <class K>
  std::size_t operator()(const K& key) const noexcept {
    return key.hash;
  }
};

struct KeyEqual {
  using is_transparent = void;
  template <class L, class R>
  bool operator()(const L& left, const R& right) const noexcept {
    return left.bucket == right.bucket &&
           std::string_view(left.account_id) == std::string_view(right.account_id);
  }
};

// One account in one bucket; a million entries must fit into 300 MB. The grants of a window are
// numbered by its count.
struct Entry {
  Counts counts;
  Permits permits;
  std::int64_t idle_at_ms = 0;  // end of its windows
  std::uint32_t safe = 0;       // grants up to this number are durable
  std::uint32_t mark = 0;       // durable once the current write has succeeded
  std::uint32_t marked_ms = 0;  // time of its last row, modulo 2^32
  std::uint32_t handles = 0;    // Permit objects that refer to the entry
  std::uint16_t ahead = 0;      // grants by which the last row was ahead
  std::uint16_t ahead_limit = 0;
  bool is_dirty = false;    // in Shard::dirty
  bool is_writing = false;  // in the current batch
  bool keeps = false;       // has a cumulative limit: its row never ends
};

using Entries = std::unordered_map<Key, Entry, KeyHash, KeyEqual>;

struct alignas(64) Shard {
  mutable std::mutex mutex;
  Entries entries;
  std::vector<Entries::value_type*> dirty;
  std::shared_ptr<Batch> next;     // collects dirty entries
  std::shared_ptr<Batch> writing;  // the batch being written
  std::size_t cursor = 0;          // of reclaim(): a bucket of the hash table
  runtime::Mutex loading;          // serializes reading of rows; held across the wait
};

class NodePermit final : public Permit {
 public:
  NodePermit(Shard& shard, Entry& entry, std::uint64_t number, std::shared_ptr<Batch> batch)
      : shard_(shard), entry_(entry), number_(number), batch_(std::move(batch)) {}
  ~NodePermit() override {
    const std::lock_guard lock(shard_.mutex);
    entry_.permits.give_back(number_);
    --entry_.handles;
  }

  Result<Unit, base::Error> confirm(runtime::Deadline deadline) override {
    if (batch_ == nullptr) return Unit{};
    if (batch_->done.wait(deadline) == runtime::Wake::ready && batch_->is_written) return Unit{};
    return unavailable();
  }

 private:
  Shard& shard_;
  Entry& entry_;  // valid while `handles` counts this object
  const std::uint64_t number_;
  const std::shared_ptr<Batch> batch_;  // null: durable already, or not durable at all
};

std::uint16_t ahead_limit_of(const Limits& limits) noexcept {
  std::uint64_t least = limits.window.limit;
  if (limits.quota) least = std::min<std::uint64_t>(least, limits.quota->limit);
  if (limits.cumulative_limit) least = std::min(least, *limits.cumulative_limit);
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(ahead_max, least / ahead_divisor));
}

// The number of grants by which an entry's next row, `passed_ms` after its last row, is ahead: at
// most about twice the last number, and at most the grants expected within ahead_ms.
std::uint16_t ahead_of(const Entry& entry, std::uint32_t passed_ms) noexcept {
  const std::uint32_t granted_then = entry.mark > entry.ahead ? entry.mark - entry.ahead : 0;
  const std::uint64_t granted = entry.counts.window - granted_then;
  const std::uint64_t soon = granted * ahead_ms / std::max(1u, passed_ms);
  return static_cast<std::uint16_t>(
      std::min({soon, 2u * std::uint64_t{entry.ahead} + 1, std::uint64_t{entry.ahead_limit}}));
}

std::int64_t end_of_windows_ms(const Limits& limits, const Counts& counts) noexcept {
  const std::int64_t window_ms = end_ms(counts.window_start_s, limits.window);
  if (!limits.quota) return window_ms;
  return std::max(window_ms, end_ms(counts.quota_start_s, *limits.quota));
}

}  // namespace

struct NodeStore::Machine {
  Machine(const Clock& time, std::optional<Durable> with) : clock(time), durable(with) {
    for (Shard& shard : shards) shard.next = std::make_shared<Batch>();
    if (durable) user = durable->pool.add_user("quota", load_threads_max, load_queue_max);
  }

  Shard& shard_of(const KeyView& key) noexcept {
    // The upper bits: the hash table uses the lower ones.
    return shards[(key.hash * 0x9E3779B97F4A7C15u) >> 56];
  }
  std::int64_t now_ms() noexcept {
    const std::int64_t now = clock.now_ms();
    std::int64_t latest = latest_ms.load(std::memory_order_relaxed);
    while (now > latest && !latest_ms.compare_exchange_weak(latest, now)) {
    }
    return std::max(now, latest);
  }

  Result<Counts, base::Error> stored(const KeyView& key, runtime::Deadline deadline);
  Result<Unit, base::Error> load(Shard& shard, const KeyView& key, runtime::Deadline deadline);
  Decision decide(Shard& shard, Entries::value_type& item, const Limits& limits);
  std::shared_ptr<Batch> cover(Shard& shard, Entries::value_type& item);
  void make_dirty(Shard& shard, Entries::value_type& item, bool is_awaited);
  Standing look(Entry& entry, const Limits& limits);
  CounterRow row_of(Entries::value_type& item, std::uint32_t ahead) const;

  bool collect(std::int64_t now);
  bool write();
  void settle(bool is_written);
  void write_exactly();
  void keep();
  void drop_ended();
  void reclaim(std::size_t entries);
  void reclaim_chain(Shard& shard, std::int64_t now);

  const Clock& clock;
  const std::optional<Durable> durable;
  runtime::PoolUser user;
  Buckets buckets;
  std::array<Shard, shard_count> shards;
  std::atomic<std::int64_t> latest_ms{0};
  std::atomic<bool> is_failing{false};
  std::atomic<bool> is_stopping{false};
  runtime::Event wanted;  // a write is awaited, or stop
  std::thread keeper;

  // Used by the keeper only.
  std::vector<CounterRow> rows;
  std::vector<std::pair<Shard*, Entries::value_type*>> written;
  std::int64_t tidy_at_ns = 0;
  std::int64_t drop_at_ms = 0;
  std::mutex reclaim_mutex;
  std::size_t reclaim_shard = 0;  // guarded by reclaim_mutex, as the next
  std::vector<Entries::node_type> forgotten;
};

NodeStore::NodeStore(const Clock& clock, std::optional<Durable> durable)
    : machine_(std::make_unique<Machine>(clock, durable)) {}

NodeStore::~NodeStore() {
  machine_->is_stopping.store(true);
  machine_->wanted.set();
  if (!machine_->keeper.joinable()) return;
  machine_->keeper.join();
  machine_->write_exactly();
}

Result<Unit, base::Error> NodeStore::start() {
  if (machine_->durable) {
    const auto latest = machine_->durable->counters.begin_term();
    if (!latest.ok()) return latest.error();
    machine_->latest_ms.store(*latest);
  }
  machine_->keeper = std::thread([machine = machine_.get()] { machine->keep(); });
  return Unit{};
}

const Bucket& NodeStore::bucket(std::string_view key) { return machine_->buckets.find_or_add(key); }

Result<Decision, base::Error> NodeStore::take(std::string_view account_id, const Bucket& bucket,
                                              const Limits& limits, runtime::Deadline deadline) {
  const KeyView key(account_id, bucket);
  Shard& shard = machine_->shard_of(key);
  if (machine_->is_failing.load(std::memory_order_relaxed)) return unavailable();
  while (true) {
    {
      const std::lock_guard lock(shard.mutex);
      const auto found = shard.entries.find(key);
      if (found != shard.entries.end()) return machine_->decide(shard, *found, limits);
    }
    // The entry may be reclaimed again before the next look-up; then it is read again.
    if (auto loaded = machine_->load(shard, key, deadline); !loaded.ok()) return loaded.error();
  }
}

Result<Standing, base::Error> NodeStore::read(std::string_view account_id, const Bucket& bucket,
                                              const Limits& limits, runtime::Deadline deadline) {
  const KeyView key(account_id, bucket);
  Shard& shard = machine_->shard_of(key);
  // Another gateway may be counting now, so the entries here may be outdated.
  if (machine_->is_failing.load(std::memory_order_relaxed)) return unavailable();
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.entries.find(key);
    if (found != shard.entries.end()) return machine_->look(found->second, limits);
  }
  auto stored = machine_->stored(key, deadline);
  if (!stored.ok()) return stored.error();
  Entry entry;
  entry.counts = *stored;
  return machine_->look(entry, limits);
}

void NodeStore::reclaim(std::size_t entries) { machine_->reclaim(entries); }

std::size_t NodeStore::entries() const {
  std::size_t count = 0;
  for (const Shard& shard : machine_->shards) {
    const std::lock_guard lock(shard.mutex);
    count += shard.entries.size();
  }
  return count;
}

Result<Counts, base::Error> NodeStore::Machine::stored(const KeyView& key,
                                                       runtime::Deadline deadline) {
  if (!durable) return Counts{};
  const auto reply = durable->pool.call(
      user,
      [counters = &durable->counters, account = std::string(key.account_id), bucket = key.bucket] {
        return counters->find(account, bucket->key);
      },
      deadline);
  if (reply.outcome != runtime::PoolOutcome::done || !reply.value->ok()) return unavailable();
  return (**reply.value).value_or(Counts{});
}

// An entry must not be inserted twice: a row read before the entry was written would forget its
// grants. A loader therefore holds `loading` from before it checks the table.
Result<Unit, base::Error> NodeStore::Machine::load(Shard& shard, const KeyView& key,
                                                   runtime::Deadline deadline) {
  const runtime::MutexLock loading(shard.loading, deadline);
  if (!loading.owns()) return unavailable();
  {
    const std::lock_guard lock(shard.mutex);
    if (shard.entries.contains(key)) return Unit{};
  }
  auto counts = stored(key, deadline);
  if (!counts.ok()) return counts.error();
  Entry entry;
  entry.counts = *counts;
  entry.safe = entry.counts.window;
  const std::lock_guard lock(shard.mutex);
  shard.entries.emplace(Key(key), std::move(entry));
  return Unit{};
}

Standing NodeStore::Machine::look(Entry& entry, const Limits& limits) {
  if (entry.counts.turn_to(limits, now_ms())) entry.safe = entry.mark = 0;
  const std::int64_t now = clock.now_ms();  // also after a clock step back: waits end by it
  const std::int64_t now_ns = clock.monotonic_ns();
  entry.idle_at_ms = end_of_windows_ms(limits, entry.counts);
  entry.keeps = limits.cumulative_limit.has_value();
  entry.permits.expire(now_ns);
  Standing standing{entry.counts, entry.permits.in_use(), now, 0};
  if (standing.in_use > 0) {
    standing.permit_end_ms = now + (entry.permits.first_end_ns() - now_ns) / 1'000'000;
  }
  return standing;
}

Decision NodeStore::Machine::decide(Shard& shard, Entries::value_type& item, const Limits& limits) {
  Entry& entry = item.second;
  Decision decision;
  decision.standing = look(entry, limits);
  decision.refused_by = refused_by(limits, entry.counts, entry.permits.in_use());
  if (decision.refused_by) return decision;
  entry.counts.add_one();
  entry.ahead_limit = ahead_limit_of(limits);
  const std::uint64_t number = entry.permits.add(
      clock.monotonic_ns() + std::int64_t{limits.permit_ttl_seconds} * 1'000'000'000);
  ++entry.handles;
  decision.permit = std::make_unique<NodePermit>(shard, entry, number, cover(shard, item));
  decision.standing.counts = entry.counts;
  decision.standing.in_use = entry.permits.in_use();
  return decision;
}

// Makes sure that the counted grant becomes durable. Returns the batch that will write it; null: it
// is durable already.
std::shared_ptr<Batch> NodeStore::Machine::cover(Shard& shard, Entries::value_type& item) {
  if (!durable) return nullptr;
  Entry& entry = item.second;
  const std::uint32_t number = entry.counts.window;
  if (number <= entry.safe) {
    if (entry.safe - number < entry.ahead / 2u && !entry.is_writing) {
      make_dirty(shard, item, false);
    }
    return nullptr;
  }
  if (entry.is_writing && number <= entry.mark) return shard.writing;
  make_dirty(shard, item, true);
  return shard.next;
}

// Entries without a waiter are written in the keeper's next round.
void NodeStore::Machine::make_dirty(Shard& shard, Entries::value_type& item, bool is_awaited) {
  if (!std::exchange(item.second.is_dirty, true)) shard.dirty.push_back(&item);
  if (is_awaited && !wanted.is_set()) wanted.set();
}

CounterRow NodeStore::Machine::row_of(Entries::value_type& item, std::uint32_t ahead) const {
  const Entry& entry = item.second;
  CounterRow row{item.first.account_id, item.first.bucket->key, entry.counts,
                 entry.keeps ? never_ends_ms : entry.idle_at_ms};
  row.counts.window += ahead;
  row.counts.quota += ahead;
  row.counts.cumulative += ahead;
  return row;
}

// Collects the dirty entries; false when there are none.
bool NodeStore::Machine::collect(std::int64_t now) {
  rows.clear();
  written.clear();
  for (Shard& shard : shards) {
    const std::lock_guard lock(shard.mutex);
    if (shard.dirty.empty()) continue;
    shard.writing = std::exchange(shard.next, std::make_shared<Batch>());
    for (Entries::value_type* item : shard.dirty) {
      Entry& entry = item->second;
      entry.ahead = ahead_of(entry, static_cast<std::uint32_t>(now) - entry.marked_ms);
      entry.marked_ms = static_cast<std::uint32_t>(now);
      entry.is_dirty = false;
      entry.is_writing = true;
      entry.mark = entry.counts.window + entry.ahead;
      entry.safe = std::min(entry.safe, entry.mark);  // the old row may be further ahead
      rows.push_back(row_of(*item, entry.ahead));
      written.emplace_back(&shard, item);
    }
    shard.dirty.clear();
  }
  return !rows.empty();
}

bool NodeStore::Machine::write() {
  const auto done = durable->counters.write(rows, latest_ms.load());
  if (done.ok() == is_failing.exchange(!done.ok())) {
    if (done.ok()) {
      durable->log.write(Severity::info, "free_counts_written_again");
    } else {
      durable->log.write(Severity::error, "free_counts_not_written",
                         {{"reason", done.error().message}});
    }
  }
  return done.ok();
}

// Ends the batches of the current write: each shard has its own, with its waiters.
void NodeStore::Machine::settle(bool is_written) {
  std::size_t at = 0;
  while (at < written.size()) {
    Shard& shard = *written[at].first;
    std::shared_ptr<Batch> batch;
    {
      const std::lock_guard lock(shard.mutex);
      for (; at < written.size() && written[at].first == &shard; ++at) {
        Entry& entry = written[at].second->second;
        entry.is_writing = false;
        if (is_written) {
          entry.safe = std::max(entry.safe, entry.mark);
        } else {
          make_dirty(shard, *written[at].second, true);
        }
      }
      batch = std::exchange(shard.writing, nullptr);
    }
    batch->is_written = is_written;
    batch->done.set();
  }
}

void NodeStore::Machine::keep() {
  base::name_this_thread("free-counts");
  while (!is_stopping.load()) {
    wanted.wait(runtime::Deadline::after_ms(pause_ms));
    if (wanted.is_set()) {  // gather concurrent requests into one write
      runtime::sleep_until(runtime::Deadline::after_ms(is_failing.load() ? retry_ms : gather_ms));
      wanted.reset();
    }
    if (durable && collect(now_ms())) settle(write());
    const std::int64_t now_ns = runtime::now_ns();
    if (now_ns < tidy_at_ns) continue;
    tidy_at_ns = now_ns + pause_ms * 1'000'000;
    reclaim(reclaimed_a_round);
    if (durable) drop_ended();
  }
}

// Ended rows are ignored anyway, so the time of their deletion does not matter.
void NodeStore::Machine::drop_ended() {
  const std::int64_t now = now_ms();
  if (now < drop_at_ms) return;
  const auto dropped = durable->counters.drop_ended(now, dropped_at_a_time);
  const bool has_more = dropped.ok() && *dropped == dropped_at_a_time;
  drop_at_ms = has_more ? now : now + drop_interval_ms;
}

void NodeStore::Machine::reclaim(std::size_t entries) {
  const std::lock_guard only_one(reclaim_mutex);
  const std::int64_t now = now_ms();
  std::size_t looked_at = 0;
  for (std::size_t shards_left = 2 * shard_count; looked_at < entries && shards_left > 0;) {
    Shard& shard = shards[reclaim_shard];
    std::unique_lock lock(shard.mutex);
    const std::size_t end =
        std::min(shard.cursor + looked_at_in_one_lock, shard.entries.bucket_count());
    for (; shard.cursor < end; ++shard.cursor, ++looked_at) reclaim_chain(shard, now);
    if (shard.cursor >= shard.entries.bucket_count()) {
      shard.cursor = 0;
      reclaim_shard = (reclaim_shard + 1) % shard_count;
      --shards_left;
    }
    lock.unlock();
    forgotten.clear();  // frees the memory outside the lock
  }
}

// Removes obsolete entries from one bucket of the hash table.
void NodeStore::Machine::reclaim_chain(Shard& shard, std::int64_t now) {
  for (auto at = shard.entries.begin(shard.cursor); at != shard.entries.end(shard.cursor);) {
    Entries::value_type& item = *at++;
    const Entry& entry = item.second;
    if (entry.idle_at_ms > now || entry.handles > 0 || entry.is_dirty || entry.is_writing) continue;
    if (entry.keeps && !durable) continue;
    if (entry.keeps && entry.ahead > 0) {
      make_dirty(shard, item, false);  // first the row must contain the exact count
    } else {
      forgotten.push_back(shard.entries.extract(shard.entries.find(item.first)));
    }
  }
}

// At the end, writes exact counts, so that no row stays ahead of its grants.
void NodeStore::Machine::write_exactly() {
  if (!durable) return;
  rows.clear();
  for (Shard& shard : shards) {
    const std::lock_guard lock(shard.mutex);
    for (Entries::value_type& item : shard.entries) {
      if (item.second.ahead > 0 || item.second.is_dirty) rows.push_back(row_of(item, 0));
    }
  }
  if (!rows.empty()) (void)write();
}

}  // namespace turnpike::quota
