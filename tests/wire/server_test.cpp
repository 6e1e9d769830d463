// The server over real sockets: bounds at the limit and one past it, replies, pipelining, clients
// that leave, deadlines, the limit on connections, draining.
#include "wire/server.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "wire/test_server.h"

namespace turnpike::wire {
namespace {

RawReply ask(const TestServer& server, std::string_view bytes) {
  RawSocket client = server.connect();
  client.send(bytes);
  return client.read_reply(bytes.starts_with("HEAD"));
}

std::string path_of(std::size_t bytes) { return "/" + std::string(bytes - 1, 'p'); }

TEST(ServerBounds, Path) {
  const TestServer server;
  const std::size_t limit = base::limits::request_path_bytes_max;
  EXPECT_EQ(ask(server, get(path_of(limit))).status, 404);
  const RawReply refused = ask(server, get(path_of(limit + 1)));
  EXPECT_EQ(refused.status, 414);
  EXPECT_EQ(refused.body.substr(0, 23), "request.target_too_long");
  // Also without the end of the line and without a query.
  EXPECT_EQ(ask(server, "GET " + path_of(limit + 1000)).status, 414);
}

TEST(ServerBounds, Query) {
  const TestServer server;
  const std::size_t limit = base::limits::request_query_bytes_max;
  const std::string query(limit, 'q');
  EXPECT_EQ(ask(server, get("/echo?" + query)).body, "GET /echo?" + query + " ");
  const std::string path = path_of(base::limits::request_path_bytes_max);
  EXPECT_EQ(ask(server, get(path + "?" + query)).status, 404);
  for (const std::size_t past : {1u, 10u, 1'000'000u}) {
    const RawReply refused = ask(server, get("/echo?" + query + std::string(past, 'q')));
    EXPECT_EQ(refused.status, 400) << past;
    EXPECT_EQ(refused.body.substr(0, 22), "request.query_too_long") << past;
  }
}

TEST(ServerBounds, HeaderBytes) {
  const TestServer server;
  const std::size_t limit = base::limits::request_header_bytes_max;
  // "Host: h\r\n" + "X: " + "\r\n" + "\r\n"
  const std::size_t value = limit - 9 - 3 - 2 - 2;
  EXPECT_EQ(ask(server, get("/echo", "X: " + std::string(value, 'v') + "\r\n")).status, 200);
  EXPECT_EQ(ask(server, get("/echo", "X: " + std::string(value + 1, 'v') + "\r\n")).status, 431);
  EXPECT_EQ(ask(server, "GET /echo HTTP/1.1\r\nX: " + std::string(limit, 'v')).status, 431);
  // The target counts separately: both may be at their limits.
  const std::string query(base::limits::request_query_bytes_max, 'q');
  EXPECT_EQ(ask(server, get("/echo?" + query, "X: " + std::string(value, 'v') + "\r\n")).status,
            200);
}

TEST(ServerBounds, HeaderFields) {
  const TestServer server;
  std::string fields;
  for (std::uint32_t at = 1; at < base::limits::request_header_fields_max; ++at) {
    fields += "X: 1\r\n";
  }
  EXPECT_EQ(ask(server, get("/echo", fields)).status, 200);
  EXPECT_EQ(ask(server, get("/echo", fields + "X: 1\r\n")).status, 431);
}

TEST(ServerBounds, Body) {
  TestServer server;
  server.handler.body_bytes_max = 100'000;
  for (const bool is_chunked : {false, true}) {
    for (const std::size_t bytes : {100'000u, 100'001u}) {
      char size[32];
      std::snprintf(size, sizeof(size), is_chunked ? "%zx" : "%zu", bytes);
      const std::string body(bytes, 'b');
      const std::string message =
          is_chunked ? "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
                           std::string(size) + "\r\n" + body + "\r\n0\r\n\r\n"
                     : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::string(size) +
                           "\r\n\r\n" + body;
      const RawReply reply = ask(server, message);
      EXPECT_EQ(reply.status, bytes == 100'000 ? 200 : 413) << is_chunked;
      EXPECT_EQ(reply.body == "POST /echo " + body, bytes == 100'000);
    }
  }
}

// Announced bytes do not count.
TEST(ServerBounds, ABodyIsMeteredAsItArrives) {
  TestServer server;
  for (const bool is_chunked : {false, true}) {
    server.handler.metered_bytes = 0;
    RawSocket client = server.connect();
    client.send("POST /metered HTTP/1.1\r\nHost: h\r\n");
    client.send(is_chunked ? "Transfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n"
                           : "Content-Length: 300002\r\n\r\nab");
    std::uint64_t sent = 2;
    for (const std::size_t more : {1u, 99'999u, 200'000u}) {
      while (server.handler.metered_bytes < sent) std::this_thread::yield();
      EXPECT_EQ(server.handler.metered_bytes, sent);
      char line[32];
      std::snprintf(line, sizeof(line), "%zx\r\n", more);
      const std::string bytes(more, 'b');
      client.send(is_chunked ? line + bytes + "\r\n" : bytes);
      sent += more;
    }
    if (is_chunked) client.send("0\r\n\r\n");
    EXPECT_EQ(client.read_reply().body, "300002");
    EXPECT_EQ(server.handler.metered_bytes, 300'002u);
  }
}

TEST(ServerBounds, ABodyThatTheMeterRefusesIs503AndTheConnectionCloses) {
  TestServer server;
  server.handler.metered_bytes_max = 100'000;
  for (const std::size_t bytes : {100'000u, 100'001u}) {
    for (const bool is_chunked : {false, true}) {
      RawSocket client = server.connect();
      char framing[64];
      std::snprintf(
          framing, sizeof(framing),
          is_chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n" : "Content-Length: %zu\r\n\r\n",
          bytes);
      client.send("POST /metered HTTP/1.1\r\nHost: h\r\n" + std::string(framing) +
                  std::string(bytes, 'b') + (is_chunked ? "\r\n0\r\n\r\n" : ""));
      const RawReply reply = client.read_reply();
      EXPECT_EQ(reply.status, bytes == 100'000 ? 200 : 503) << is_chunked;
      EXPECT_EQ(reply.has("Connection: close"), bytes > 100'000);
    }
  }
  // The whole body may already be in the buffer of the head.
  server.handler.metered_bytes_max = 1;
  EXPECT_EQ(ask(server, "POST /metered HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab").status,
            503);
}

TEST(ServerBounds, FramingOfAChunkedBody) {
  TestServer server;
  server.handler.body_bytes_max = 1000;
  const std::size_t limit = base::limits::chunked_bytes_max(1000);
  for (const std::size_t bytes : {limit, limit + 1}) {
    const RawReply reply =
        ask(server, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
                        chunks_of_framing(bytes));
    EXPECT_EQ(reply.status, bytes == limit ? 200 : 400) << reply.body;
  }
}

TEST(ServerBounds, UnreadBodyIsDrainedUpToItsBoundElseTheConnectionCloses) {
  const TestServer server;
  const std::size_t limit = base::limits::unread_body_drain_bytes_max;
  for (const std::size_t bytes : {limit, limit + 1}) {
    RawSocket client = server.connect();
    client.send("POST /ignore HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(bytes) +
                "\r\n\r\n");
    const RawReply reply = client.read_reply();
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(reply.has("Connection: close"), bytes > limit);
    client.send(std::string(bytes, 'b') + get("/echo"));
    if (bytes > limit) {
      client.shut_down_writing();
      EXPECT_TRUE(client.is_closed_by_peer());
    } else {
      EXPECT_EQ(client.read_reply().body, "GET /echo ");
    }
  }
}

TEST(ServerReplies, HeadAndBodyAreWhole) {
  const TestServer server;
  const RawReply reply = ask(server, get("/echo"));
  EXPECT_TRUE(reply.head.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << reply.head;
  EXPECT_TRUE(reply.has(" GMT\r\n"));
  EXPECT_TRUE(reply.has("Content-Length: 10\r\n"));
  EXPECT_FALSE(reply.has("Connection:"));
  const RawReply large = ask(server, get("/large"));
  EXPECT_EQ(large.body, std::string(8 * 1024 * 1024, 'x'));
}

TEST(ServerReplies, HeadRequestsHaveNoBody) {
  const TestServer server;
  RawSocket client = server.connect();
  for (const char* path : {"/echo", "/large", "/stream", "/stream?sized"}) {
    client.send("HEAD " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.read_reply(true).status, 200) << path;
  }
  client.send(get("/empty") + get("/echo"));
  const RawReply empty = client.read_reply();
  EXPECT_EQ(empty.status, 204);
  EXPECT_FALSE(empty.has("Content-Length"));
  EXPECT_EQ(client.read_reply().body, "GET /echo ");
}

TEST(ServerReplies, Streams) {
  const TestServer server;
  RawSocket client = server.connect();
  client.send(get("/stream") + get("/stream?sized") + get("/echo"));
  const RawReply chunked = client.read_reply();
  EXPECT_TRUE(chunked.has("Transfer-Encoding: chunked"));
  EXPECT_EQ(chunked.body, "0123456789");
  const RawReply sized = client.read_reply();
  EXPECT_TRUE(sized.has("Content-Length: 10"));
  EXPECT_EQ(sized.body, "0123456789");
  EXPECT_EQ(client.read_reply().body, "GET /echo ");
}

TEST(ServerReplies, ABrokenStreamNeverLooksWhole) {
  const TestServer server;
  for (const char* target : {"/cut", "/cut?sized", "/short?sized", "/over?sized", "/unfinished"}) {
    RawSocket client = server.connect();
    client.send(get(target));
    const RawReply reply = client.read_reply();
    EXPECT_EQ(reply.status, 200) << target;
    EXPECT_FALSE(reply.is_whole) << target;
    EXPECT_TRUE(client.read_to_end().has_value()) << target;
  }
}

TEST(ServerReplies, HandlersThatFailAreAnsweredFor) {
  TestServer server;
  for (const char* path : {"/throw", "/nothing", "/bad-field"}) {
    const RawReply reply = ask(server, get(path));
    EXPECT_EQ(reply.status, 500) << path;
    EXPECT_EQ(reply.body.substr(0, 16), "gateway.internal") << path;
    EXPECT_FALSE(reply.has("Injected")) << reply.head;
  }
  EXPECT_EQ(server.handler.refused, 3);
  const RawReply own = ask(server, get("/own-fields"));
  EXPECT_EQ(own.body, "x");
  EXPECT_FALSE(own.has("99"));
  EXPECT_TRUE(own.has("X-A: b\r\n"));
}

TEST(ServerReplies, Http10) {
  const TestServer server;
  RawSocket closing = server.connect();
  closing.send("GET /stream HTTP/1.0\r\n\r\n");
  const RawReply held = closing.read_reply();
  EXPECT_EQ(held.body, "0123456789");
  EXPECT_TRUE(held.has("Content-Length: 10\r\n"));
  EXPECT_TRUE(held.has("Connection: close\r\n"));
  EXPECT_TRUE(closing.is_closed_by_peer());

  RawSocket keeping = server.connect();
  for (int round = 0; round < 2; ++round) {
    keeping.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const RawReply reply = keeping.read_reply();
    EXPECT_TRUE(reply.has("Connection: keep-alive\r\n"));
    EXPECT_EQ(reply.body, "GET /echo ");
  }
}

TEST(ServerReplies, BytesBehindTheLastRequestDoNotCutItsReply) {
  TestServer server;
  RawSocket client = server.connect(4096);
  const std::string body(1024 * 1024, 'b');
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body + "\r\n");
  ASSERT_TRUE(client.has_been_taken());
  const RawReply reply = client.read_reply();
  EXPECT_TRUE(reply.is_whole) << reply.body.size();
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST(ServerReplies, PeerAddress) {
  const TestServer server;
  EXPECT_TRUE(ask(server, get("/peer")).body.starts_with("127.0.0.1:"));
}

TEST(ServerRequests, ContinueIsSentWhenTheBodyIsRead) {
  const TestServer server;
  RawSocket client = server.connect();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 100);
  client.send("hello");
  EXPECT_EQ(client.read_reply().body, "POST /echo hello");

  // The handler does not read the body: the final reply comes at once, and the connection closes.
  client.send(
      "POST /ignore HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  const RawReply refused = client.read_reply();
  EXPECT_EQ(refused.status, 401);
  EXPECT_TRUE(refused.has("Connection: close\r\n"));
}

TEST(ServerRequests, PipelinesOfAnyLengthAreAnsweredInOrder) {
  const TestServer server;
  for (int length = 1; length <= 20; ++length) {
    for (const bool closes : {false, true}) {
      RawSocket client = server.connect();
      std::string bytes;
      for (int at = 0; at < length; ++at) {
        const bool is_last = closes && at + 1 == length;
        bytes += get("/echo?" + std::to_string(at), is_last ? "Connection: close\r\n" : "");
      }
      client.send(bytes);
      if (closes) client.shut_down_writing();
      for (int at = 0; at < length; ++at) {
        ASSERT_EQ(client.read_reply().body, "GET /echo?" + std::to_string(at) + " ");
      }
      if (!closes) client.shut_down_writing();
      EXPECT_TRUE(client.is_closed_by_peer());
    }
  }
}

TEST(ServerRequests, PipelineThenResetIsSafe) {
  TestServer server;
  for (int round = 0; round < 50; ++round) {
    RawSocket client = server.connect();
    std::string bytes;
    for (int at = 0; at < 20; ++at) bytes += get(at % 2 == 0 ? "/large" : "/stream");
    client.send(bytes);
    client.reset();
  }
  EXPECT_EQ(ask(server, get("/echo")).status, 200);
}

TEST(ServerClients, LeavingCancelsTheFiberThatWaits) {
  TestServer server;
  RawSocket client = server.connect();
  client.send(get("/wait"));
  ASSERT_EQ(server.handler.entered.acquire(runtime::Deadline::after_ms(patience_ms)),
            runtime::Wake::ready);
  // A half-closed client counts as gone but still gets its reply.
  client.shut_down_writing();
  EXPECT_EQ(client.read_reply().body, "gone");
  EXPECT_TRUE(client.is_closed_by_peer());

  RawSocket rude = server.connect();
  rude.send(get("/wait"));
  ASSERT_EQ(server.handler.entered.acquire(runtime::Deadline::after_ms(patience_ms)),
            runtime::Wake::ready);
  rude.reset();
  for (int at = 0; at < 2; ++at) {
    EXPECT_EQ(server.handler.left.acquire(runtime::Deadline::after_ms(patience_ms)),
              runtime::Wake::ready);
  }
  EXPECT_EQ(server.handler.cancelled, 2);
}

// The end arrives in the same packet as the request, so there is no later event for it.
TEST(ServerClients, AnEndThatComesWithTheRequestClosesTheConnection) {
  TestServer server;
  for (int round = 0; round < 50; ++round) {
    RawSocket client = server.connect();
    client.send(get("/echo"));
    client.shut_down_writing();
    EXPECT_EQ(client.read_reply().status, 200);
    ASSERT_TRUE(client.is_closed_by_peer());
  }
}

TEST(ServerDeadlines, SlowHeadSlowBodyAndSlowReader) {
  ServerLimits limits;
  limits.head_timeout_ms = 100;
  limits.body_timeout_ms = 100;
  limits.transfer_timeout_ms = 100;
  limits.transfer_bytes_per_second_min = 1 << 30;
  TestServer server(limits);
  RawSocket slow_head = server.connect();
  slow_head.send("GET /echo HTTP/1.1\r\nHost: h\r\n");
  RawSocket slow_body = server.connect();
  slow_body.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel");
  RawSocket slow_reader = server.connect();
  slow_reader.send(get("/large"));
  const RawReply head_reply = slow_head.read_reply();
  EXPECT_EQ(head_reply.status, 408);
  EXPECT_TRUE(head_reply.has("Connection: close\r\n"));
  EXPECT_EQ(slow_body.read_reply().status, 408);
  slow_head.close();
  slow_body.close();
  // The reader begins after its reply was given up, so the reply is cut short.
  const auto until = runtime::Deadline::after_ms(patience_ms);
  while (server.server().connections_open() > 0 && !until.passed()) std::this_thread::yield();
  RawReply cut = slow_reader.read_reply();
  EXPECT_EQ(cut.status, 200);
  EXPECT_FALSE(cut.is_whole);
}

TEST(ServerDeadlines, AnIdleConnectionIsClosed) {
  ServerLimits limits;
  limits.idle_timeout_ms = 100;
  const TestServer server(limits);
  EXPECT_TRUE(server.connect().is_closed_by_peer());
}

// Whether `is_served(timeout_ms)` holds for some timeout. For a small one it may not, if a busy
// machine keeps our reader from reading for that long.
template <class F>
bool holds_for_some_timeout(F is_served) {
  for (std::uint32_t timeout_ms = 200; timeout_ms < 10'000; timeout_ms *= 2) {
    if (is_served(timeout_ms)) return true;
  }
  return false;
}

// Reads 8 MiB in more than twice the time for which a client that reads nothing is tolerated.
bool is_slow_reader_served(std::uint32_t timeout_ms) {
  constexpr std::size_t piece = 128 * 1024;
  constexpr std::size_t pieces = 64;
  ServerLimits limits;
  limits.transfer_timeout_ms = timeout_ms;
  limits.transfer_bytes_per_second_min = piece * 1'000 / timeout_ms * 5;
  const TestServer server(limits);
  RawSocket client = server.connect(32 * 1024);
  client.send(get("/large"));
  if (!client.read_past("\r\n\r\n")) return false;
  const std::int64_t begun_ns = runtime::now_ns();
  for (std::size_t taken = 0; taken < pieces; ++taken) {
    if (!client.fill(piece)) return false;
    client.take(piece);
    runtime::sleep_until(runtime::Deadline::after_ms(timeout_ms / 25));
  }
  EXPECT_GT(runtime::now_ns() - begun_ns, 2 * timeout_ms * 1'000'000ll);
  client.send(get("/echo"));
  return client.read_reply().status == 200;
}

TEST(ServerDeadlines, ASlowReaderWhoKeepsUpTheLeastRateGetsAll) {
  EXPECT_TRUE(holds_for_some_timeout(is_slow_reader_served));
}

TEST(ServerDeadlines, TimeBetweenTwoWritesIsNotTheReaders) {
  EXPECT_TRUE(holds_for_some_timeout([](std::uint32_t timeout_ms) {
    ServerLimits limits;
    limits.transfer_timeout_ms = timeout_ms;
    const TestServer server(limits);
    RawSocket client = server.connect();
    client.send(get("/pause?" + std::to_string(3 * timeout_ms)));
    return client.read_reply().body.size() == 2 * large_half_bytes;
  }));
}

TEST(ServerConnections, OneOverTheCapGets503) {
  ServerLimits limits;
  limits.connections_max = 2;
  TestServer server(limits);
  RawSocket first = server.connect();
  RawSocket second = server.connect();
  for (RawSocket* client : {&first, &second}) {
    client->send(get("/echo"));
    EXPECT_EQ(client->read_reply().status, 200);
  }
  RawSocket third = server.connect();
  const RawReply reply = third.read_reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body.substr(0, 18), "gateway.overloaded");
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(third.read_to_end().has_value());
  first.send(get("/echo"));
  EXPECT_EQ(first.read_reply().status, 200);
}

TEST(ServerDrain, CutsNoCallInFlightAndClosesTheIdle) {
  TestServer server;
  RawSocket idle = server.connect();
  idle.send(get("/echo"));
  EXPECT_EQ(idle.read_reply().status, 200);
  RawSocket busy = server.connect();
  busy.send(get("/gate"));
  ASSERT_EQ(server.handler.entered.acquire(runtime::Deadline::after_ms(patience_ms)),
            runtime::Wake::ready);
  std::thread stopping(
      [&server] { EXPECT_TRUE(server.server().drain(std::chrono::milliseconds(patience_ms))); });
  EXPECT_TRUE(idle.is_closed_by_peer());
  server.handler.gate.set();
  const RawReply reply = busy.read_reply();
  EXPECT_EQ(reply.body, "late");
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  busy.close();
  stopping.join();
  EXPECT_EQ(server.server().connections_open(), 0u);
}

// Closing a socket with unread bytes also discards what it has not sent yet.
TEST(ServerDrain, WhatIsPipelinedBehindACallInFlightDoesNotCutItsReply) {
  TestServer server;
  RawSocket idle = server.connect();
  idle.send(get("/echo"));
  EXPECT_EQ(idle.read_reply().status, 200);
  RawSocket busy = server.connect(4096);
  busy.send(get("/gate-large"));
  ASSERT_EQ(server.handler.entered.acquire(runtime::Deadline::after_ms(patience_ms)),
            runtime::Wake::ready);
  busy.send(get("/echo"));
  ASSERT_TRUE(busy.has_been_taken());
  std::thread stopping(
      [&server] { EXPECT_TRUE(server.server().drain(std::chrono::milliseconds(patience_ms))); });
  EXPECT_TRUE(idle.is_closed_by_peer());
  server.handler.gate.set();
  const RawReply reply = busy.read_reply();
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(reply.is_whole) << reply.body.size();
  EXPECT_TRUE(busy.is_closed_by_peer());
  busy.close();
  stopping.join();
  EXPECT_EQ(server.handler.handled, 2);
}

// A client that was connected before the stop gets a reply, not a reset.
TEST(ServerDrain, ServesWhatWaitedToBeAccepted) {
  runtime::Runtime runtime({});
  const auto log = base::make_silent_log();
  TestHandler handler;
  const auto server = make_server(runtime, {}, *log);
  const auto reserved = server->reserve("api", "127.0.0.1:0");
  ASSERT_TRUE(reserved.ok());
  std::vector<RawSocket> waiting;
  for (int at = 0; at < 200; ++at) {
    waiting.push_back(RawSocket::connect(reserved->address));
    waiting.back().send(get("/echo"));
  }
  ASSERT_TRUE(server->start({{"api", "127.0.0.1:0", &handler}}).ok());
  std::thread stopping(
      [&server] { EXPECT_TRUE(server->drain(std::chrono::milliseconds(patience_ms))); });
  for (RawSocket& client : waiting) {
    EXPECT_EQ(client.read_reply().status, 200);
    client.close();
  }
  stopping.join();
}

TEST(ServerDrain, BreaksOffWhatOutlivesTheDrainTime) {
  TestServer server;
  RawSocket busy = server.connect();
  busy.send(get("/wait"));
  ASSERT_EQ(server.handler.entered.acquire(runtime::Deadline::after_ms(patience_ms)),
            runtime::Wake::ready);
  EXPECT_FALSE(server.server().drain(std::chrono::milliseconds(10)));
  EXPECT_EQ(server.handler.left.acquire(runtime::Deadline::after_ms(patience_ms)),
            runtime::Wake::ready);
  EXPECT_EQ(server.handler.cancelled, 1);
}

// The client keeps the connection open, like a pool that has not noticed the close yet.
TEST(ServerDrain, IsWholeWhenWhoeverIsLeftHasHisLastReply) {
  TestServer server;
  RawSocket client = server.connect();
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 400);
  EXPECT_TRUE(server.server().drain(std::chrono::milliseconds(0)));
}

// For example because a plugin blocks where it must not.
TEST(ServerDrain, IsBoundedWhileALoopDoesNotTurn) {
  TestServer server({}, 1);
  RawSocket client = server.connect();
  client.send(get("/echo"));
  EXPECT_EQ(client.read_reply().status, 200);
  std::promise<void> stuck;
  std::promise<void> go_on;
  server.runtime().loops().front()->post([&] {
    stuck.set_value();
    go_on.get_future().wait();
  });
  stuck.get_future().wait();
  EXPECT_FALSE(server.server().drain(std::chrono::milliseconds(0)));
  EXPECT_FALSE(server.server().close(runtime::Deadline::after_ms(1)));
  go_on.set_value();
  EXPECT_TRUE(server.server().close(runtime::Deadline::never()));
}

TEST(ServerStart, TakesOverTheListenerThatWasReserved) {
  runtime::Runtime runtime({});
  const auto log = base::make_silent_log();
  TestHandler handler;
  const auto server = make_server(runtime, {}, *log);
  const auto reserved = server->reserve("api", "127.0.0.1:0");
  ASSERT_TRUE(reserved.ok());
  RawSocket early = RawSocket::connect(reserved->address);
  early.send(get("/echo"));
  const auto started = server->start({{"api", "127.0.0.1:0", &handler}});
  ASSERT_TRUE(started.ok());
  EXPECT_EQ(started->front().address, reserved->address);
  EXPECT_EQ(early.read_reply().status, 200);
}

TEST(ServerStart, SaysWhichAddressFailed) {
  TestServer taken;
  runtime::Runtime runtime({});
  const auto log = base::make_silent_log();
  const auto server = make_server(runtime, {}, *log);
  const auto started = server->start({{"api", taken.address(), &taken.handler}});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().find("api: cannot listen on " + taken.address()), std::string::npos)
      << started.error();
}

TEST(ServerStart, SeveralListenersEachWithItsHandler) {
  TestHandler first;
  TestHandler second;
  runtime::Runtime runtime({});
  const auto log = base::make_silent_log();
  const auto server = make_server(runtime, {}, *log);
  const auto started = server->start({{"a", "127.0.0.1:0", &first}, {"b", "127.0.0.1:0", &second}});
  ASSERT_TRUE(started.ok());
  ASSERT_EQ(started->size(), 2u);
  RawSocket client = RawSocket::connect((*started)[1].address);
  client.send(get("/echo", "Connection: close\r\n"));
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(first.handled, 0);
  EXPECT_EQ(second.handled, 1);
}

}  // namespace
}  // namespace turnpike::wire
