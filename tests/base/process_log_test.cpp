// The process log, written to a pipe or a file that the test reads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/log_blocks.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "support/paths.h"

namespace turnpike::base {
namespace {

constexpr int never_ms = 3'600'000;  // longer than any test
constexpr int soon_ms = 30'000;      // shorter than never_ms

using Object = nlohmann::json;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) std::abort();
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_reader() { close(ends_[0]); }
  void close_writer() { close(ends_[1]); }
  void leave_open() { ends_ = {-1, -1}; }

  // Returns the next line. Fails the test and returns null if none comes in time or the pipe has
  // ended.
  Object line() {
    for (;;) {
      if (const std::size_t end = read_.find('\n', at_); end != read_.npos) {
        const std::string text = read_.substr(at_, end - at_);
        at_ = end + 1;
        Object object = Object::parse(text, nullptr, false);
        EXPECT_TRUE(object.is_object()) << text;
        return object;
      }
      if (!read_more()) return nullptr;
    }
  }
  // Returns all lines until the writing end is closed.
  std::vector<Object> rest() {
    while (read_more()) continue;
    std::vector<Object> lines;
    while (at_ < read_.size()) lines.push_back(line());
    return lines;
  }
  [[nodiscard]] bool is_empty() const {
    pollfd entry{ends_[0], POLLIN, 0};
    return at_ == read_.size() && ::poll(&entry, 1, 0) == 0;
  }

 private:
  bool read_more() {
    pollfd entry{ends_[0], POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, soon_ms), 1) << "nothing was written";
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(ends_[0], bytes.data(), bytes.size());
    if (count <= 0) return false;
    read_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  std::array<int, 2> ends_{-1, -1};
  std::string read_;
  std::size_t at_ = 0;  // everything before it was returned
};

class ProcessLogTest : public testing::Test {
 protected:
  std::unique_ptr<ProcessLog> log_on(int descriptor, int gather_ms, int patience_ms = soon_ms) {
    return make_process_log(clock_, {.minimum = Severity::info,
                                     .descriptor = descriptor,
                                     .dropped = dropped_,
                                     .gather_ms = gather_ms,
                                     .patience_ms = patience_ms});
  }
  [[nodiscard]] std::uint64_t dropped() const {
    const std::string text = metrics_->text();
    const std::string name = "\nlines_dropped ";
    return std::stoull(text.substr(text.find(name) + name.size()));
  }

  SystemClock clock_;
  std::unique_ptr<Metrics> metrics_ = make_metrics();
  Counter* dropped_ = &metrics_->counter("lines_dropped", "Dropped.", {});
  Pipe pipe_;
};

TEST_F(ProcessLogTest, WritesLinesOfTheLeastSeverityThatWasSetLast) {
  auto log = log_on(pipe_.writer(), never_ms);
  log->gather_here();
  log->write(Severity::debug, "below");
  log->write(Severity::info, "first");
  log->set_minimum(Severity::error);
  EXPECT_EQ(log->minimum(), Severity::error);
  log->write(Severity::warning, "below");
  std::thread([&] { log->write(Severity::warning, "below"); }).join();
  log->set_minimum(Severity::debug);
  log->write(Severity::debug, "second");
  log.reset();
  pipe_.close_writer();
  const auto lines = pipe_.rest();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["event"], "first");
  EXPECT_EQ(lines[1]["event"], "second");
}

TEST_F(ProcessLogTest, WritesAQuietLineByItselfAfterAWhile) {
  const auto log = log_on(pipe_.writer(), 250);
  log->gather_here();
  log->write(Severity::info, "first", {{"number", 1}});
  const auto began_ns = clock_.monotonic_ns();
  EXPECT_EQ(pipe_.line()["event"], "first");
  EXPECT_LT(clock_.monotonic_ns() - began_ns, std::int64_t{soon_ms} * 1'000'000);
}

TEST_F(ProcessLogTest, GathersLinesUntilSomeBlocksAreFullAndThenWritesThemWithoutWaiting) {
  constexpr std::size_t gathered_bytes = log_blocks_at_once * log_block_bytes;
  // The pipe can hold all lines of this test, so the log is not abandoned at its end.
  ASSERT_GT(::fcntl(pipe_.writer(), F_SETPIPE_SZ, static_cast<int>(2 * gathered_bytes)), 0);
  const auto log = log_on(pipe_.writer(), never_ms);
  log->gather_here();
  log->write(Severity::info, "gathered", {{"number", 0}});
  EXPECT_TRUE(pipe_.is_empty());
  const std::string text(1'000, 'x');
  for (std::size_t bytes = 0; bytes < gathered_bytes; bytes += text.size()) {
    if (bytes < gathered_bytes / 2) {
      EXPECT_TRUE(pipe_.is_empty());
    }
    log->write(Severity::info, "more", {{"text", text}});
  }
  EXPECT_EQ(pipe_.line()["event"], "gathered");
}

TEST_F(ProcessLogTest, WritesWarningsAndErrorsAtOnceWithWhatCameBefore) {
  const auto log = log_on(pipe_.writer(), never_ms);
  log->gather_here();
  for (const auto& [severity, name] :
       {std::pair(Severity::warning, "warning"), std::pair(Severity::error, "error")}) {
    log->write(Severity::info, "before");
    log->write(severity, "event");
    EXPECT_EQ(pipe_.line()["event"], "before");
    EXPECT_EQ(pipe_.line()["severity"], name);
  }
  std::thread([&] { log->write(Severity::error, "of another thread"); }).join();
  EXPECT_EQ(pipe_.line()["event"], "of another thread");
}

TEST_F(ProcessLogTest, LeavesOutLinesBelowItsLevel) {
  auto log = log_on(pipe_.writer(), never_ms);
  log->write(Severity::debug, "below");
  log->write(Severity::info, "shown");
  log.reset();
  pipe_.close_writer();
  const auto lines = pipe_.rest();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["event"], "shown");
}

// Each line occurs once, and the lines of one thread are in order.
void expect_all(const std::vector<Object>& lines, int threads, int each) {
  std::map<int, int> next;
  for (const Object& line : lines) {
    ASSERT_EQ(line["number"], next[line["thread"]]) << "of thread " << line["thread"];
    ++next[line["thread"]];
  }
  EXPECT_EQ(next.size(), static_cast<std::size_t>(threads));
  for (const auto& [thread, count] : next) EXPECT_EQ(count, each) << "of thread " << thread;
}

void write_on_threads(ProcessLog& log, int threads, int each) {
  std::vector<std::thread> writers;
  for (int thread = 0; thread < threads; ++thread) {
    writers.emplace_back([&log, thread, each] {
      if (thread % 3 != 0) log.gather_here();  // the others share their blocks
      for (int number = 0; number < each; ++number) {
        log.write(Severity::info, "line", {{"thread", thread}, {"number", number}});
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
}

TEST_F(ProcessLogTest, LosesNothingAtItsEnd) {
  constexpr int threads = 6;
  constexpr int each = 5'000;
  std::vector<Object> lines;
  std::thread reader([&] { lines = pipe_.rest(); });
  auto log = log_on(pipe_.writer(), 1);
  write_on_threads(*log, threads, each);
  log.reset();
  pipe_.close_writer();
  reader.join();
  EXPECT_EQ(dropped(), 0u);
  expect_all(lines, threads, each);
}

TEST_F(ProcessLogTest, WritesWhatIsGatheredForAProcessThatEndsWithoutDestroyingIt) {
  const auto log = log_on(pipe_.writer(), never_ms);
  log->gather_here();
  log->write(Severity::info, "of a loop");
  std::thread([&] { log->write(Severity::info, "of another thread"); }).join();
  log->write_gathered();
  EXPECT_EQ(pipe_.line()["event"], "of another thread");
  EXPECT_EQ(pipe_.line()["event"], "of a loop");
  EXPECT_TRUE(pipe_.is_empty());
}

TEST_F(ProcessLogTest, WritesNothingTwiceWhenTwoWrite) {
  constexpr int threads = 3;
  constexpr int each = 3'000;
  std::vector<Object> lines;
  std::thread reader([&] { lines = pipe_.rest(); });
  auto log = log_on(pipe_.writer(), 1);
  std::atomic<bool> has_ended{false};
  std::thread other([&] {
    while (!has_ended.load()) log->write_gathered();
  });
  write_on_threads(*log, threads, each);
  has_ended.store(true);
  other.join();
  log.reset();
  pipe_.close_writer();
  reader.join();
  expect_all(lines, threads, each);
}

TEST_F(ProcessLogTest, AReaderWhoTakesNothingStopsNobodyAndWhatIsDroppedIsCountedAndTold) {
  auto log = log_on(pipe_.writer(), 1);
  log->gather_here();
  const std::string text(2'000, 'x');
  int written = 0;
  while (dropped() < 10) {
    for (int number = 0; number < 100; ++number, ++written) {
      log->write(Severity::info, "line", {{"text", text}});
    }
  }
  // Lines were kept until the blocks were used up, except for those reserved for urgent lines.
  EXPECT_GT(written, int{(log_blocks_max - log_blocks_kept - 1) * log_block_bytes / 2'200});
  log->write(Severity::error, "urgent");
  std::vector<Object> lines;
  std::thread reader([&] { lines = pipe_.rest(); });
  log.reset();
  pipe_.close_writer();
  reader.join();
  std::map<std::string, std::int64_t> events;
  std::int64_t told = 0;
  for (const Object& line : lines) {
    ++events[line["event"]];
    if (line["event"] == "log_lines_dropped") told += line["count"].get<std::int64_t>();
  }
  EXPECT_EQ(events["urgent"], 1);
  EXPECT_EQ(told, static_cast<std::int64_t>(dropped()));
  EXPECT_EQ(events["line"] + told, written);
}

TEST_F(ProcessLogTest, EndsWhenItsReaderTakesNothing) {
  auto log = log_on(pipe_.writer(), 1, 50);
  const std::string text(2'000, 'x');
  for (int number = 0; number < 100; ++number) {  // more than a pipe can hold
    log->write(Severity::info, "line", {{"text", text}});
  }
  log->write_gathered();
  log.reset();
  pipe_.leave_open();  // the log's thread stays blocked on it
}

TEST_F(ProcessLogTest, AReaderWhoHasGoneEndsNoProcess) {
  auto log = log_on(pipe_.writer(), never_ms);
  pipe_.close_reader();
  log->write(Severity::error, "lost");
  log.reset();
  EXPECT_EQ(dropped(), 1u);
}

TEST_F(ProcessLogTest, ADiskThatIsFullDropsLinesAndTheNextBeginsALineOfItsOwn) {
  char path[] = "/tmp/turnpike-log-XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  ::unlink(path);
  // Room for the first line and half of the second. Beyond that, a write fails without a signal.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{120, limit.rlim_max};
  auto log = log_on(file, never_ms);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  log->write(Severity::info, "first");
  log->write(Severity::info, "second");
  log->write(Severity::error, "third");
  while (dropped() < 2) std::this_thread::yield();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  log->write(Severity::error, "fourth");
  log.reset();
  std::signal(SIGXFSZ, before);
  std::array<char, 4096> bytes{};
  const ssize_t count = ::pread(file, bytes.data(), bytes.size(), 0);
  ::close(file);
  std::istringstream text(std::string(bytes.data(), static_cast<std::size_t>(count)));
  std::vector<std::string> events;
  for (std::string line; std::getline(text, line);) {
    const Object object = Object::parse(line, nullptr, false);
    events.push_back(object.is_object() ? object["event"].get<std::string>() : "torn");
    if (events.back() == "log_lines_dropped") {
      EXPECT_EQ(object["count"], 2);
    }
  }
  EXPECT_EQ(events, (std::vector<std::string>{"first", "torn", "fourth", "log_lines_dropped"}));
}

TEST_F(ProcessLogTest, CutsALineThatIsLongerThanABlock) {
  const auto log = log_on(pipe_.writer(), never_ms);
  std::string text;
  while (text.size() < 2 * log_block_bytes) text += "\xC3\xA9\n";
  log->write(Severity::error, "long", {{"text", text}, {"after", "kept"}});
  const Object line = pipe_.line();
  EXPECT_EQ(line["after"], "kept");
  EXPECT_EQ(line["cut"], true);
  const std::string shown = line["text"];
  EXPECT_GT(shown.size(), log_block_bytes / 8);
  EXPECT_EQ(shown, text.substr(0, shown.size()));

  const std::string plain(log_block_bytes - 200, 'x');
  log->write(Severity::error, "long", {{"text", plain}});
  const Object whole = pipe_.line();
  EXPECT_EQ(whole["text"], plain);
  EXPECT_FALSE(whole.contains("cut"));
}

TEST_F(ProcessLogTest, ItsTimesAreThoseOfTheClock) {
  class Hands final : public Clock {
   public:
    [[nodiscard]] std::int64_t now_ms() const noexcept override { return at_ms; }
    [[nodiscard]] std::int64_t monotonic_ns() const noexcept override { return 0; }
    std::int64_t at_ms = 0;
  } clock;
  auto log = make_process_log(clock, {.descriptor = pipe_.writer()});
  const std::pair<std::int64_t, const char*> times[] = {
      {1'795'372'800'007, "2026-11-22T18:40:00.007Z"},
      {1'795'372'800'999, nullptr},
      {1'795'372'801'000, "2026-11-22T18:40:01.000Z"},
      {1'795'372'800'120, nullptr},
      {-1, "1969-12-31T23:59:59.999Z"},
      {0, "1970-01-01T00:00:00.000Z"}};
  for (const auto& [at_ms, text] : times) {
    clock.at_ms = at_ms;
    log->write(Severity::info, "line");
  }
  log.reset();
  for (const auto& [at_ms, text] : times) {
    const Object line = pipe_.line();
    if (text != nullptr) {
      EXPECT_EQ(line["time"], text);
    }
  }
}

// A new log may get the memory of an earlier one and must not be confused with it.
TEST_F(ProcessLogTest, AThreadThatGatheredForAnEarlierLogWritesToTheNextAllTheSame) {
  for (int round = 0; round < 3; ++round) {
    auto log = log_on(pipe_.writer(), never_ms);
    if (round != 1) log->gather_here();
    log->write(Severity::info, "line", {{"round", round}});
    log.reset();
    EXPECT_EQ(pipe_.line()["round"], round);
  }
}

}  // namespace
}  // namespace turnpike::base
