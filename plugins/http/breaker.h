// Breaker: a circuit breaker. While it is closed, calls pass and are counted over a sliding window.
// When both the number and the share of failed calls reach their thresholds, it opens and refuses
// calls. After a pause it is half-open: it lets one trial call through, whose outcome closes it or
// opens it again.
//
// Owned by the upstream. Lock-free; any Thread may call it. Counts are approximate when several
// Threads call it at once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace turnpike::http {

// Counts the calls and failures of about the last `window_ns`, in eight cells of equal duration. A
// cell is one word, so a call costs one atomic addition.
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
    while (tag_of(seen) != tag_at(period)) {  // the cell is from an earlier round
      const std::uint64_t fresh = (tag_at(period) << tag_shift) | increment;
      if (cell.compare_exchange_weak(seen, fresh, std::memory_order_relaxed)) return;
    }
    // The limit is half of what the field holds, so concurrent additions cannot overflow it.
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
  // Layout of a word: a tag of 24 bits from the period's number, 20 bits of calls and 20 bits of
  // failures. With a window of 10 seconds a tag repeats after about eight months.
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
  // Never 0, which marks an empty cell.
  static std::uint64_t tag_at(std::uint64_t period) noexcept { return period % tag_mask + 1; }
  static std::uint64_t tag_of(std::uint64_t cell) noexcept { return cell >> tag_shift; }
  static std::uint64_t calls_of(std::uint64_t cell) noexcept {
    return (cell >> calls_shift) & field_mask;
  }

  const std::int64_t cell_ns_;
  std::array<std::atomic<std::uint64_t>, cells> cells_{};
};

struct BreakerTerms {
  std::uint32_t failures_min = 10;  // failures in the window that open the breaker
  std::uint32_t percent = 50;       // share of failed calls in the window that opens it
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

  // Whether a call may be tried now. The caller follows each pass other than `refused` by one
  // report(). If the report of a trial is missing, the next trial comes one pause later.
  Pass ask(std::int64_t now_ns) noexcept {
    std::int64_t open_until = open_until_ns_.load(std::memory_order_acquire);
    if (open_until == 0) return Pass::normal;
    if (now_ns < open_until) return Pass::refused;
    // Of concurrent calls, the one that moves the end of the pause is the trial.
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

  // Closes the breaker on evidence from elsewhere, such as a successful probe. True if it was open.
  bool close() noexcept {
    if (!is_open()) return false;
    window_.clear();  // otherwise the next failure alone would open it again
    return open_until_ns_.exchange(0, std::memory_order_acq_rel) != 0;
  }

  // The rest of the pause; 0 if the pause is over or the breaker is closed.
  [[nodiscard]] std::int64_t refuses_for_ns(std::int64_t now_ns) const noexcept {
    const std::int64_t open_until = open_until_ns_.load(std::memory_order_acquire);
    return open_until == 0 ? 0 : std::max<std::int64_t>(0, open_until - now_ns);
  }
  [[nodiscard]] bool refuses(std::int64_t now_ns) const noexcept {
    return refuses_for_ns(now_ns) > 0;
  }
  // Also true when the pause is over. Callers test this first to avoid reading the clock.
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
    // After a trial without a result, the next call may try at once.
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
