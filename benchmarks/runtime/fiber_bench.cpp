// Claims: a switch between fibers costs tens of nanoseconds, a fiber from spawn to end well under a
// microsecond, and arming and disarming a deadline a few nanoseconds; a suspended fiber takes
// little memory. The baseline for each is the cost of the same with a thread: std::thread and
// std::condition_variable.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime.h"

namespace turnpike::runtime {
namespace {

RuntimeOptions with_loops(std::uint32_t loops) {
  RuntimeOptions options;
  options.loops = loops;
  options.stall_threshold_ms = 60'000;  // a benchmark fiber runs for as long as it measures
  return options;
}

// Runs the benchmark loop itself on a fiber.
template <class F>
void on_fiber(Loop& loop, F function) {
  Event ended;
  loop.spawn([&] {
    function();
    ended.set();
  });
  static_cast<void>(ended.wait(Deadline::never()));
}

std::int64_t resident_bytes() {
  std::int64_t total_pages = 0;
  std::int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * 4'096;
}

// Two fibers take turns: each iteration switches twice into the scheduler and twice out of it.
void fiber_switch(benchmark::State& state) {
  Runtime runtime(with_loops(1));
  Semaphore ping{0};
  Semaphore pong{0};
  bool stop = false;
  runtime.loops()[0]->spawn([&] {
    while (ping.acquire(Deadline::never()) == Wake::ready && !stop) pong.release();
  });
  on_fiber(*runtime.loops()[0], [&] {
    for (auto _ : state) {
      ping.release();
      static_cast<void>(pong.acquire(Deadline::never()));
    }
    stop = true;
    ping.release();
  });
}
BENCHMARK(fiber_switch)->UseRealTime();

// A fiber that waits with a deadline that does not pass: no system call.
void fiber_switch_with_deadline(benchmark::State& state) {
  Runtime runtime(with_loops(1));
  Semaphore ping{0};
  Semaphore pong{0};
  bool stop = false;
  const Deadline later = Deadline::after_ms(60'000);
  runtime.loops()[0]->spawn([&] {
    while (ping.acquire(later) == Wake::ready && !stop) pong.release();
  });
  on_fiber(*runtime.loops()[0], [&] {
    for (auto _ : state) {
      ping.release();
      static_cast<void>(pong.acquire(later));
    }
    stop = true;
    ping.release();
  });
}
BENCHMARK(fiber_switch_with_deadline)->UseRealTime();

struct ThreadSemaphore {
  void release() {
    const std::lock_guard lock(mutex);
    ++units;
    changed.notify_one();
  }
  void acquire() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return units > 0; });
    --units;
  }
  std::mutex mutex;
  std::condition_variable changed;
  int units = 0;
};

void baseline_thread_switch(benchmark::State& state) {
  ThreadSemaphore ping;
  ThreadSemaphore pong;
  bool stop = false;
  std::thread other([&] {
    for (ping.acquire(); !stop; ping.acquire()) pong.release();
  });
  for (auto _ : state) {
    ping.release();
    pong.acquire();
  }
  stop = true;
  ping.release();
  other.join();
}
BENCHMARK(baseline_thread_switch)->UseRealTime();

void fiber_spawn_to_end(benchmark::State& state) {
  Runtime runtime(with_loops(1));
  on_fiber(*runtime.loops()[0], [&] {
    Loop& loop = *Loop::current();
    Semaphore ended{0};
    for (auto _ : state) {
      for (int count = 0; count < 32; ++count) loop.spawn([&ended] { ended.release(); });
      for (int count = 0; count < 32; ++count) {
        static_cast<void>(ended.acquire(Deadline::never()));
      }
    }
  });
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(fiber_spawn_to_end)->UseRealTime();

void baseline_thread_spawn_to_end(benchmark::State& state) {
  for (auto _ : state) std::thread([] {}).join();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(baseline_thread_spawn_to_end)->UseRealTime();

// A request to another loop and its answer, as between a call and a committer.
void one_shot_across_loops(benchmark::State& state) {
  Runtime runtime(with_loops(2));
  on_fiber(*runtime.loops()[0], [&] {
    for (auto _ : state) {
      OneShot<int> answer;
      runtime.loops()[1]->spawn([&answer] { answer.set(1); });
      static_cast<void>(answer.wait(Deadline::never()));
      benchmark::DoNotOptimize(answer.take());
    }
  });
}
BENCHMARK(one_shot_across_loops)->UseRealTime();

// A committer thread answers a batch of fibers on two loops. The time is per item.
void one_shot_batch_of_256(benchmark::State& state) {
  Runtime runtime(with_loops(2));
  struct Item {
    OneShot<int> answer;
  };
  BatchQueue<Item*> queue(1'024);
  Semaphore ended{0};
  bool stop = false;
  for (int count = 0; count < 256; ++count) {
    runtime.loops()[static_cast<std::size_t>(count % 2)]->spawn([&] {
      while (true) {
        Item item;
        if (!queue.push(&item)) break;
        static_cast<void>(item.answer.wait(Deadline::never()));
        if (item.answer.take() != 0) break;
      }
      ended.release();
    });
  }
  std::vector<Item*> batch;
  const auto answer_all = [&] {
    batch.clear();
    static_cast<void>(queue.take(batch, 256, Deadline::never()));
    WakeBatch wakes;
    for (Item* const item : batch) item->answer.set(stop ? 1 : 0, wakes);
  };
  for (auto _ : state) answer_all();
  stop = true;
  answer_all();
  for (int count = 0; count < 256; ++count) static_cast<void>(ended.acquire(Deadline::never()));
  state.SetItemsProcessed(state.iterations() * 256);
}
BENCHMARK(one_shot_batch_of_256)->UseRealTime();

struct Node final : TimerNode {
 private:
  void expired() noexcept override {}
};

void timer_arm_and_disarm(benchmark::State& state) {
  TimerWheel wheel(0);
  std::vector<std::unique_ptr<Node>> others;
  for (int count = 0; count < 10'000; ++count) {
    others.push_back(std::make_unique<Node>());
    wheel.arm(*others.back(), Deadline{(1 + count) * std::int64_t{1'000'000}});
  }
  Node node;
  std::int64_t ms = 1;
  for (auto _ : state) {
    wheel.arm(node, Deadline{ms * 1'000'000});
    wheel.disarm(node);
    ms = ms * 7 % 30'011;
  }
  for (auto& other : others) wheel.disarm(*other);
}
BENCHMARK(timer_arm_and_disarm);

// Ten thousand fibers wait, each with a deadline. Reports bytes per fiber.
void suspended_10000(benchmark::State& state) {
  constexpr int fibers = 10'000;
  for (auto _ : state) {
    Runtime runtime(with_loops(1));
    Event go;
    Semaphore arrived{0};
    const std::int64_t before = resident_bytes();
    for (int count = 0; count < fibers; ++count) {
      runtime.loops()[0]->spawn([&] {
        arrived.release();
        static_cast<void>(go.wait(Deadline::after_ms(60'000)));
      });
    }
    for (int count = 0; count < fibers; ++count) {
      static_cast<void>(arrived.acquire(Deadline::never()));
    }
    state.counters["bytes_per_fiber"] =
        static_cast<double>(resident_bytes() - before) / double{fibers};
    go.set();
    runtime.stop(Deadline::never(), Deadline::never());
  }
}
BENCHMARK(suspended_10000)->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace turnpike::runtime

BENCHMARK_MAIN();
