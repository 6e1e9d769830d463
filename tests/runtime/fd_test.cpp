#include "runtime/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

// A connected pair of non-blocking stream sockets.
struct Pair {
  Pair() {
    int made[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made), 0);
    ours = made[0];
    theirs = made[1];
  }
  ~Pair() {
    close_ours();
    close_theirs();
  }
  void close_ours() {
    if (ours >= 0) ::close(std::exchange(ours, -1));
  }
  void close_theirs() {
    if (theirs >= 0) ::close(std::exchange(theirs, -1));
  }
  int ours = -1;
  int theirs = -1;
};

bool send_all(Fd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN || fd.wait_writable(Deadline::never()) != Wake::ready) {
      return false;
    }
  }
  return true;
}

// Receives until the peer ends and returns the number of bytes, or 0 if a wait does not end ready.
std::size_t receive_all(Fd& fd, Deadline deadline) {
  std::array<char, 16'384> buffer;
  std::size_t total = 0;
  while (true) {
    const ssize_t got = ::recv(fd.descriptor(), buffer.data(), buffer.size(), 0);
    if (got == 0) return total;
    if (got > 0) {
      total += static_cast<std::size_t>(got);
    } else if (errno != EAGAIN || fd.wait_readable(deadline) != Wake::ready) {
      return 0;
    }
  }
}

class Fds : public testing::TestWithParam<bool> {
 protected:
  Lines lines_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(OnFibersAndThreads, Fds, testing::Bool(),
                         [](const auto& it) { return it.param ? "Fibers" : "Threads"; });

TEST_P(Fds, MoreBytesThanTheSocketHoldsGoThrough) {
  Pair pair;
  constexpr std::size_t bytes = 4 * 1024 * 1024;
  std::size_t received = 0;
  lines_.start([&] {
    Fd fd(pair.ours);
    EXPECT_TRUE(send_all(fd, std::string(bytes, 'x')));
    fd.reset();
    pair.close_ours();
  });
  lines_.start([&] {
    Fd fd(pair.theirs);
    received = receive_all(fd, Deadline::never());
  });
  lines_.join();
  EXPECT_EQ(received, bytes);
}

TEST_P(Fds, AWaitEndsAtItsDeadline) {
  Pair pair;
  lines_.start([&] {
    Fd fd(pair.ours);
    EXPECT_EQ(fd.wait_readable(Deadline::after_ms(2)), Wake::deadline);
    // It is writable from the start.
    EXPECT_EQ(fd.wait_writable(Deadline::after_ms(10'000)), Wake::ready);
  });
  lines_.join();
}

TEST_P(Fds, AClosedPeerIsReadable) {
  Pair pair;
  pair.close_theirs();
  lines_.start([&] {
    Fd fd(pair.ours);
    EXPECT_EQ(fd.wait_readable(Deadline::never()), Wake::ready);
    char byte;
    EXPECT_EQ(::recv(fd.descriptor(), &byte, 1, 0), 0);
  });
  lines_.join();
}

// Rule (j): a send to a peer that is gone is an error to handle, not a signal.
TEST_P(Fds, ASendToAGonePeerRaisesNoSignal) {
  Pair pair;
  pair.close_theirs();
  lines_.start([&] {
    Fd fd(pair.ours);
    EXPECT_FALSE(send_all(fd, "x"));
    EXPECT_EQ(errno, EPIPE);
  });
  lines_.join();
}

// Call::cancelled() asks this, also in pool work for which a fiber waits, while the loop receives
// the event.
TEST(Fd, AnyThreadMayAskWhetherThePeerIsGone) {
  Lines lines(true);
  Pair pair;
  std::atomic<const Fd*> asked{nullptr};
  Event enough;
  lines.start([&] {
    const Fd fd(pair.ours);
    asked.store(&fd);
    EXPECT_EQ(enough.wait(Deadline::never()), Wake::ready);
  });
  while (asked.load() == nullptr) std::this_thread::yield();
  EXPECT_FALSE(asked.load()->hung_up());
  pair.close_theirs();
  while (!asked.load()->hung_up()) std::this_thread::yield();
  enough.set();
  lines.join();
}

TEST(Fd, OneFiberReadsWhileAnotherWrites) {
  Lines lines(true, 1);
  Pair pair;
  std::unique_ptr<Fd> shared;
  Event made;
  lines.start([&] {
    shared = std::make_unique<Fd>(pair.ours);
    made.set();
    char byte = 0;
    EXPECT_EQ(shared->wait_readable(Deadline::never()), Wake::ready);
    EXPECT_EQ(::recv(pair.ours, &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'r');
  });
  lines.start([&] {
    EXPECT_EQ(made.wait(Deadline::never()), Wake::ready);
    // Fills the socket and waits for room; only then is the reader's byte sent.
    EXPECT_TRUE(send_all(*shared, std::string(1024 * 1024, 'w')));
  });
  lines.start([&] {
    Fd fd(pair.theirs);
    std::size_t left = 1024 * 1024;
    std::array<char, 4'096> buffer;
    while (left > 0) {
      const ssize_t got = ::recv(fd.descriptor(), buffer.data(), buffer.size(), 0);
      if (got > 0) left -= static_cast<std::size_t>(got);
      if (got < 0) {
        ASSERT_EQ(fd.wait_readable(Deadline::never()), Wake::ready);
      }
    }
    EXPECT_TRUE(send_all(fd, "r"));
  });
  lines.join();
  on_fiber(lines.runtime(), [&] { shared.reset(); });
}

TEST(Fd, CancellationEndsTheWaitAndTheDescriptorStaysUsable) {
  Runtime runtime({});
  Pair pair;
  OneShot<FiberHandle> handle;
  Event ended;
  runtime.loops()[0]->spawn([&] {
    Fd fd(pair.ours);
    handle.set(Fiber::current()->handle());
    EXPECT_EQ(fd.wait_readable(Deadline::never()), Wake::cancelled);
    const CancelMask mask;
    EXPECT_EQ(::send(pair.theirs, "x", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(fd.wait_readable(Deadline::never()), Wake::ready);
    fd.reset();  // before the test closes the descriptor
    ended.set();
  });
  ASSERT_EQ(handle.wait(Deadline::never()), Wake::ready);
  handle.take().cancel();
  EXPECT_EQ(ended.wait(Deadline::never()), Wake::ready);
}

// An idle connection has no fiber. When bytes come, a fiber echoes them and the connection is idle
// again.
struct Echo final : FdWatcher {
  explicit Echo(int descriptor) : fd(descriptor, this) { idle_or_serve(); }
  void on_readable() noexcept override { serve(); }
  void on_hangup() noexcept override { hung_up.set(); }
  void serve() {
    Loop::current()->spawn([this] {
      std::array<char, 64> buffer;
      while (true) {
        const ssize_t got = ::recv(fd.descriptor(), buffer.data(), buffer.size(), 0);
        if (got == 0) return ended.set();
        if (got < 0) break;
        ++reads;
        EXPECT_TRUE(send_all(fd, {buffer.data(), static_cast<std::size_t>(got)}));
      }
      idle_or_serve();
    });
  }
  void idle_or_serve() {
    if (!fd.arm()) serve();
  }
  Fd fd;
  int reads = 0;
  Event hung_up;
  Event ended;
};

TEST(Fd, AnIdleConnectionHasNoFiber) {
  Runtime runtime({});
  Pair pair;
  std::unique_ptr<Echo> echo;
  on_fiber(runtime, [&] { echo = std::make_unique<Echo>(pair.ours); });
  Fd peer(pair.theirs);
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(send_all(peer, "ping"));
    ASSERT_EQ(peer.wait_readable(Deadline::never()), Wake::ready);
    std::array<char, 64> buffer;
    ASSERT_EQ(::recv(pair.theirs, buffer.data(), buffer.size(), 0), 4);
  }
  peer.reset();
  pair.close_theirs();
  EXPECT_EQ(echo->hung_up.wait(Deadline::never()), Wake::ready);
  EXPECT_EQ(echo->ended.wait(Deadline::never()), Wake::ready);
  on_fiber(runtime, [&] { echo.reset(); });
  EXPECT_EQ(runtime.loops()[0]->descriptors(), 0u);
}

// Rules (a) and (b): the first event of an epoll batch frees every descriptor. Their own events
// later in the same batch must find neither freed memory nor a watcher.
struct FreesAll final : FdWatcher {
  explicit FreesAll(std::vector<std::unique_ptr<FreesAll>>& among, int descriptor)
      : all(among), fd(descriptor, this) {}
  void on_readable() noexcept override {
    ++calls;
    for (auto& one : all) one->fd.reset();
  }
  inline static int calls = 0;
  std::vector<std::unique_ptr<FreesAll>>& all;
  Fd fd;
};

TEST(Fd, EventsOfOneBatchAfterTheFreeingAreDropped) {
  Runtime runtime({});
  std::vector<Pair> pairs(50);
  std::vector<std::unique_ptr<FreesAll>> all;
  FreesAll::calls = 0;
  on_fiber(runtime, [&] {
    for (const Pair& pair : pairs) {
      all.push_back(std::make_unique<FreesAll>(all, pair.ours));
    }
    // Lets the initial writable events pass; nothing is readable yet.
    yield();
    yield();
    for (const auto& one : all) ASSERT_TRUE(one->fd.arm());
    for (const Pair& pair : pairs) ASSERT_EQ(::send(pair.theirs, "x", 1, MSG_NOSIGNAL), 1);
    while (FreesAll::calls == 0) yield();
    EXPECT_EQ(FreesAll::calls, 1);
    EXPECT_EQ(Loop::current()->descriptors(), 0u);
    all.clear();
  });
}

// Rule (h): one loop accepts, and each connection goes to the loop with the fewest.
TEST(Fd, OneAcceptorHandsSocketsToTheLeastLoadedLoop) {
  RuntimeOptions options;
  options.loops = 3;
  Runtime runtime(options);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 64), 0);
  socklen_t length = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  std::vector<LoopSeat> seats;
  Semaphore answered{0};
  Event accepted_all;
  runtime.loops()[0]->spawn([&] {
    Fd fd(listener);
    while (seats.size() < 30) {
      const int accepted = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted < 0) {
        ASSERT_EQ(fd.wait_readable(Deadline::never()), Wake::ready);
        continue;
      }
      seats.push_back(runtime.take_seat());
      seats.back().loop().spawn([&, accepted] {
        {
          Fd connection(accepted);
          EXPECT_TRUE(send_all(connection, "hello"));
        }
        ::close(accepted);
        answered.release();
      });
    }
    accepted_all.set();
  });
  for (int count = 0; count < 30; ++count) {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    std::array<char, 8> buffer;
    EXPECT_EQ(::recv(client, buffer.data(), buffer.size(), 0), 5);
    ::close(client);
    ASSERT_EQ(answered.acquire(Deadline::never()), Wake::ready);
  }
  ASSERT_EQ(accepted_all.wait(Deadline::never()), Wake::ready);
  for (const auto& loop : runtime.loops()) EXPECT_EQ(loop->seats(), 10);
  seats.clear();
  for (const auto& loop : runtime.loops()) EXPECT_EQ(loop->seats(), 0);
  runtime.stop(Deadline::never(), Deadline::never());
  ::close(listener);
}

TEST(Fd, EpollRefusesARegularFile) {
  Runtime runtime({});
  on_fiber(runtime, [] {
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    EXPECT_FALSE(Fd(file).ok());
    EXPECT_FALSE(Fd().ok());
    ::close(file);
  });
}

}  // namespace
}  // namespace turnpike::runtime
