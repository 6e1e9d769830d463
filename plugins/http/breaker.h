// Breaker: stops calling what fails. Closed: calls pass and are counted over a sliding window. Once
// enough of them failed, and enough of all, it opens and calls are refused; after a pause it is
// half-open: one call is let through, and its outcome closes it or opens it again.
//
// Owned by the upstream; lock-free, any Thread. Counts are approximate where Threads meet.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace turnpike::http {

// Calls and failures of about the last `window_ns`, kept in cells of an eighth of it each. A cell
// is one word, so that a call costs one addition.
class CallWindow {
 public:
  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;
  };

  explicit CallWindow(std::int64_t window_ns) noexcept
      : cell_ns_(std::max<std::int64_t>(1, window_ns / cells)) {}

  void add(bool has_failed, std::int64_t now_ns) noexcept {
    const std::uint64_t period = period_of(now_ns);
    const std::uint64_t increment = one_call + (has_failed ? one_failure : 0);
    std::atomic<std::uint64_t>& cell = cells_[period % cells];
    std::uint64_t seen = cell.load(std::memory_order_relaxed);
    while (tag_of(seen) != tag_at(period)) {  // of an earlier round
      const std::uint64_t fresh = (tag_at(period) << tag_shift) | increment;
      if (cell.compare_exchange_weak(seen, fresh, std::memory_order_relaxed)) return;
    }
    // Far below what the field holds: Threads that add at the same time do not overflow it.
    if (calls_of(seen) < calls_max) cell.fetch_add(increment, std::memory_order_relaxed);
  }

  [[nodiscard]] Counts counts(std::int64_t now_ns) const noexcept {
    Counts sum;
    const std::uint64_t period = period_of(now_ns);
    for (std::uint64_t back = 0; back < cells && back <= period; ++back) {
      const std::uint64_t cell = cells_[(period - back) % cells].load(std::memory_order_relaxed);
      if (tag_of(cell) != tag_at(period - back)) continue;
      sum.calls += calls_of(cell);
      sum.failures += cell & field_mask;
    }
    return sum;
  }

  void clear() noexcept {
    for (auto& cell : cells_) cell.store(0, std::memory_order_relaxed);
  }

 private:
  // A word: 24 bits of the period's number, which come again after years; 20 of calls; 20 of
  // failures.
  static constexpr std::uint64_t cells = 8;
  static constexpr unsigned calls_shift = 20;
  static constexpr unsigned tag_shift = 40;
  static constexpr std::uint64_t field_mask = (1u << calls_shift) - 1;
  static constexpr std::uint64_t tag_mask = (1u << 24) - 1;
  static constexpr std::uint64_t one_failure = 1;
  static constexpr std::uint64_t one_call = 1u << calls_shift;
  static constexpr std::uint64_t calls_max = field_mask / 2;

  [[nodiscard]] std::uint64_t period_of(std::int64_t now_ns) const noexcept {
    return static_cast<std::uint64_t>(now_ns / cell_ns_);
  }
  // Never 0, which is an empty cell.
  static std::uint64_t tag_at(std::uint64_t period) noexcept { return period % tag_mask + 1; }
  static std::uint64_t tag_of(std::uint64_t cell) noexcept { return cell >> tag_shift; }
  static std::uint64_t calls_of(std::uint64_t cell) noexcept {
    return (cell >> calls_shift) & field_mask;
  }

  const std::int64_t cell_ns_;
  std::array<std::atomic<std::uint64_t>, cells> cells_{};
};

struct BreakerTerms {
  std::uint32_t failures_min = 10;  // in the window, to open it
  std::uint32_t percent = 50;       // of the calls in the window, to open it
  std::uint32_t window_ms = 10'000;
  std::uint32_t open_ms = 10'000;  // the pause
};

class Breaker {
 public:
  explicit Breaker(const BreakerTerms& terms) noexcept
      : failures_min_(terms.failures_min),
        percent_(terms.percent),
        open_ns_(std::int64_t{terms.open_ms} * ns_per_ms),
        window_(std::int64_t{terms.window_ms} * ns_per_ms) {}

  enum class Pass : std::uint8_t { refused, normal, trial };
  enum class Outcome : std::uint8_t { success, failure, neither };
  enum class Change : std::uint8_t { none, opened, opened_again, closed };

  // Whether a call may be tried now. Each pass that is not `refused` is followed by one report();
  // a trial that never reports only costs one more pause.
  Pass ask(std::int64_t now_ns) noexcept {
    std::int64_t open_until = open_until_ns_.load(std::memory_order_acquire);
    if (open_until == 0) return Pass::normal;
    if (now_ns < open_until) return Pass::refused;
    // The call that moves the end of the pause is the trial.
    const bool is_first = open_until_ns_.compare_exchange_strong(open_until, now_ns + open_ns_,
                                                                 std::memory_order_acq_rel);
    return is_first ? Pass::trial : Pass::refused;
  }

  Change report(Pass pass, Outcome outcome, std::int64_t now_ns) noexcept {
    if (pass == Pass::trial) return end_trial(outcome, now_ns);
    if (outcome == Outcome::neither || is_open()) return Change::none;
    const bool has_failed = outcome == Outcome::failure;
    window_.add(has_failed, now_ns);
    if (!has_failed) return Change::none;
    const CallWindow::Counts seen = window_.counts(now_ns);
    if (seen.failures < failures_min_ || seen.failures * 100 < seen.calls * percent_) {
      return Change::none;
    }
    std::int64_t closed = 0;
    const bool is_first = open_until_ns_.compare_exchange_strong(closed, now_ns + open_ns_,
                                                                 std::memory_order_acq_rel);
    return is_first ? Change::opened : Change::none;
  }

  // Evidence from outside of a call, such as a probe that succeeded. True: it was open.
  bool close() noexcept {
    if (!is_open()) return false;
    window_.clear();  // else the next failure alone would open it
    return open_until_ns_.exchange(0, std::memory_order_acq_rel) != 0;
  }

  // How long its pause lasts yet; 0: it is over, or the breaker is closed.
  [[nodiscard]] std::int64_t refuses_for_ns(std::int64_t now_ns) const noexcept {
    const std::int64_t open_until = open_until_ns_.load(std::memory_order_acquire);
    return open_until == 0 ? 0 : std::max<std::int64_t>(0, open_until - now_ns);
  }
  [[nodiscard]] bool refuses(std::int64_t now_ns) const noexcept {
    return refuses_for_ns(now_ns) > 0;
  }
  // False spares the caller a look at the clock.
  [[nodiscard]] bool is_open() const noexcept {
    return open_until_ns_.load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] CallWindow::Counts counts(std::int64_t now_ns) const noexcept {
    return window_.counts(now_ns);
  }

 private:
  static constexpr std::int64_t ns_per_ms = 1'000'000;

  Change end_trial(Outcome outcome, std::int64_t now_ns) noexcept {
    if (outcome == Outcome::success) return close() ? Change::closed : Change::none;
    const bool has_failed = outcome == Outcome::failure;
    // After one that says nothing the next call may try at once.
    open_until_ns_.store(has_failed ? now_ns + open_ns_ : now_ns, std::memory_order_release);
    return has_failed ? Change::opened_again : Change::none;
  }

  const std::uint32_t failures_min_;
  const std::uint32_t percent_;
  const std::int64_t open_ns_;
  CallWindow window_;
  std::atomic<std::int64_t> open_until_ns_{0};  // 0: closed
};

}  // namespace turnpike::http
