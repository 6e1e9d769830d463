// Session: the active part of a connection: the input buffer, the parser, the current reply. It is
// the Request and the Responder that a Handler sees. Pooled per loop, since idle connections need
// none.
//
// Used by the one fiber that serves the connection; before that, the loop's Thread calls receive().
#pragma once

#include <sys/uio.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/deadline.h"
#include "wire/connection.h"
#include "wire/request_parser.h"
#include "wire/server.h"

namespace turnpike::wire {

class Session final : public Request, public Responder {
 public:
  explicit Session(const HeadBounds& bounds);

  enum class Received : std::uint8_t { bytes, nothing_yet, end };
  enum class After : std::uint8_t { idle, close, linger };

  // Prepares for a connection, and resets the state of the previous one.
  void attach(Connection& connection) noexcept;
  // One recv into the input buffer; never waits.
  Received receive() noexcept;
  // Serves requests until none is left in the buffer; After::idle means that the watcher is armed.
  After run() noexcept;
  // Answers with 503 without reading: too many connections are open.
  After run_overloaded() noexcept;
  // Frees memory that a large message needed.
  void shrink() noexcept;

  // Request
  std::string_view peer_address() noexcept override;
  [[nodiscard]] std::uint64_t peer_network() const noexcept override;
  using Request::read_body;
  Result<std::string_view, base::Error> read_body(std::uint64_t bytes_max,
                                                  BodyMeter* meter) noexcept override;
  [[nodiscard]] bool client_gone() const noexcept override;

  // Responder
  bool send(int status, Headers headers, std::string_view body) noexcept override;
  bool begin(int status, Headers headers, std::optional<std::uint64_t> length) noexcept override;
  bool write(std::string_view bytes) noexcept override;
  bool finish() noexcept override;
  void cut() noexcept override;
  [[nodiscard]] bool begun() const noexcept override { return reply_ != Reply::none; }
  [[nodiscard]] std::uint64_t body_bytes_sent() const noexcept override { return body_sent_; }

 private:
  enum class Head : std::uint8_t { complete, refused, none_yet, gone };
  enum class Body : std::uint8_t { none, unread, read, failed };
  enum class Reply : std::uint8_t { none, sized, chunked, held, done, broken };
  // The end of reading a chunked body.
  enum class Pumped : std::uint8_t { complete, refused, timed_out, ended_early, not_admitted };

  // Reading
  Head read_head();
  Head wait_for_head(runtime::Deadline& deadline, bool is_first_byte_there);
  void take_head();
  void make_room();
  Result<std::string_view, base::Error> fail_body(base::ErrorCode code, std::string problem);
  Result<std::string_view, base::Error> fail_overloaded();
  Result<std::string_view, base::Error> read_sized_body(std::uint64_t bytes_max, BodyMeter* meter);
  Result<std::string_view, base::Error> read_chunked_body(std::uint64_t bytes_max,
                                                          BodyMeter* meter);
  bool send_continue() noexcept;
  Received receive_into(char* to, std::size_t room, std::size_t& received,
                        runtime::Deadline deadline) noexcept;
  Pumped pump_chunks(std::string* content, std::uint64_t content_max, BodyMeter* meter,
                     runtime::Deadline deadline);
  bool drain_body() noexcept;
  bool can_drain() const noexcept;
  void next_request() noexcept;
  bool has_unread_bytes() const noexcept;
  bool is_fiber_spent() const noexcept;

  // Serving
  void reset_reply() noexcept;
  void serve() noexcept;
  void answer_refusal(const base::Error& error) noexcept;
  void answer_failure() noexcept;

  // Writing
  bool put_head(int status, Headers headers, ReplyFraming framing);
  Persistence persistence() noexcept;
  bool transmit(std::string_view first, std::string_view second) noexcept;
  bool transmit_pieces(iovec* pieces, int count) noexcept;
  void be_patient() noexcept;
  void recover_patience() noexcept;
  bool wait_for_client() noexcept;
  bool broken() noexcept;
  void write_peer() noexcept;
  void take_turns(std::size_t moved_bytes) noexcept;

  const HeadBounds& bounds_;
  Connection* connection_ = nullptr;

  std::unique_ptr<char[]> input_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // first byte of the current request
  std::size_t taken_ = 0;  // first byte that the current request has not consumed
  std::size_t end_ = 0;
  bool may_have_more_ = false;  // the last recv filled its buffer

  std::optional<RequestParser> parser_;
  std::vector<HeaderField> fields_;
  std::string raw_chunks_;  // undecoded bytes of a chunked body
  std::string body_;
  std::string_view body_view_;
  base::Error body_error_;
  Body body_state_ = Body::none;
  std::uint64_t body_left_ = 0;  // missing bytes of a body with Content-Length
  bool awaits_continue_ = false;

  std::string output_;
  std::string held_;  // buffers a reply of unknown length for HTTP/1.0
  std::vector<OwnedHeader> held_headers_;
  int held_status_ = 0;
  Reply reply_ = Reply::none;
  bool is_head_request_ = false;
  bool keeps_alive_ = false;
  bool closes_ = false;
  bool lingers_ = false;
  bool is_refusing_ = false;
  std::uint64_t reply_left_ = 0;
  std::uint64_t body_sent_ = 0;
  std::uint64_t moved_since_yield_ = 0;  // bytes, in either direction
  std::int64_t patience_ns_ = 0;         // time for which the reply may still be blocked
  std::uint64_t unaccounted_ = 0;  // sent bytes not acknowledged at the last check
  char peer_text_[64] = {};
};

}  // namespace turnpike::wire
