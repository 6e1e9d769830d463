// Bytes that two HTTP readers may read differently, with the required result of each: the replies,
// the number of requests that reach the handler, and whether the connection is closed. In no case
// may the handler see a request that the client put into a body.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/test_server.h"

namespace turnpike::wire {
namespace {

struct Case {
  const char* name;
  std::string bytes;
  std::vector<int> statuses;
  int handled;
  bool closes;
};

std::string post(std::string_view fields, std::string_view body = {}) {
  std::string text = "POST /echo HTTP/1.1\r\nHost: h\r\n";
  text.append(fields).append("\r\n").append(body);
  return text;
}

const std::string inner = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

std::vector<Case> length_cases() {
  const std::string size = std::to_string(inner.size());
  return {
      {"unread body with 401 is drained",
       "POST /ignore HTTP/1.1\r\nHost: h\r\nContent-Length: " + size + "\r\n\r\n" + inner +
           get("/echo"),
       {401, 200},
       2,
       false},
      {"unread chunked body with 401 is drained",
       "POST /ignore HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET "
       "/\r\n0\r\n\r\n" +
           get("/echo"),
       {401, 200},
       2,
       false},
      {"GET with an unread body",
       get("/ignore", "Content-Length: " + size + "\r\n") + inner,
       {401},
       1,
       false},
      {"both lengths, length first",
       post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner),
       {400},
       0,
       true},
      {"both lengths, coding first",
       post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n" + inner),
       {400},
       0,
       true},
      {"two different lengths",
       post("Content-Length: 0\r\nContent-Length: 5\r\n", "hello"),
       {400},
       0,
       true},
      {"two equal lengths",
       post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
       {400},
       0,
       true},
      {"a list of equal lengths", post("Content-Length: 5, 5\r\n", "hello"), {400}, 0, true},
      {"length with plus", post("Content-Length: +5\r\n", "hello"), {400}, 0, true},
      {"length with minus", post("Content-Length: -5\r\n", "hello"), {400}, 0, true},
      {"length in hex", post("Content-Length: 0x5\r\n", "hello"), {400}, 0, true},
      {"length with a letter", post("Content-Length: 5a\r\n", "hello"), {400}, 0, true},
      {"length with a blank inside", post("Content-Length: 5 5\r\n", "hello"), {400}, 0, true},
      {"length empty", post("Content-Length: \r\n", "hello"), {400}, 0, true},
      {"length past 64 bits", post("Content-Length: 18446744073709551616\r\n"), {400}, 0, true},
      {"length with leading zeros", post("Content-Length: 005\r\n", "hello"), {200}, 1, false},
  };
}

std::vector<Case> coding_cases() {
  return {
      {"no length", post(""), {411}, 0, true},
      {"unknown coding", post("Transfer-Encoding: gzip\r\n", inner), {501}, 0, true},
      {"chunked is not the last coding",
       post("Transfer-Encoding: chunked, gzip\r\n", inner),
       {501},
       0,
       true},
      {"a coding before chunked",
       post("Transfer-Encoding: gzip, chunked\r\n", inner),
       {501},
       0,
       true},
      {"identity coding", post("Transfer-Encoding: identity\r\n", inner), {501}, 0, true},
      {"chunked with a vertical tab",
       post("Transfer-Encoding: \x0b"
            "chunked\r\n",
            inner),
       {400},
       0,
       true},
      {"quoted chunked", post("Transfer-Encoding: \"chunked\"\r\n", inner), {501}, 0, true},
      {"empty coding", post("Transfer-Encoding:\r\n", inner), {400}, 0, true},
      {"chunked twice in a list",
       post("Transfer-Encoding: chunked, chunked\r\n", inner),
       {400},
       0,
       true},
      {"chunked twice on lines",
       post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", inner),
       {400},
       0,
       true},
      {"unknown coding, then chunked",
       post("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", inner),
       {501},
       0,
       true},
      {"coding with a blank before the colon",
       post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
       {400},
       0,
       true},
      {"coding in HTTP/1.0",
       "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       {400},
       0,
       true},
      {"coding in any case", post("transfer-encoding: CHUNKED\r\n", "0\r\n\r\n"), {200}, 1, false},
  };
}

std::vector<Case> chunk_cases() {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  return {
      {"chunks",
       post(chunked, "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n") + get("/echo"),
       {200, 200},
       2,
       false},
      {"chunk size in upper case and with zeros",
       post(chunked, "00A\r\n0123456789\r\n0\r\n\r\n"),
       {200},
       1,
       false},
      {"chunk extensions", post(chunked, "5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n"), {200}, 1, false},
      {"trailers are dropped",
       post(chunked, "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n") + get("/echo"),
       {200, 200},
       2,
       false},
      {"a length as trailer",
       post(chunked, "5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n"),
       {400},
       1,
       true},
      {"chunk size not hex", post(chunked, "x\r\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk size with 0x", post(chunked, "0x5\r\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk size with a sign", post(chunked, "+5\r\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk size empty", post(chunked, "\r\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk size past 64 bits",
       post(chunked, "10000000000000005\r\nhello\r\n0\r\n\r\n"),
       {400},
       1,
       true},
      {"chunk longer than said", post(chunked, "4\r\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk line with bare LF", post(chunked, "5\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk extension with bare CR",
       post(chunked, "5;a\rb\r\nhello\r\n0\r\n\r\n"),
       {400},
       1,
       true},
      {"chunk extension malformed", post(chunked, "5;=\r\nhello\r\n0\r\n\r\n"), {400}, 1, true},
      {"chunk extension without end", post(chunked, "5;" + std::string(9000, 'a')), {400}, 1, true},
      {"trailers without end", post(chunked, "0\r\nX: " + std::string(9000, 'a')), {400}, 1, true},
  };
}

std::vector<Case> head_cases() {
  using std::string_literals::operator""s;
  return {
      {"bare LF lines", "GET /echo HTTP/1.1\nHost: h\n\n", {400}, 0, true},
      {"bare LF in the fields", "GET /echo HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", {400}, 0, true},
      {"bare CR in a value", get("/echo", "X: a\rb\r\n"), {400}, 0, true},
      {"folded value", get("/echo", "X: a\r\n b\r\n"), {400}, 0, true},
      {"folded empty value", get("/echo", "X:\r\n\tb\r\n"), {400}, 0, true},
      {"folded blank tail", get("/echo", "X: a\r\n \r\n"), {400}, 0, true},
      {"fold after the request line", "GET /echo HTTP/1.1\r\n Host: h\r\n\r\n", {400}, 0, true},
      {"blank before the colon", get("/echo", "X : a\r\n"), {400}, 0, true},
      {"no colon", get("/echo", "X\r\n"), {400}, 0, true},
      {"empty name", get("/echo", ": a\r\n"), {400}, 0, true},
      {"NUL in a name", get("/echo", "X\0Y: a\r\n"s), {400}, 0, true},
      {"NUL in a value", get("/echo", "X: a\0b\r\n"s), {400}, 0, true},
      {"NUL in the target", "GET /ec\0ho HTTP/1.1\r\nHost: h\r\n\r\n"s, {400}, 0, true},
      {"control byte in a value", get("/echo", "X: a\x01\r\n"), {400}, 0, true},
      {"DEL in the target", get("/echo\x7f"), {400}, 0, true},
      {"tab in a value", get("/echo", "X: a\tb\r\n"), {200}, 1, false},
      {"byte over 0x7F in a value", get("/echo", "X: \xC3\xA9\r\n"), {200}, 1, false},
      {"no Host", "GET /echo HTTP/1.1\r\n\r\n", {400}, 0, true},
      {"two Hosts", get("/echo", "Host: h\r\n"), {400}, 0, true},
      {"malformed Host", "GET /echo HTTP/1.1\r\nHost: a/b\r\n\r\n", {400}, 0, true},
      {"two blanks in the request line", "GET  /echo HTTP/1.1\r\nHost: h\r\n\r\n", {400}, 0, true},
      {"method with a blank byte", "GE\tT /echo HTTP/1.1\r\nHost: h\r\n\r\n", {400}, 0, true},
      {"lower-case version", "GET /echo http/1.1\r\nHost: h\r\n\r\n", {400}, 0, true},
      {"HTTP/0.9", "GET /echo\r\n", {400}, 0, true},
      {"HTTP/1.2", "GET /echo HTTP/1.2\r\nHost: h\r\n\r\n", {505}, 0, true},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505}, 0, true},
      {"TLS hello", "\x16\x03\x01\x02\x00\x01\x00"s, {400}, 0, true},
      {"one empty line before", "\r\n" + get("/echo"), {200}, 1, false},
      {"absolute form", get("http://gateway.example/echo?q"), {200}, 1, false},
      {"absolute form with a user", get("http://u@h/echo"), {400}, 0, true},
      {"authority form", "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", {400}, 0, true},
      {"authority form with GET", get("h:443"), {400}, 0, true},
      {"relative target", get("echo"), {400}, 0, true},
      {"asterisk with GET", get("*"), {400}, 0, true},
      {"asterisk with OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", {404}, 1, false},
      {"upgrade is not taken",
       get("/echo", "Connection: upgrade\r\nUpgrade: h2c\r\n"),
       {200},
       1,
       false},
      {"unknown method reaches the host",
       "BREW /echo HTTP/1.1\r\nHost: h\r\n\r\n",
       {200},
       1,
       false},
      {"method too long",
       std::string(33, 'A') + " /echo HTTP/1.1\r\nHost: h\r\n\r\n",
       {400},
       0,
       true},
      {"malformed Connection", get("/echo", "Connection: ,;=\r\n"), {400}, 0, true},
  };
}

void run(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    TestServer server({}, 1);
    RawSocket client = server.connect();
    client.send(one.bytes);
    for (const int status : one.statuses) {
      const RawReply reply = client.read_reply();
      EXPECT_EQ(reply.status, status) << reply.head << reply.body;
      EXPECT_TRUE(reply.is_whole);
      EXPECT_EQ(reply.has("Connection: close\r\n"), one.closes) << reply.head;
    }
    if (one.closes) {
      client.shut_down_writing();
      EXPECT_TRUE(client.is_closed_by_peer());
    } else {
      // The connection is still in step: one more request gets its own reply.
      client.send(get("/echo?in-step"));
      EXPECT_EQ(client.read_reply().body, "GET /echo?in-step ");
    }
    EXPECT_EQ(server.handler.handled, one.handled + (one.closes ? 0 : 1));
  }
}

TEST(Smuggling, Lengths) { run(length_cases()); }
TEST(Smuggling, Codings) { run(coding_cases()); }
TEST(Smuggling, Chunks) { run(chunk_cases()); }
TEST(Smuggling, Heads) { run(head_cases()); }

// Both headers are reported even if the length is a valid number.
TEST(Smuggling, BothLengthsAreToldAsSuchInEitherOrder) {
  TestServer server({}, 1);
  for (const char* fields : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"}) {
    RawSocket client = server.connect();
    client.send(post(fields, "0\r\n\r\n"));
    const std::string said = client.read_reply().body;
    EXPECT_EQ(said.find("plain number"), said.npos) << said;
    EXPECT_NE(said.find("Transfer-Encoding"), said.npos) << said;
  }
}

// Every split of the bytes into two packets must read the same.
TEST(Smuggling, PacketsDoNotMatter) {
  TestServer server({}, 1);
  const std::string bytes =
      post("Transfer-Encoding: chunked\r\n", "5;a\r\nhello\r\n0\r\nT: x\r\n\r\n") +
      post("Content-Length: 3\r\n", "abc");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    RawSocket client = server.connect();
    client.send(bytes.substr(0, cut));
    client.send(bytes.substr(cut));
    ASSERT_EQ(client.read_reply().body, "POST /echo hello") << cut;
    ASSERT_EQ(client.read_reply().body, "POST /echo abc") << cut;
  }
  RawSocket client = server.connect();
  const std::string empty = post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n");
  for (const char byte : empty + bytes) client.send({&byte, 1});
  EXPECT_EQ(client.read_reply().body, "POST /echo ");
  EXPECT_EQ(client.read_reply().body, "POST /echo hello");
  EXPECT_EQ(client.read_reply().body, "POST /echo abc");
}

}  // namespace
}  // namespace turnpike::wire
