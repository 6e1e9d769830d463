#include "base/log.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/log_blocks.h"
#include "base/log_line.h"
#include "base/patient_write.h"
#include "base/thread_name.h"
#include "text/time_text.h"

namespace turnpike::base {
namespace {

using Fields = std::span<const LogField>;

constexpr std::uint32_t threads_max = 512;  // with own blocks; more than there can be loops
constexpr int pieces_per_turn = 64;         // of one Thread before the next Thread's turn
constexpr int nap_ms = 1;
// At the end of a block, when the next line may not fit. To render that line separately takes an
// allocation so large that malloc() merges all its small free pieces first: with 512 connections
// 0.3 us of each call, on average.
constexpr std::size_t bytes_left_empty_max = log_block_bytes / 8;

// Times as text; everything but the milliseconds is formatted once a second.
class TimeText {
 public:
  std::string_view of(std::int64_t unix_ms) {
    if (const std::int64_t second = unix_ms / 1'000; second != second_ || unix_ms < 0) {
      whole_ = text::rfc3339(unix_ms);
      second_ = unix_ms < 0 ? -1 : second;
      return whole_;
    }
    const std::int64_t millisecond = unix_ms % 1'000;
    char* const digits = whole_.data() + whole_.size() - sizeof("000Z") + 1;
    digits[0] = static_cast<char>('0' + millisecond / 100);
    digits[1] = static_cast<char>('0' + millisecond / 10 % 10);
    digits[2] = static_cast<char>('0' + millisecond % 10);
    return whole_;
  }

 private:
  std::int64_t second_ = -1;
  std::string whole_;
};

// The log buffers of one Thread.
struct Gathered {
  LogBlocks blocks;
  TimeText time;
};

// The line with its newline. If it exceeds a block, its longest texts are truncated at a character
// boundary.
std::string line_within_a_block(std::string_view time, Severity severity, std::string_view event,
                                Fields fields) {
  std::vector<LogField> shown(fields.begin(), fields.end());
  const auto render = [&] {
    std::string line(log_line_bytes_max(event, shown) + 1, '\0');
    char* end = render_log_line(line.data(), time, severity, event, shown);
    *end++ = '\n';
    line.resize(static_cast<std::size_t>(end - line.data()));
    return line;
  };
  std::string line = render();
  if (line.size() > log_block_bytes) shown.push_back({"cut", true});
  for (std::size_t most = log_block_bytes; line.size() > log_block_bytes && most > 0; most /= 2) {
    for (LogField& field : shown) {
      auto* const text = std::get_if<std::string_view>(&field.value);
      if (text == nullptr || text->size() <= most) continue;
      std::size_t end = most;
      while (end > 0 && (static_cast<unsigned char>((*text)[end]) & 0xC0) == 0x80) --end;
      *text = text->substr(0, end);
    }
    line = render();
  }
  return line;
}

// The part of the log that survives when its Thread hangs in a write that is never accepted.
class Core {
 public:
  Core(const Clock& clock, const LogSettings& settings)
      : clock_(clock),
        settings_(settings),
        number_(++last_number),
        minimum_(settings.minimum),
        shared_(new Gathered) {
    all_[0].store(shared_.get(), std::memory_order_relaxed);
    wake_up_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ended_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_up_ < 0 || ended_ < 0) {
      throw std::system_error(errno, std::generic_category(), "the log's descriptors");
    }
  }
  ~Core() {
    for (std::uint32_t at = 1; at < count_; ++at) delete all_[at].load();
    for (const int descriptor : {wake_up_, ended_}) ::close(descriptor);
  }

  void write(Severity severity, std::string_view event, Fields fields) noexcept;
  void gather_here();
  [[nodiscard]] Severity minimum() const noexcept {
    return minimum_.load(std::memory_order_relaxed);
  }
  void set_minimum(Severity minimum) noexcept {
    minimum_.store(minimum, std::memory_order_relaxed);
  }
  void write_gathered() noexcept;
  void run() noexcept;   // by the log's Thread
  bool stop() noexcept;  // returns whether that Thread has ended

 private:
  void append(Gathered& gathered, Severity severity, std::string_view event, Fields fields);
  void append_aside(Gathered& gathered, std::string_view time, Severity severity,
                    std::string_view event, Fields fields);
  void drop(std::uint64_t lines) noexcept;
  void wake() noexcept;
  bool take_turn(std::int64_t until_ms) noexcept;
  template <class Take>
  void write_all(Take take) noexcept;
  std::size_t write_some(std::string_view bytes) noexcept;
  void write_or_drop(std::string_view lines) noexcept;
  void tell_dropped() noexcept;

  const Clock& clock_;
  const LogSettings settings_;
  const std::uint64_t number_;  // distinguishes this log from an earlier one at the same address
  std::atomic<Severity> minimum_;
  int wake_up_ = -1;
  int ended_ = -1;

  const std::unique_ptr<Gathered> shared_;
  std::mutex shared_mutex_;
  // In order of arrival; the first is the shared one. Read by signal handlers.
  std::array<std::atomic<Gathered*>, threads_max> all_{};
  std::atomic<std::uint32_t> count_{1};

  std::atomic<bool> is_woken_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_abandoned_{false};
  std::atomic<bool> is_writing_{false};  // a Thread has the turn to write
  std::atomic<std::uint64_t> dropped_{0};
  // Used by the Thread that has the turn.
  std::uint64_t told_dropped_ = 0;
  bool is_torn_ = false;  // the last written bytes were not the end of a line

  static std::atomic<std::uint64_t> last_number;
};

std::atomic<std::uint64_t> Core::last_number{0};

struct Seat {
  std::uint64_t log_number = 0;
  Gathered* gathered = nullptr;
};
thread_local Seat seat_here;
thread_local bool is_log_thread = false;

void Core::write(Severity severity, std::string_view event, Fields fields) noexcept {
  if (severity < minimum()) return;
  try {
    if (seat_here.log_number == number_) {
      append(*seat_here.gathered, severity, event, fields);
      return;
    }
    const std::lock_guard lock(shared_mutex_);
    append(*shared_, severity, event, fields);
  } catch (...) {  // out of memory: a lost line must not become a lost request
    drop(1);
  }
}

void Core::append(Gathered& gathered, Severity severity, std::string_view event, Fields fields) {
  const bool is_urgent = severity >= Severity::warning;
  const std::string_view time = gathered.time.of(clock_.now_ms());
  const std::size_t bytes_max = log_line_bytes_max(event, fields) + 1;
  LogBlocks& blocks = gathered.blocks;
  if (bytes_max <= blocks.room() ||
      (bytes_max <= bytes_left_empty_max && blocks.make_room(bytes_max, is_urgent))) {
    char* const line = blocks.place();
    char* end = render_log_line(line, time, severity, event, fields);
    *end++ = '\n';
    blocks.committed(static_cast<std::size_t>(end - line));
  } else {
    append_aside(gathered, time, severity, event, fields);
  }
  if (blocks.has_filled_some() || is_urgent) wake();
}

// Renders separately a line whose room is not certain, to learn its length first.
void Core::append_aside(Gathered& gathered, std::string_view time, Severity severity,
                        std::string_view event, Fields fields) {
  const std::string line = line_within_a_block(time, severity, event, fields);
  if (line.size() > log_block_bytes ||
      !gathered.blocks.make_room(line.size(), severity >= Severity::warning)) {
    return drop(1);
  }
  std::memcpy(gathered.blocks.place(), line.data(), line.size());
  gathered.blocks.committed(line.size());
}

void Core::drop(std::uint64_t lines) noexcept {
  dropped_.fetch_add(lines, std::memory_order_relaxed);
  if (settings_.dropped != nullptr) settings_.dropped->add(lines);
}

// The first waker wakes the log's Thread for all, until that Thread checks.
void Core::wake() noexcept {
  if (!is_woken_.exchange(true, std::memory_order_acq_rel)) ::eventfd_write(wake_up_, 1);
}

void Core::gather_here() {
  auto gathered = std::make_unique<Gathered>();
  const std::lock_guard lock(shared_mutex_);
  const std::uint32_t at = count_.load(std::memory_order_relaxed);
  if (at == threads_max) return;
  seat_here = {number_, gathered.get()};
  all_[at].store(gathered.release(), std::memory_order_relaxed);
  count_.store(at + 1, std::memory_order_release);
}

void Core::run() noexcept {
  name_this_thread("log");
  is_log_thread = true;
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  for (bool is_last = false; !is_last;) {
    pollfd entry{wake_up_, POLLIN, 0};
    if (!is_stopping_.load()) ::poll(&entry, 1, settings_.gather_ms);
    eventfd_t wakes = 0;
    ::eventfd_read(wake_up_, &wakes);
    is_woken_.exchange(false, std::memory_order_acq_rel);
    is_last = is_stopping_.load();
    take_turn(std::numeric_limits<std::int64_t>::max());
    write_all([this](std::string_view lines) {
      write_or_drop(lines);
      return lines.size();
    });
    tell_dropped();
    is_writing_.store(false, std::memory_order_release);
  }
  ::eventfd_write(ended_, 1);
}

bool Core::take_turn(std::int64_t until_ms) noexcept {
  while (is_writing_.exchange(true, std::memory_order_acquire)) {
    if (patience_until(0) >= until_ms) return false;
    ::poll(nullptr, 0, nap_ms);
  }
  return true;
}

// REQUIRES: the turn. Passes bytes on until none are left, or until `take` takes less than it was
// given.
template <class Take>
void Core::write_all(Take take) noexcept {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t at = 0; at < count; ++at) {
    LogBlocks& blocks = all_[at].load(std::memory_order_relaxed)->blocks;
    for (int piece = 0; piece < pieces_per_turn; ++piece) {
      const std::string_view bytes = blocks.next_bytes();
      if (bytes.empty()) break;
      const std::size_t taken = take(bytes);
      blocks.taken(taken);
      if (taken < bytes.size()) return;
    }
  }
}

// Waits for a slow reader; writes less than all only when the descriptor has failed.
std::size_t Core::write_some(std::string_view bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(settings_.descriptor, bytes.data() + done, bytes.size() - done);
    while (is_abandoned_.load()) ::pause();  // members may be destroyed already
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written < 0 && errno == EAGAIN) {  // another owner made the descriptor non-blocking
      pollfd entry{settings_.descriptor, POLLOUT, 0};
      ::poll(&entry, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      break;
    }
  }
  if (done > 0) is_torn_ = bytes[done - 1] != '\n';
  return done;
}

// Lines are dropped; a full disk may have room again later.
void Core::write_or_drop(std::string_view lines) noexcept {
  if (is_torn_) write_some("\n");
  const std::size_t done = is_torn_ ? 0 : write_some(lines);
  if (done == lines.size()) return;
  drop(static_cast<std::uint64_t>(
      std::count(lines.begin() + static_cast<std::ptrdiff_t>(done), lines.end(), '\n')));
}

void Core::tell_dropped() noexcept {
  const std::uint64_t dropped = dropped_.load(std::memory_order_relaxed);
  if (dropped == told_dropped_ || is_torn_) return;
  try {
    const std::string line =
        render_log_line(text::rfc3339(clock_.now_ms()), Severity::error, "log_lines_dropped",
                        {{"count", dropped - told_dropped_}}) +
        '\n';
    if (write_some(line) == line.size()) told_dropped_ = dropped;
  } catch (...) {  // out of memory: reported the next time
  }
}

void Core::write_gathered() noexcept {
  const std::int64_t until_ms = patience_until(settings_.patience_ms);
  // If the log's own Thread was hit, it may already have the turn.
  if (!is_log_thread && !take_turn(until_ms)) return;
  write_all(
      [&](std::string_view lines) { return patient_write(settings_.descriptor, lines, until_ms); });
  is_writing_.store(false, std::memory_order_release);
}

bool Core::stop() noexcept {
  is_stopping_.store(true);
  ::eventfd_write(wake_up_, 1);
  const std::int64_t until_ms = patience_until(settings_.patience_ms);
  for (;;) {
    const std::int64_t left_ms = std::max<std::int64_t>(until_ms - patience_until(0), 0);
    pollfd entry{ended_, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left_ms));
    if (ready > 0) return true;
    if (ready == 0) break;
  }
  is_abandoned_.store(true);
  return false;
}

class GatheringLog final : public ProcessLog {
 public:
  GatheringLog(const Clock& clock, const LogSettings& settings)
      : core_(std::make_shared<Core>(clock, settings)), thread_([core = core_] { core->run(); }) {}

  ~GatheringLog() override {
    if (core_->stop()) {
      thread_.join();
    } else {
      thread_.detach();  // it hangs in a write, and ends with the process
    }
  }

  void write(Severity severity, std::string_view event,
             std::initializer_list<LogField> fields) noexcept override {
    core_->write(severity, event, {fields.begin(), fields.size()});
  }
  void gather_here() override { core_->gather_here(); }
  [[nodiscard]] Severity minimum() const noexcept override { return core_->minimum(); }
  void set_minimum(Severity minimum) noexcept override { core_->set_minimum(minimum); }
  void write_gathered() noexcept override { core_->write_gathered(); }

 private:
  const std::shared_ptr<Core> core_;
  std::thread thread_;
};

class SilentLog final : public Log {
 public:
  void write(Severity, std::string_view, std::initializer_list<LogField>) noexcept override {}
};

}  // namespace

std::unique_ptr<ProcessLog> make_process_log(const Clock& clock, const LogSettings& settings) {
  return std::make_unique<GatheringLog>(clock, settings);
}

std::unique_ptr<Log> make_silent_log() { return std::make_unique<SilentLog>(); }

}  // namespace turnpike::base
