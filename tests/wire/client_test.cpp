// The client against upstreams that send exactly the bytes of each case. Every case runs on a fiber
// and on a plain Thread, since both must behave alike.
#include "wire/client.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <turnpike/call.h>

#include "runtime/runtime.h"
#include "runtime/wait.h"
#include "support/deaf_socket.h"
#include "wire/scripted_upstream.h"

namespace turnpike::wire {
namespace {

class TestCall final : public Call {
 public:
  explicit TestCall(std::int64_t timeout_ms) : deadline_(runtime::Deadline::after_ms(timeout_ms)) {}
  std::string_view request_id() const noexcept override { return "test"; }
  std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  bool cancelled() const noexcept override { return is_cancelled || runtime::cancelled(); }
  bool sleep_ms(std::uint32_t) noexcept override { return false; }
  std::atomic<bool> is_cancelled{false};
  void extend(std::int64_t ms) { deadline_.ns += ms * 1'000'000; }

 private:
  runtime::Deadline deadline_;
};

class TestSink final : public HttpSink {
 public:
  bool head(int new_status, Headers headers, std::optional<std::uint64_t> new_length) override {
    ++heads;
    status = new_status;
    length = new_length;
    for (const HeaderField& field : headers) {
      fields.append(field.name).append("=").append(field.value).append(";");
    }
    return accepts_head;
  }
  bool body(std::string_view bytes) override {
    text += bytes;
    return text.size() < stop_at;
  }
  int heads = 0;
  int status = 0;
  std::optional<std::uint64_t> length;
  std::string fields;
  std::string text;
  bool accepts_head = true;
  std::size_t stop_at = std::string::npos;
};

enum class Where { fiber, thread };

class ClientTest : public testing::TestWithParam<Where> {
 protected:
  static HttpOptions local() {
    HttpOptions options;
    options.allow_private_addresses = true;
    return options;
  }
  // Runs `function` where the parameter says and waits for its end.
  template <class F>
  void run(F function) {
    if (GetParam() == Where::thread) return function();
    runtime::Event done;
    runtime_.loops()[0]->spawn([&] {
      function();
      done.set();
    });
    ASSERT_EQ(done.wait(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  }
  Done call(const HttpRequest& request, const HttpOptions& options, TestSink& sink,
            std::int64_t timeout_ms = patience_ms) {
    std::optional<Done> done;
    run([&] {
      TestCall circumstances(timeout_ms);
      done.emplace(client_->call(request, options, sink, circumstances));
    });
    return done ? *done : Failure{FailureKind::plugin_fault, "did not return", {}, false};
  }
  Done get(const std::string& url, TestSink& sink, std::int64_t timeout_ms = patience_ms) {
    return call({Method::get, url, {}, {}}, local(), sink, timeout_ms);
  }
  Failure failure_of(const std::string& reply, TestSink& sink) {
    const ScriptedUpstream upstream(once(reply));
    const Done done = get(upstream.url("/secret?token=secret"), sink);
    EXPECT_FALSE(done.ok()) << reply;
    if (done.ok()) return {};
    EXPECT_EQ(done.error().message.find("secret"), std::string::npos) << done.error().message;
    return done.error();
  }
  void make(const ClientSettings& settings) {
    client_.reset();
    client_ = make_client(runtime_, settings);
  }

  runtime::Runtime runtime_{{}};
  std::unique_ptr<Client> client_ = make_client(runtime_, {});
};

INSTANTIATE_TEST_SUITE_P(Places, ClientTest, testing::Values(Where::fiber, Where::thread),
                         [](const auto& place) {
                           return place.param == Where::fiber ? "fiber" : "thread";
                         });

const std::string hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";

TEST_P(ClientTest, SendsTheRequestAndReadsTheReply) {
  std::string seen;
  const ScriptedUpstream upstream([&seen](RawSocket& client, int) {
    seen = client.read_past("\r\n\r\n").value_or("");
    client.fill(4);
    seen += client.take(4);
    client.send(hello);
  });
  const HeaderField fields[] = {{"X-Key", "v"}, {"Content-Length", "99"}, {"host", "evil"}};
  TestSink sink;
  const std::string url = upstream.url("/a%2Fb?x=1&x=2");
  const Done done = call({Method::post, url, fields, "body"}, local(), sink);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(seen,
            "POST /a%2Fb?x=1&x=2 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(upstream.port()) +
                "\r\nAccept-Encoding: identity\r\nX-Key: v\r\nUser-Agent: turnpike\r\n"
                "Content-Length: 4\r\n\r\nbody");
  EXPECT_EQ(sink.status, 200);
  EXPECT_EQ(sink.length, 5u);
  EXPECT_EQ(sink.fields, "Content-Length=5;X-A=b;");
  EXPECT_EQ(sink.text, "hello");
}

TEST_P(ClientTest, ReusesAConnectionOnlyAfterAWholeReply) {
  const ScriptedUpstream upstream(always(hello));
  for (int round = 0; round < 3; ++round) {
    TestSink sink;
    ASSERT_TRUE(get(upstream.url(), sink).ok());
    EXPECT_EQ(sink.text, "hello");
  }
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_P(ClientTest, FreshConnectionsAreFresh) {
  const ScriptedUpstream upstream(once(hello));
  for (int round = 0; round < 3; ++round) {
    TestSink sink;
    HttpOptions options = local();
    options.fresh_connection = true;
    ASSERT_TRUE(call({Method::get, upstream.url(), {}, {}}, options, sink).ok());
  }
  EXPECT_EQ(upstream.connections(), 3);
}

TEST_P(ClientTest, DoesNotReuseWhatTheUpstreamClosesOrSpoils) {
  for (const std::string& reply :
       {hello + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
        std::string("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")}) {
    const ScriptedUpstream upstream(once(reply));
    for (int round = 0; round < 2; ++round) {
      TestSink sink;
      const Done done = get(upstream.url(), sink);
      ASSERT_TRUE(done.ok()) << done.error().message;
      EXPECT_EQ(sink.text, "hello");
    }
    EXPECT_EQ(upstream.connections(), 2);
  }
}

TEST_P(ClientTest, NoticesThatAnIdleConnectionWasClosed) {
  const ScriptedUpstream upstream(once(hello));
  TestSink first;
  ASSERT_TRUE(get(upstream.url(), first).ok());
  // The upstream closes after its only reply. Once the client has received the close, it does not
  // use the connection again; until then, a failure says that the request may have been sent.
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 1000);
    TestSink sink;
    const Done done = get(upstream.url(), sink);
    if (done.ok()) break;
    EXPECT_EQ(done.error().kind, FailureKind::transport);
  }
  EXPECT_GE(upstream.connections(), 2);
}

TEST_P(ClientTest, RepliesThatAreNotHttpAreContractFailures) {
  const char* replies[] = {
      "ICY 200 OK\r\n\r\n",
      "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 99 Odd\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 20x OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\nclose-delimited",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: a\r\n b\r\n\r\nabc",
      "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
      "HTTP/1.1 200 OK\r\nX: a\x01"
      "b\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 101 Switching\r\n\r\n",
  };
  for (const char* reply : replies) {
    TestSink sink;
    const Failure failure = failure_of(reply, sink);
    EXPECT_EQ(failure.kind, FailureKind::contract) << reply << failure.message;
    EXPECT_TRUE(failure.maybe_sent) << reply;
    EXPECT_EQ(sink.heads, 0) << reply;
  }
  std::string interim;
  for (int at = 0; at < 20; ++at) interim += "HTTP/1.1 102 Processing\r\n\r\n";
  TestSink sink;
  EXPECT_EQ(failure_of(interim + hello, sink).kind, FailureKind::contract);
}

TEST_P(ClientTest, BodiesCutShortAreFailures) {
  struct Cut {
    const char* reply;
    FailureKind kind;
  };
  const Cut cuts[] = {
      {"", FailureKind::transport},
      {"HTTP/1.1 200", FailureKind::transport},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", FailureKind::transport},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
       FailureKind::transport},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", FailureKind::transport},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
       FailureKind::transport},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\nhello", FailureKind::contract},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n",
       FailureKind::contract},
  };
  for (const Cut& cut : cuts) {
    TestSink sink;
    const Failure failure = failure_of(cut.reply, sink);
    EXPECT_EQ(failure.kind, cut.kind) << cut.reply << failure.message;
    EXPECT_TRUE(failure.maybe_sent);
  }
}

TEST_P(ClientTest, RepliesWithoutBodyAndInChunks) {
  for (const char* reply : {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
                            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
                            "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",
                            "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    const ScriptedUpstream upstream(always(reply));
    for (int round = 0; round < 2; ++round) {
      TestSink sink;
      ASSERT_TRUE(get(upstream.url(), sink).ok()) << reply;
      EXPECT_EQ(sink.length, 0u);
      EXPECT_EQ(sink.text, "");
    }
    EXPECT_EQ(upstream.connections(), 1);
  }
  const ScriptedUpstream chunked(
      always("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\n"
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
             "5;e=f\r\nhello\r\n6\r\n world\r\n0\r\nT: u\r\n\r\n"));
  for (int round = 0; round < 2; ++round) {
    TestSink sink;
    const Done done = get(chunked.url(), sink);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(sink.heads, 1);
    EXPECT_EQ(sink.fields, "Transfer-Encoding=chunked;");
    EXPECT_EQ(sink.length, std::nullopt);
    EXPECT_EQ(sink.text, "hello world");
  }
  EXPECT_EQ(chunked.connections(), 1);
}

// Such a body must not be read as the next caller's reply.
TEST_P(ClientTest, ABodyWhereNoneMayBeSpoilsTheConnectionOnly) {
  for (const char* head : {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
                           "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
                           "HTTP/1.1 204 No Content\r\n\r\n"}) {
    const ScriptedUpstream upstream(always(std::string(head) + "hello"));
    for (int round = 0; round < 3; ++round) {
      TestSink sink;
      const Done done = get(upstream.url(), sink);
      ASSERT_TRUE(done.ok()) << done.error().message;
      EXPECT_EQ(sink.length, 0u);
      EXPECT_EQ(sink.text, "");
    }
    EXPECT_EQ(upstream.connections(), 3);
  }
}

// The stray bytes arrive while the connection is idle in the pool.
TEST_P(ClientTest, StrayBytesOnARestingConnectionAreNobodysReply) {
  runtime::Event rests;
  runtime::Event strayed;
  const ScriptedUpstream upstream([&](RawSocket& client, int number) {
    client.read_past("\r\n\r\n");
    client.send(hello);
    if (number > 0) return;
    rests.wait(runtime::Deadline::after_ms(patience_ms));
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    EXPECT_TRUE(client.has_been_taken());
    strayed.set();
    client.is_closed_by_peer();
  });
  TestSink first;
  ASSERT_TRUE(get(upstream.url(), first).ok());
  rests.set();
  strayed.wait(runtime::Deadline::after_ms(patience_ms));
  TestSink second;
  const Done done = get(upstream.url(), second);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(second.text, "hello");
  EXPECT_EQ(upstream.connections(), 2);
}

TEST_P(ClientTest, BytesMayComeOneByOne) {
  const std::string reply =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  const ScriptedUpstream upstream([&reply](RawSocket& client, int) {
    client.read_past("\r\n\r\n");
    for (const char byte : reply) client.send({&byte, 1});
    client.is_closed_by_peer();
  });
  TestSink sink;
  ASSERT_TRUE(get(upstream.url(), sink).ok());
  EXPECT_EQ(sink.text, "hello");
  client_->stop();
}

TEST_P(ClientTest, CeilingsOfHeadAndBody) {
  ClientSettings settings;
  settings.reply_header_bytes_max = 1000;
  make(settings);
  const std::string frame = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n";
  for (const std::size_t past : {0u, 1u}) {
    std::string reply = frame;
    reply.insert(reply.find("X: ") + 3, std::string(1000 - frame.size() + past, 'v'));
    const ScriptedUpstream upstream(once(reply));
    TestSink sink;
    const Done done = get(upstream.url(), sink);
    EXPECT_EQ(done.ok(), past == 0);
    EXPECT_TRUE(done.ok() || done.error().kind == FailureKind::contract);
  }
  HttpOptions options = local();
  options.reply_bytes_max = 5;
  for (const std::string& reply :
       {hello, std::string("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n"
                    "0\r\n\r\n")}) {
    const ScriptedUpstream upstream(once(reply));
    TestSink sink;
    const Done done = call({Method::get, upstream.url(), {}, {}}, options, sink);
    const bool is_over = reply.find('!') != std::string::npos;
    EXPECT_EQ(done.ok(), !is_over) << reply;
    EXPECT_TRUE(done.ok() || done.error().kind == FailureKind::too_large);
  }
}

TEST_P(ClientTest, FramingOfAChunkedReplyIsBounded) {
  HttpOptions options = local();
  options.reply_bytes_max = 1000;
  const std::size_t limit = base::limits::chunked_bytes_max(1000);
  for (const std::size_t bytes : {limit, limit + 1}) {
    const ScriptedUpstream upstream(
        once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks_of_framing(bytes)));
    TestSink sink;
    const Done done = call({Method::get, upstream.url(), {}, {}}, options, sink);
    EXPECT_EQ(done.ok(), bytes == limit);
    EXPECT_TRUE(done.ok() || done.error().kind == FailureKind::contract);
  }
}

// With a fast upstream the call never has to wait, so it must yield by itself.
TEST(ClientOnFiber, ALongReplyLetsTheLoopsOthersHaveTheirTurn) {
  runtime::Runtime runtime({});
  const auto client = make_client(runtime, {});
  const std::string body(16 * 1024 * 1024, 'b');
  const ScriptedUpstream upstream(once(
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
  class CountingSink final : public HttpSink {
   public:
    explicit CountingSink(const int& turns) : turns_(turns) {}
    bool head(int, Headers, std::optional<std::uint64_t>) override { return true; }
    bool body(std::string_view bytes) override {
      if (std::exchange(last_turn_, turns_) != turns_) without_turn_ = 0;
      without_turn_ += bytes.size();
      longest = std::max(longest, without_turn_);
      return true;
    }
    std::size_t longest = 0;

   private:
    const int& turns_;
    int last_turn_ = 0;
    std::size_t without_turn_ = 0;
  };
  int turns = 0;  // of another fiber of the loop
  bool is_over = false;
  CountingSink sink(turns);
  runtime::Semaphore ended(0);
  runtime.loops()[0]->spawn([&] {
    for (; !is_over; ++turns) runtime::yield();
    ended.release();
  });
  runtime.loops()[0]->spawn([&] {
    TestCall circumstances(patience_ms);
    HttpOptions options;
    options.allow_private_addresses = true;
    EXPECT_TRUE(
        client->call({Method::get, upstream.url(), {}, {}}, options, sink, circumstances).ok());
    is_over = true;
    ended.release();
  });
  for (int fiber = 0; fiber < 2; ++fiber) {
    ASSERT_EQ(ended.acquire(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  }
  EXPECT_LE(sink.longest, 512u * 1024);
}

TEST_P(ClientTest, LargeBodiesBothWays) {
  const std::string body(4 * 1024 * 1024, 'b');
  const ScriptedUpstream upstream([&body](RawSocket& client, int) {
    client.read_past("\r\n\r\n");
    client.fill(body.size());
    const bool is_same = client.take(body.size()) == body;
    client.send("HTTP/1.1 " + std::string(is_same ? "200" : "500") +
                " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  TestSink sink;
  ASSERT_TRUE(call({Method::post, upstream.url(), {}, body}, local(), sink).ok());
  EXPECT_EQ(sink.status, 200);
  EXPECT_EQ(sink.text, body);
}

TEST_P(ClientTest, AnEarlyReplyIsTakenAndTheConnectionIsNotKept) {
  const std::string body(32 * 1024 * 1024, 'b');
  const ScriptedUpstream upstream([](RawSocket& client, int) {
    client.read_past("\r\n\r\n");
    client.send("HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    client.read_to_end();
  });
  TestSink sink;
  const Done done = call({Method::post, upstream.url(), {}, body}, local(), sink);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(sink.status, 413);
}

TEST_P(ClientTest, DeadlinesAndCancellation) {
  runtime::Semaphore asked(0);
  const ScriptedUpstream upstream([&asked](RawSocket& client, int) {
    if (client.read_past("\r\n\r\n")) asked.release();
    client.is_closed_by_peer();
  });
  // On a busy machine the call may time out before it sends anything, so the timeout grows until it
  // does.
  for (int timeout_ms = 50;; timeout_ms *= 2) {
    ASSERT_LT(timeout_ms, patience_ms);
    TestSink late;
    const Done timed_out = get(upstream.url(), late, timeout_ms);
    ASSERT_FALSE(timed_out.ok());
    EXPECT_EQ(timed_out.error().kind, FailureKind::timeout);
    if (timed_out.error().maybe_sent) break;
  }
  ASSERT_EQ(asked.acquire(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);

  TestSink passed;
  const Done too_late = get(upstream.url(), passed, -1);
  ASSERT_FALSE(too_late.ok());
  EXPECT_EQ(too_late.error().kind, FailureKind::timeout);
  EXPECT_FALSE(too_late.error().maybe_sent);

  TestCall circumstances(patience_ms);
  TestSink sink;
  std::optional<Done> done;
  runtime::Event ended;
  const std::string url = upstream.url();
  const auto work = [&] {
    done.emplace(client_->call({Method::get, url, {}, {}}, local(), sink, circumstances));
    ended.set();
  };
  std::thread thread;
  runtime::FiberHandle fiber;
  if (GetParam() == Where::thread) {
    thread = std::thread(work);
  } else {
    fiber = runtime_.loops()[0]->spawn(work);
  }
  ASSERT_EQ(asked.acquire(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  circumstances.is_cancelled = true;
  fiber.cancel();
  ASSERT_EQ(ended.wait(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  if (thread.joinable()) thread.join();
  ASSERT_FALSE(done->ok());
  EXPECT_EQ(done->error().kind, FailureKind::cancelled);
}

// For example, the sink may wait for a slow caller; that time does not count against the upstream.
TEST_P(ClientTest, TheDeadlineMayMoveOnWhileTheSinkIsAtWork) {
  class SlowSink final : public HttpSink {
   public:
    SlowSink(TestCall& call, runtime::Event& taken) : call_(call), taken_(taken) {}
    bool head(int, Headers, std::optional<std::uint64_t>) override { return true; }
    bool body(std::string_view bytes) override {
      if (text.empty()) {
        runtime::sleep_until({call_.deadline_ns()});
        call_.extend(patience_ms);
        taken_.set();
      }
      text += bytes;
      return true;
    }
    std::string text;

   private:
    TestCall& call_;
    runtime::Event& taken_;
  };
  // On a busy machine the first bytes may come after the timeout, so it grows until they do not.
  bool has_begun = false;
  for (int timeout_ms = 100; !has_begun; timeout_ms *= 2) {
    ASSERT_LT(timeout_ms, patience_ms);
    runtime::Event taken;
    const ScriptedUpstream upstream([&taken](RawSocket& client, int) {
      client.read_past("\r\n\r\n");
      client.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
      taken.wait(runtime::Deadline::after_ms(patience_ms));
      client.send("world");
    });
    run([&] {
      TestCall circumstances(timeout_ms);
      SlowSink sink(circumstances, taken);
      const Done done =
          client_->call({Method::get, upstream.url(), {}, {}}, local(), sink, circumstances);
      taken.set();
      if (sink.text.empty()) return;
      has_begun = true;
      EXPECT_TRUE(done.ok()) << done.error().message;
      EXPECT_EQ(sink.text, "helloworld");
    });
  }
}

TEST_P(ClientTest, TheCapMakesCallsWaitUntilTheirDeadline) {
  runtime::Semaphore asked(0);
  const ScriptedUpstream upstream([&asked](RawSocket& client, int) {
    client.read_past("\r\n\r\n");
    asked.release();
    client.is_closed_by_peer();
  });
  HttpOptions options = local();
  options.connections_max = 1;
  const std::string url = upstream.url();
  TestCall circumstances(patience_ms);
  TestSink holding;
  runtime::Event ended;
  const auto work = [&] {
    const Done done = client_->call({Method::get, url, {}, {}}, options, holding, circumstances);
    EXPECT_FALSE(done.ok());
    ended.set();
  };
  std::thread thread;
  runtime::FiberHandle fiber;
  if (GetParam() == Where::thread) {
    thread = std::thread(work);
  } else {
    fiber = runtime_.loops()[0]->spawn(work);
  }
  ASSERT_EQ(asked.acquire(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  TestSink sink;
  const Done done = call({Method::get, url, {}, {}}, options, sink, 50);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::timeout);
  EXPECT_FALSE(done.error().maybe_sent);
  EXPECT_EQ(upstream.connections(), 1);
  circumstances.is_cancelled = true;
  fiber.cancel();
  EXPECT_EQ(ended.wait(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  if (thread.joinable()) thread.join();
}

TEST_P(ClientTest, ASinkThatStopsEndsTheTransfer) {
  const ScriptedUpstream upstream(
      once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n"));
  TestSink no_head;
  no_head.accepts_head = false;
  EXPECT_FALSE(get(upstream.url(), no_head).ok());
  EXPECT_EQ(no_head.text, "");
  TestSink one_piece;
  one_piece.stop_at = 1;
  EXPECT_FALSE(get(upstream.url(), one_piece).ok());
  EXPECT_EQ(one_piece.text, "hello");
}

TEST_P(ClientTest, NothingIsSentToAddressesThatAreNotAllowed) {
  const ScriptedUpstream upstream(always(hello));
  const std::string port = std::to_string(upstream.port());
  for (const std::string host : {"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]",
                                 "10.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1",
                                 // Numbers that the resolver accepts as addresses.
                                 "2130706433", "0x7f.1", "127.1", "017700000001"}) {
    TestSink sink;
    const std::string url = "http://" + host + ":" + port + "/";
    const Done done = call({Method::get, url, {}, {}}, {}, sink);
    ASSERT_FALSE(done.ok()) << host;
    EXPECT_EQ(done.error().kind, FailureKind::transport) << host;
    EXPECT_NE(done.error().message.find("allow_private_addresses"), std::string::npos)
        << done.error().message;
    EXPECT_FALSE(done.error().maybe_sent);
  }
  // If private addresses are allowed, addresses that no host can have are still refused.
  TestSink allowed;
  EXPECT_TRUE(get("http://localhost:" + port + "/", allowed).ok());
  TestSink refused;
  EXPECT_FALSE(get("http://0.0.0.0:" + port + "/", refused).ok());
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_P(ClientTest, BadUrlsAndHeadersAreRefusedBeforeAnythingIsSent) {
  const ScriptedUpstream upstream(always(hello));
  const std::string base = upstream.url("");
  for (const std::string& url :
       {std::string(""), std::string("/x"), std::string("ftp://h/"), base + "/a b",
        base + "/a\r\nX: y", base + "/#f", std::string("http://user:pass@127.0.0.1/"),
        std::string("http://127.0.0.1:0/"), std::string("http://:80/"), base + "?q"}) {
    TestSink sink;
    EXPECT_FALSE(get(url, sink).ok()) << url;
  }
  for (const HeaderField& field :
       {HeaderField{"X", "a\r\nY: b"}, HeaderField{"X Y", "a"}, HeaderField{"", "a"}}) {
    TestSink sink;
    const HeaderField fields[] = {field};
    const Done done = call({Method::get, upstream.url(), fields, {}}, local(), sink);
    ASSERT_FALSE(done.ok());
    EXPECT_FALSE(done.error().maybe_sent);
  }
}

TEST_P(ClientTest, ConnectionRefusedIsTransportAndNotSent) {
  const support::DeafSocket deaf;
  TestSink sink;
  const Done done = get(deaf.url() + "/", sink);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::transport);
  EXPECT_FALSE(done.error().maybe_sent);
}

// The gateway lacks a resource in this case, so the upstream is not blamed.
TEST_P(ClientTest, WithoutADescriptorTheUpstreamIsUnavailableAndNothingWasSent) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UBSan makes a pipe to see whether an object may be read";
#endif
  const ScriptedUpstream upstream(always(hello));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit none_left{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  TestSink sink;
  const Done done = get(upstream.url(), sink);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::unavailable) << done.error().message;
  EXPECT_FALSE(done.error().maybe_sent);
}

// The pool's only Thread is busy, so the name cannot be resolved.
TEST(ClientOnFiber, TheConnectTimeoutIncludesTheResolutionOfTheName) {
  runtime::RuntimeOptions runtime_options;
  runtime_options.pool_threads = 1;
  runtime::Runtime runtime(runtime_options);
  const auto client = make_client(runtime, {});
  const runtime::PoolUser busy = runtime.pool().add_user("busy", 1, 1);
  runtime::Event begun;
  runtime::Event release;
  std::optional<Done> done;
  runtime::Event ended;
  std::thread blocker([&] {
    static_cast<void>(runtime.pool().run_to_end(busy, [&] {
      begun.set();
      release.wait(runtime::Deadline::after_ms(patience_ms));
    }));
  });
  begun.wait(runtime::Deadline::after_ms(patience_ms));
  runtime.loops()[0]->spawn([&] {
    HttpOptions options;
    options.allow_private_addresses = true;
    options.connect_timeout_ms = 30;
    TestCall circumstances(patience_ms);
    TestSink sink;
    done.emplace(
        client->call({Method::get, "http://localhost:1/", {}, {}}, options, sink, circumstances));
    ended.set();
  });
  EXPECT_EQ(ended.wait(runtime::Deadline::after_ms(patience_ms)), runtime::Wake::ready);
  release.set();
  blocker.join();
  ASSERT_TRUE(done.has_value() && !done->ok());
  EXPECT_EQ(done->error().kind, FailureKind::transport) << "the call's own deadline is far away";
  EXPECT_EQ(done->error().message, "resolving localhost took too long");
  EXPECT_FALSE(done->error().maybe_sent);
}

TEST_P(ClientTest, OriginsAreBounded) {
  ClientSettings settings;
  settings.origins_max = 1;
  make(settings);
  const ScriptedUpstream one(always(hello));
  const ScriptedUpstream other(always(hello));
  for (const ScriptedUpstream* upstream : {&one, &other, &one}) {
    TestSink sink;
    ASSERT_TRUE(get(upstream->url(), sink).ok());
  }
  // The first origin was evicted, and its connection with it.
  EXPECT_EQ(one.connections(), 2);
}

}  // namespace
}  // namespace turnpike::wire
