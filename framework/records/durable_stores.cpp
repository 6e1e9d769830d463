#include "records/durable_stores.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include <turnpike/call.h>

#include "base/limits.h"
#include "records/rules.h"

namespace turnpike::records {
namespace {

namespace limits = base::limits;

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t clock_age_ms_max = 1'000;
constexpr std::int64_t patience_ns_max = 500'000;
constexpr std::size_t queued_max = 1 << 16;
constexpr std::size_t group_applies_max = 256;
// PostgreSQL has locks for 6,400 keys by default, shared by all groups of all nodes.
constexpr std::size_t group_keys_max = 512;
constexpr std::size_t group_bytes_max = 8 * 1024 * 1024;
constexpr std::size_t chance_bytes = 512;
constexpr std::uint32_t read_threads_max = 4;
constexpr std::uint32_t reads_queued_max = 4'096;

struct Name {
  std::string_view plugin;
  std::string_view key;
  friend bool operator==(const Name&, const Name&) = default;
};
struct HashOfName {
  std::size_t operator()(const Name& name) const noexcept {
    const std::hash<std::string_view> hash;
    return hash(name.key) * 31 + hash(name.plugin);
  }
};

}  // namespace

// The keys that a group names, and for each whether the group writes it.
class NamedKeys {
 public:
  void clear() { written_.clear(); }
  // False, without taking the apply, when there would be too many keys, or when a key written by
  // either the group or the apply is named by the other.
  bool take(const Apply& apply) {
    if (written_.size() + apply.checks.size() + apply.writes.size() > group_keys_max) return false;
    for (const StoreCheck& check : apply.checks) {
      const auto known = written_.find({apply.plugin, check.key});
      if (known != written_.end() && known->second) return false;
    }
    for (const StoreWrite& write : apply.writes) {
      if (written_.contains({apply.plugin, write.key})) return false;
    }
    for (const StoreCheck& check : apply.checks) {
      written_.try_emplace({apply.plugin, check.key}, false);
    }
    for (const StoreWrite& write : apply.writes) written_[{apply.plugin, write.key}] = true;
    return true;
  }

 private:
  std::unordered_map<Name, bool, HashOfName> written_;
};

// An apply with copies of the bytes that it refers to.
struct ApplyJob : runtime::GroupJob<StoreApplied> {
  ApplyJob(std::atomic<std::uint64_t>& waiting_bytes, std::string_view plugin,
           std::span<const StoreCheck> given_checks, std::span<const StoreWrite> given_writes)
      : GroupJob(plugin.size() + bytes_of(given_checks, given_writes)),
        checks(given_checks.begin(), given_checks.end()),
        writes(given_writes.begin(), given_writes.end()),
        bytes(std::make_unique_for_overwrite<char[]>(size())),
        counted(waiting_bytes) {
    char* at = bytes.get();
    const auto own = [&at](std::string_view text) {
      if (!text.empty()) std::memcpy(at, text.data(), text.size());
      return std::string_view{std::exchange(at, at + text.size()), text.size()};
    };
    apply.plugin = own(plugin);
    for (StoreCheck& check : checks) check.key = own(check.key);
    for (StoreWrite& write : writes) {
      write.key = own(write.key);
      if (write.value) write.value = own(*write.value);
    }
    apply.checks = checks;
    apply.writes = writes;
    counted.fetch_add(size());
  }
  ~ApplyJob() { counted.fetch_sub(size()); }

  std::vector<StoreCheck> checks;
  std::vector<StoreWrite> writes;
  const std::unique_ptr<char[]> bytes;
  std::atomic<std::uint64_t>& counted;
  Apply apply;
};

class DurableStores::PluginStore final : public Store {
 public:
  PluginStore(DurableStores& stores, std::string_view plugin) : stores_(stores), plugin_(plugin) {}

  StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                     Call& call) noexcept override {
    try {
      return stores_.apply(plugin_, checks, writes, call);
    } catch (...) {  // out of memory, before the job was queued
      return {};
    }
  }

  Result<std::optional<StoreRecord>> get(std::string_view key, Call& call) noexcept override {
    return contained<std::optional<StoreRecord>>(fault_of_key(key), [&] {
      return stores_.read<std::optional<StoreRecord>>(
          call, [&table = stores_.table_, plugin = plugin_, key = std::string(key)] {
            return table.get(plugin, key);
          });
    });
  }

  Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                        std::uint32_t limit, Call& call) noexcept override {
    using Records = std::vector<StoreRecord>;
    auto fault = fault_of_bound(prefix);
    if (!fault) fault = fault_of_bound(after);
    return contained<Records>(std::move(fault), [&]() -> Result<Records> {
      if (limit == 0) return Records();
      return stores_.read<Records>(
          call, [&table = stores_.table_, plugin = plugin_, prefix = std::string(prefix),
                 after = std::string(after), count = std::min(limit, scan_max)] {
            return table.scan(plugin, prefix, after, count);
          });
    });
  }

  [[nodiscard]] std::int64_t now_ms() const noexcept override { return stores_.now_ms(); }

 private:
  static constexpr std::uint32_t scan_max = limits::store_scan_records_max;

  template <class T, class F>
  Result<T> contained(std::optional<std::string> fault, F&& work) noexcept {
    try {
      if (!fault) return work();
      stores_.report_fault(plugin_, *fault);
      return Failure{FailureKind::plugin_fault, "the store was given " + *fault, {}, false};
    } catch (...) {
      return Failure{FailureKind::unavailable, "memory is exhausted", {}, false};
    }
  }

  DurableStores& stores_;
  const std::string plugin_;
};

DurableStores::DurableStores(Table& table, Sources sources)
    : table_(table),
      sources_(std::move(sources)),
      groups_(sources_.metrics.counter("turnpike_store_groups_total",
                                       "Transactions that wrote records of plugins", {})),
      applied_(sources_.metrics.counter("turnpike_store_applied_total",
                                        "Changes to records of plugins", {})),
      conflicts_(sources_.metrics.counter(
          "turnpike_store_conflicts_total",
          "Changes that were not done since a record had another version", {})),
      unknown_(sources_.metrics.counter("turnpike_store_unknown_total",
                                        "Changes whose outcome was told as unknown", {})),
      readers_(sources_.pool.add_user("records of plugins", read_threads_max, reads_queued_max)),
      group_keys_(std::make_unique<NamedKeys>()),
      group_(*this, {.thread_name = "records",
                     .not_written = {StoreOutcome::unavailable, 0},
                     .unknown = {StoreOutcome::unknown, 0},
                     .queued_max = queued_max,
                     .group_jobs_max = group_applies_max,
                     .idle_ms = clock_age_ms_max,
                     .stop_ms = limits::commit_budget_ms}) {}

DurableStores::~DurableStores() = default;

Stored<Unit> DurableStores::start() {
  auto writer = table_.open_writer();
  if (!writer) return writer.error();
  writer_ = *std::move(writer);
  read_clock();
  group_.start();
  return Unit{};
}

void DurableStores::stop() noexcept { group_.stop(); }

std::unique_ptr<Store> DurableStores::store_of(std::string_view plugin) {
  return std::make_unique<PluginStore>(*this, plugin);
}

// ---- callers ------------------------------------------------------------------------------------

StoreApplied DurableStores::apply(std::string_view plugin, std::span<const StoreCheck> checks,
                                  std::span<const StoreWrite> writes, Call& call) {
  if (const auto fault = fault_of(checks, writes)) {
    report_fault(plugin, *fault);
    return {};
  }
  const runtime::Deadline deadline{call.deadline_ns()};
  if (deadline.passed()) return {};
  if (waiting_bytes_ + bytes_of(checks, writes) > limits::store_waiting_bytes_max) return {};
  const auto job = std::make_shared<ApplyJob>(waiting_bytes_, plugin, checks, writes);
  if (!group_.push(job)) return {};
  switch (group_.wait(*job, deadline)) {
    case Group::Waited::withdrawn:
      return {};
    case Group::Waited::left:
      unknown_.add();
      return {StoreOutcome::unknown, 0};
    case Group::Waited::answered:
      break;
  }
  const StoreApplied applied = job->take_answer();
  if (applied.outcome == StoreOutcome::unknown) unknown_.add();
  return applied;
}

void DurableStores::report_fault(std::string_view plugin, const std::string& fault) const {
  sources_.log.write(Severity::error, "store_misused", {{"plugin", plugin}, {"fault", fault}});
}

template <class T, class F>
Result<T> DurableStores::read(Call& call, F work) {
  auto reply = sources_.pool.call(readers_, std::move(work), runtime::Deadline{call.deadline_ns()});
  switch (reply.outcome) {
    case runtime::PoolOutcome::done:
      if (*reply.value) return **std::move(reply.value);
      return Failure{FailureKind::unavailable, (*reply.value).error().text, {}, false};
    case runtime::PoolOutcome::deadline:
      return Failure{FailureKind::timeout, "the database took too long", {}, false};
    case runtime::PoolOutcome::cancelled:
      return Failure{FailureKind::cancelled, "the caller is gone", {}, false};
    case runtime::PoolOutcome::refused:
      break;
  }
  return Failure{FailureKind::unavailable, "too many wait for the database", {}, false};
}

std::int64_t DurableStores::now_ms() const noexcept {
  const std::int64_t zero_ms = clock_zero_ms_;
  if (zero_ms == own_clock) return sources_.clock.now_ms();
  return zero_ms + sources_.clock.monotonic_ns() / ns_per_ms;
}

// ---- the writing Thread -------------------------------------------------------------------------

// Waits for as many jobs as were present when the last group ended, for at most a quarter of its
// time.
runtime::Patience DurableStores::patience(std::size_t /*waiting*/, const runtime::LastGroup& last) {
  return {last.jobs + last.waiting, std::min(last.ns / 4, patience_ns_max)};
}

bool DurableStores::joins(const Jobs& group, const ApplyJob& job) {
  if (group.empty()) group_keys_->clear();
  return group_keys_->take(job.apply);
}

runtime::Committed DurableStores::write(Jobs& group) {
  if (group.empty()) return runtime::Committed::done;
  std::vector<Apply> batch;
  batch.reserve(group.size());
  for (const auto& job : group) {
    if (job->apply.version == 0) job->apply.version = new_version();
    batch.push_back(job->apply);
  }
  const auto conflicts = writer_->write(batch);
  if (conflicts) {
    is_failing_ = false;
    answer_all(group, *conflicts);
    return runtime::Committed::done;
  }
  if (!std::exchange(is_failing_, true)) {
    sources_.log.write(Severity::error, "store_failed",
                       {{"what", "write records"}, {"reason", conflicts.error().text}});
  }
  switch (conflicts.error().kind) {
    case TableFailure::Kind::unknown:
      return runtime::Committed::unknown;
    case TableFailure::Kind::fatal:
      if (sources_.fatal) sources_.fatal(conflicts.error().text);
      return runtime::Committed::broken;
    case TableFailure::Kind::unavailable:
      break;
  }
  return runtime::Committed::unavailable;
}

runtime::Committed DurableStores::outcome(Jobs& group) {
  const auto outcome = writer_->outcome();
  if (!outcome) return runtime::Committed::unknown;
  sources_.log.write(Severity::warning, "store_proven", {{"committed", outcome->has_value()}});
  if (!*outcome) return runtime::Committed::again;
  answer_all(group, **outcome);
  return runtime::Committed::done;
}

void DurableStores::answer_all(const Jobs& group, const Conflicts& conflicts) {
  groups_.add();
  conflicts_.add(conflicts.size());
  applied_.add(group.size() - conflicts.size());
  runtime::WakeBatch wakes;
  auto conflict = conflicts.begin();
  for (std::size_t at = 0; at < group.size(); ++at) {
    const bool is_conflict = conflict != conflicts.end() && *conflict == at;
    if (is_conflict) ++conflict;
    (void)group[at]->answer(is_conflict
                                ? StoreApplied{StoreOutcome::conflict, 0}
                                : StoreApplied{StoreOutcome::applied, group[at]->apply.version},
                            wakes);
  }
}

void DurableStores::between_groups() {
  if (runtime::now_ns() - clock_read_ns_ > clock_age_ms_max * ns_per_ms) read_clock();
}

void DurableStores::read_clock() {
  clock_read_ns_ = runtime::now_ns();
  const auto read = writer_->now_ms();
  if (!read) return;  // the last value stays
  clock_zero_ms_ = *read ? **read - sources_.clock.monotonic_ns() / ns_per_ms : own_clock;
}

std::uint64_t DurableStores::new_version() {
  std::uint64_t version = 0;
  while (version == 0) {
    if (chance_.size() < sizeof version) {
      chance_.resize(chance_bytes);
      sources_.random.fill(chance_);
    }
    chance_.resize(chance_.size() - sizeof version);
    std::memcpy(&version, chance_.data() + chance_.size(), sizeof version);
    version >>= 1;  // 63 bits, since databases use signed numbers
  }
  return version;
}

}  // namespace turnpike::records
