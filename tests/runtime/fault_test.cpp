#include "runtime/fault.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "base/log.h"
#include "base/sources.h"
#include "runtime/on_both.h"
#include "runtime/pool.h"

namespace turnpike::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* skipped = "the sanitizer tells of signals itself";
#else
constexpr const char* skipped = nullptr;
#endif

class FaultDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (skipped != nullptr) GTEST_SKIP() << skipped;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

// A frame that is larger than the stack. As it is mostly untouched, it would skip a small guard.
[[gnu::noinline]] int use_stack() {
  volatile char large[160 * 1024];
  large[0] = 1;
  return large[0];
}

[[gnu::noinline]] void write_nowhere() {
  static volatile std::uintptr_t nowhere = 8;  // volatile: the compiler would warn
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

template <class F>
void on_a_fiber(F work) {
  name_fatal_signals();
  name_tag(7, "acme");
  Lines lines(true, 1);
  lines.start([&] {
    Fiber::current()->set_name("0190c0de");
    Fiber::current()->set_tag(7);
    work();
  });
  lines.join();
}

TEST_F(FaultDeathTest, AnExhaustedStackIsToldOfWithWhoseCodeItWasAndForWhichRequest) {
  EXPECT_EXIT(on_a_fiber([] { use_stack(); }), testing::KilledBySignal(SIGSEGV),
              "turnpike: killed by SIGSEGV .* in plugin acme, request 0190c0de: it used more than "
              "the 64 KiB of stack");
}

TEST_F(FaultDeathTest, AFaultOnAFiberIsToldOfWithWhoseCodeItWas) {
  EXPECT_EXIT(on_a_fiber([] { write_nowhere(); }), testing::KilledBySignal(SIGSEGV),
              "turnpike: killed by SIGSEGV .* in plugin acme, request 0190c0de\n");
}

TEST_F(FaultDeathTest, AFaultOnThePoolIsToldOfWithItsUser) {
  const auto work = [] {
    name_fatal_signals();
    BlockingPool pool(1, 1);
    const PoolUser user = pool.add_user("plugin acme", 1, 1);
    (void)pool.run_to_end(user, [] { write_nowhere(); });
  };
  EXPECT_EXIT(work(), testing::KilledBySignal(SIGSEGV),
              "turnpike: killed by SIGSEGV .* in plugin acme, on the pool\n");
}

TEST_F(FaultDeathTest, AProcessThatGivesUpSaysInWhoseCode) {
  EXPECT_EXIT(on_a_fiber([] { std::abort(); }), testing::KilledBySignal(SIGABRT),
              "turnpike: killed by SIGABRT .* in plugin acme, request 0190c0de\n");
}

// No instruction failed, so none fails again: the handler itself must end the process.
TEST_F(FaultDeathTest, ASignalThatSomebodySendsEndsTheProcessToo) {
  for (const int signal : {SIGSEGV, SIGQUIT}) {
    const auto wait = [signal] {
      name_fatal_signals();
      ::kill(::getpid(), signal);
      for (;;) ::pause();
    };
    EXPECT_EXIT(wait(), testing::KilledBySignal(signal), "turnpike: killed by SIG");
  }
}

// Gathered log lines are written before the process ends.
TEST_F(FaultDeathTest, WhatTheLogHasGatheredIsWritten) {
  const auto work = [](void (*end)()) {
    const base::SystemClock clock{};
    const auto log = base::make_process_log(clock, {.gather_ms = 3'600'000});
    const AtFatalSignal write(
        [](void* gathered) noexcept { static_cast<base::ProcessLog*>(gathered)->write_gathered(); },
        log.get());
    log->write(Severity::info, "of_another_thread");
    on_a_fiber([&] {
      log->gather_here();
      log->write(Severity::info, "of_a_loop");
      end();
    });
  };
  const char* const lines = "killed by .*\n.*\"of_another_thread\".*\n.*\"of_a_loop\"}\n";
  EXPECT_EXIT(work([] { write_nowhere(); }), testing::KilledBySignal(SIGSEGV), lines);
  EXPECT_EXIT(work([] { std::abort(); }), testing::KilledBySignal(SIGABRT), lines);
}

// The process must end even if nothing reads its output.
TEST_F(FaultDeathTest, AFullPipeDoesNotKeepTheProcess) {
  const auto work = [] {
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK) != 0) std::abort();
    char bytes[4096] = {};
    while (::write(ends[1], bytes, sizeof(bytes)) > 0) continue;
    ::fcntl(ends[1], F_SETFL, 0);
    ::dup2(ends[1], STDERR_FILENO);
    name_fatal_signals();
    write_nowhere();
  };
  EXPECT_EXIT(work(), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace turnpike::runtime
