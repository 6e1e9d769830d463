// Clocks and randomness that a test controls, with the headers of the SDK alone. Any Thread, unless
// a class says otherwise. What a plugin sees of a gateway is turnpike/helpers/test_host.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <span>

#include <turnpike/host.h>

namespace turnpike::support {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t now_ms = 1'800'000'000'000) : now_ms_(now_ms) {}
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return now_ms_; }
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override { return monotonic_ns_; }
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

// Other bytes with every reading, the same for every run.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed = 1) : engine_(seed) {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    const std::lock_guard lock(mutex_);
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(engine_());
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

// Counts the bytes: `first`, the next number and so on. One Thread.
class CountingRandom final : public Random {
 public:
  explicit CountingRandom(std::uint8_t first = 1) : next_(first) {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    for (std::uint8_t& byte : out) byte = next_++;
  }

 private:
  std::uint8_t next_;
};

// The worst source: all bytes are equal.
class ConstantRandom final : public Random {
 public:
  explicit ConstantRandom(std::uint8_t byte = 0) : byte_(byte) {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    for (std::uint8_t& byte : out) byte = byte_;
  }

 private:
  const std::uint8_t byte_;
};

}  // namespace turnpike::support
