// What the counting of the free lane costs, with its goals: a decision in process, including the
// return of its permit, adds less than 2 us, even with 8 Threads on one account; a million
// (account, bucket) pairs stay within 300 MB; and forgetting expired pairs never blocks decisions
// on others, so the longest decision is no longer than while nothing is forgotten.
//
// Latencies are of single decisions and include two readings of the clock, which are timed as well.
// With more Threads than cores, the scheduler causes the longest ones.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sources.h"
#include "quota/node_store.h"
#include "support/stores.h"

namespace turnpike::quota {
namespace {

constexpr int pairs = 1'000'000;
constexpr int busy_pairs = 1'000;
constexpr int buckets = 10;

Limits wide_limits() {
  Limits limits;
  limits.window = {2'000'000'000, 60};
  limits.quota = Window{2'000'000'000, 86'400};
  limits.concurrency = 1'000'000;
  limits.permit_ttl_seconds = 60;
  return limits;
}
const Limits limits = wide_limits();

// An id as long as a real account's.
std::string account(int number) {
  char text[32];
  std::snprintf(text, sizeof text, "acc_%022d", number);
  return text;
}

void decide(NodeStore& store, const std::string& account_id, const Bucket& bucket) {
  const auto decided = store.take(account_id, bucket, limits, runtime::Deadline::never());
  if (!decided.ok() || decided->permit == nullptr) std::abort();
}

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

double process_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](timeval time) {
    return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec);
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

// The times of single decisions.
class Latencies {
 public:
  // Allocates memory for `expected` times in advance.
  explicit Latencies(std::size_t expected) {
    ns_.assign(expected, 0);
    ns_.clear();
  }
  template <class Step>
  void time(Step step) {
    const std::int64_t began = now_ns();
    step();
    ns_.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(now_ns() - began, UINT32_MAX)));
  }
  void add(const Latencies& other) { ns_.insert(ns_.end(), other.ns_.begin(), other.ns_.end()); }
  [[nodiscard]] std::size_t count() const { return ns_.size(); }

  // `cpu`: CPU time of the whole process, including background writes; it is printed per decision.
  void print(const char* name, std::optional<double> cpu = std::nullopt) {
    std::sort(ns_.begin(), ns_.end());
    const auto us = [this](double part) {
      return ns_[static_cast<std::size_t>(part * static_cast<double>(ns_.size() - 1))] / 1e3;
    };
    std::printf("%-46s %8.2f %8.2f %8.2f %9.2f", name, us(0.5), us(0.99), us(0.999), us(1));
    std::printf(cpu ? " %8.2f\n" : "\n", *cpu / 1e3 / static_cast<double>(ns_.size()));
  }

 private:
  std::vector<std::uint32_t> ns_;
};

void print_title(const char* title) {
  std::printf("\n%-46s %8s %8s %8s %9s %8s\n", title, "p50 us", "p99 us", "p99.9 us", "max us",
              "CPU us");
}

// ---- one decision -------------------------------------------------------------------------------

// If `accounts_each` is 0, all Threads use one account.
void decide_on(const char* name, NodeStore& store, int threads, int accounts_each) {
  constexpr int decisions_each = 200'000;
  const Bucket& bucket = store.bucket("provider:bench");
  std::vector<Latencies> latencies;
  for (int caller = 0; caller < threads; ++caller) latencies.emplace_back(decisions_each);
  std::barrier begin(threads + 1);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < threads; ++caller) {
    callers.emplace_back([&, caller] {
      std::vector<std::string> accounts;
      for (int at = 0; at < std::max(accounts_each, 1); ++at) {
        accounts.push_back(account(accounts_each == 0 ? 0 : caller * accounts_each + at));
        decide(store, accounts.back(), bucket);  // the first decision on an account is not timed
      }
      begin.arrive_and_wait();
      for (int at = 0; at < decisions_each; ++at) {
        const std::string& asking = accounts[static_cast<std::size_t>(at) % accounts.size()];
        latencies[caller].time([&] { decide(store, asking, bucket); });
      }
    });
  }
  begin.arrive_and_wait();
  const double cpu_before = process_cpu_ns();
  for (std::thread& caller : callers) caller.join();
  const double cpu = process_cpu_ns() - cpu_before;
  Latencies all(threads * decisions_each);
  for (const Latencies& each : latencies) all.add(each);
  all.print(name, cpu);
}

void decisions() {
  const base::SystemClock clock;
  const auto log = base::make_silent_log();
  runtime::BlockingPool pool(2, 1'024);
  support::TestStore database(storage::Engine::sqlite);
  const auto node = database.open();
  print_title("a decision (asked: adds < 2 us)");
  Latencies empty(200'000);
  for (int at = 0; at < 200'000; ++at) empty.time([] {});
  empty.print("baseline: the two looks at the clock");
  {
    NodeStore store(clock, std::nullopt);
    if (!store.start().ok()) std::abort();
    decide_on("in memory, 1 thread", store, 1, 0);
    decide_on("in memory, 8 threads, an account", store, 8, 0);
    decide_on("in memory, 8 threads, 1,000 accounts", store, 8, 1'000 / 8);
  }
  NodeStore store(clock, NodeStore::Durable{node->free_counts(), pool, *log});
  if (!store.start().ok()) std::abort();
  decide_on("kept in SQLite, 1 thread", store, 1, 0);
  decide_on("kept in SQLite, 8 threads, an account", store, 8, 0);
  decide_on("kept in SQLite, 8 threads, 1,000 accounts", store, 8, 1'000 / 8);
}

// ---- a million pairs ----------------------------------------------------------------------------

// Makes decisions on the million pairs: 100,000 accounts in each of 10 buckets.
struct Pairs {
  explicit Pairs(NodeStore& counts) : store(counts) {
    for (int at = 0; at < buckets; ++at) {
      in.push_back(&store.bucket("provider:bench" + std::to_string(at)));
    }
  }
  void decide_on(Latencies& latencies, int number) const {
    const std::string asking = account(number / buckets);
    const Bucket& bucket = *in[static_cast<std::size_t>(number % buckets)];
    latencies.time([&] { decide(store, asking, bucket); });
  }

  NodeStore& store;
  std::vector<const Bucket*> in;
};

// Decides in turn on pairs that stay in use and on others, while all expired pairs are forgotten.
// `steps` gets the times of the forgetting.
void decide_while_reclaiming(const Pairs& with, Latencies& latencies, Latencies& steps) {
  constexpr std::size_t step = 64;                 // chains visited under one lock
  constexpr std::size_t looked_at = 3ull * pairs;  // more than the table has chains
  std::atomic<bool> is_done{false};
  std::thread caller([&] {
    for (int at = 0; !is_done.load(std::memory_order_relaxed); ++at) {
      with.decide_on(latencies, at % busy_pairs);
      with.decide_on(latencies, pairs - 1 - at % (pairs - busy_pairs));
    }
  });
  for (std::size_t at = 0; at < looked_at; at += step) {
    steps.time([&] { with.store.reclaim(step); });
  }
  is_done = true;
  caller.join();
}

void million_pairs() {
  support::ManualClock clock;
  NodeStore store(clock, std::nullopt);  // not started, so this benchmark calls reclaim()
  const Pairs with(store);
  Latencies first(pairs), none_expired(10 * pairs), all_expired(10 * pairs);
  Latencies looking(pairs), forgetting(pairs);
  const double before_mb = resident_mb();
  const std::size_t before_bytes = ::mallinfo2().uordblks;
  for (int at = 0; at < pairs; ++at) with.decide_on(first, at);
  std::printf("\n1,000,000 pairs (asked: within 300 MB)\n");
  std::printf("%-46s %8.0f MB\n", "resident memory that they take", resident_mb() - before_mb);
  std::printf("%-46s %8.0f MB\n", "of that allocated",
              static_cast<double>(::mallinfo2().uordblks - before_bytes) / 1e6);

  decide_while_reclaiming(with, none_expired, looking);
  clock.move_ms(2 * 86'400'000);
  const std::size_t before = store.entries();
  decide_while_reclaiming(with, all_expired, forgetting);
  print_title("decisions among a million pairs");
  first.print("at the first sight of each");
  none_expired.print("baseline: all are looked at, none has expired");
  all_expired.print("while those that have expired are forgotten");
  std::printf("%-46s %8zu of %zu, and %zu decisions meanwhile\n", "forgotten",
              before - store.entries(), before, all_expired.count());
  looking.print("baseline: a step, 64 chains looked at");
  forgetting.print("a step, and what is in them forgotten");
}

}  // namespace
}  // namespace turnpike::quota

int main() {
  turnpike::quota::million_pairs();  // runs first, while the heap is fresh
  turnpike::quota::decisions();
  return 0;
}
