#include "runtime/fault.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>

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

// A frame that is larger than the stack and, untouched, would step over a small guard.
[[gnu::noinline]] int use_stack() {
  volatile char large[160 * 1024];
  large[0] = 1;
  return large[0];
}

[[gnu::noinline]] void write_nowhere() {
  static volatile std::uintptr_t nowhere = 8;  // the compiler knows better than to write to 8
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

}  // namespace
}  // namespace turnpike::runtime
