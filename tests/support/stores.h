// TestStore: a migrated, empty database of one engine, and Nodes on it. ManualClock: a clock that
// the test moves. SeededRandom: repeatable randomness. ManualClock and SeededRandom may be used on
// any Thread, the others on the test's Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "storage/node.h"
#include "support/postgres.h"
#include "support/temporary.h"

namespace turnpike::support {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t now_ms = 1'800'000'000'000) : now_ms_(now_ms) {}
  std::int64_t now_ms() const noexcept override { return now_ms_; }
  std::int64_t monotonic_ns() const noexcept override { return monotonic_ns_; }
  void move_ms(std::int64_t by_ms) noexcept {
    now_ms_ += by_ms;
    monotonic_ns_ += by_ms * 1'000'000;
  }
  // Sets the wall clock; no monotonic time passes.
  void step_ms(std::int64_t by_ms) noexcept { now_ms_ += by_ms; }

 private:
  std::atomic<std::int64_t> now_ms_;
  std::atomic<std::int64_t> monotonic_ns_{1'000'000'000};
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    const std::lock_guard lock(mutex_);
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(engine_());
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

// Settings with long timeouts, so a slow machine does not look like an outage.
storage::Settings patient_settings(std::uint32_t sessions);

class TestStore {
 public:
  // Uses patient_settings(). Throws std::runtime_error. REQUIRES: shared_postgres() for
  // Engine::postgres.
  explicit TestStore(storage::Engine engine, std::uint32_t sessions = 2);
  // Uses the given settings, except for the location of the database.
  TestStore(storage::Engine engine, const storage::Settings& settings);
  ~TestStore();
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  // Opens the database as another process would; gateways differ by `directory`.
  [[nodiscard]] std::unique_ptr<storage::Node> open(storage::Role role = storage::Role::gateway,
                                                    const std::string& directory = "node") const;

  [[nodiscard]] storage::Settings settings(const std::string& directory = "node") const;

  mutable ManualClock clock;
  mutable SeededRandom random{42};

 private:
  TemporaryDirectory directory_;
  storage::Settings settings_;
};

// For INSTANTIATE_TEST_SUITE_P and the names of its suites.
inline constexpr storage::Engine engines[] = {storage::Engine::sqlite, storage::Engine::postgres};
std::string name_of(storage::Engine engine);

// The reason why tests cannot use this engine here, or "". Throws instead if
// TURNPIKE_REQUIRE_POSTGRES is set.
std::string missing(storage::Engine engine);

}  // namespace turnpike::support
