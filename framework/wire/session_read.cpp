// The reading half of a session: heads, bodies, and draining of unread bodies.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/fiber.h"
#include "wire/buffer_sizes.h"
#include "wire/session.h"

namespace turnpike::wire {
namespace {

using base::ErrorCode;
using runtime::Deadline;
using runtime::Wake;

constexpr std::size_t piece_bytes_min = 4 * 1024;
constexpr std::size_t piece_bytes_max = 64 * 1024;
// Time for draining an unread body; the client has its reply already.
constexpr std::int64_t drain_timeout_ms = 5'000;

// Waits of the wire itself ignore cancellation: a reply to a half-closed client must still be sent,
// and each of these waits is bounded by a deadline or by the socket's shutdown.
Wake wait_readable(runtime::Fd& fd, Deadline deadline) noexcept {
  const runtime::CancelMask mask;
  return fd.wait_readable(deadline);
}

bool is_admitted(BodyMeter* meter, std::size_t bytes) noexcept {
  return meter == nullptr || bytes == 0 || meter->admit(bytes);
}

}  // namespace

Session::Received Session::receive() noexcept {
  if (input_ == nullptr) {
    input_.reset(new char[input_bytes_initial]);
    capacity_ = input_bytes_initial;
  }
  const std::size_t room = capacity_ - end_;
  const ssize_t received = ::recv(connection_->socket(), input_.get() + end_, room, MSG_DONTWAIT);
  if (received > 0) {
    end_ += static_cast<std::size_t>(received);
    may_have_more_ = static_cast<std::size_t>(received) == room;
    return Received::bytes;
  }
  may_have_more_ = false;
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return Received::nothing_yet;
  return Received::end;
}

// Enlarges the buffer for more of the head, up to the bounds.
void Session::make_room() {
  if (end_ < capacity_) return;
  if (begin_ > 0) {
    std::memmove(input_.get(), input_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    return;
  }
  const std::size_t capacity =
      std::min(capacity_ * 2, RequestParser::head_bytes_max(bounds_) + input_bytes_initial);
  std::unique_ptr<char[]> larger(new char[capacity]);
  std::memcpy(larger.get(), input_.get(), end_);
  input_ = std::move(larger);
  capacity_ = capacity;
}

Session::Head Session::wait_for_head(Deadline& deadline, bool is_first_byte_there) {
  runtime::Fd& fd = connection_->fd();
  if (!is_first_byte_there) {
    // The hang-up may have been reported together with the last bytes: then no other event follows.
    return !fd.hung_up() && fd.arm() ? Head::none_yet : Head::complete;
  }
  if (deadline.ns == Deadline::never().ns) {
    deadline = Deadline::after_ms(connection_->home().shared().limits.head_timeout_ms);
  }
  return wait_readable(fd, deadline) == Wake::ready ? Head::complete : Head::refused;
}

// `complete` from wait_for_head() means here that reading can continue.
Session::Head Session::read_head() {
  fields_.clear();
  parser_.emplace(bounds_, fields_);
  Deadline deadline;
  bool is_new = end_ > begin_;
  for (;;) {
    if (is_new) {
      const ParseStep step = parser_->parse_head(input_.get() + begin_, end_ - begin_);
      if (step == ParseStep::complete) return Head::complete;
      if (step == ParseStep::refused) {
        body_error_ = {parser_->refusal().code, parser_->refusal().problem};
        return Head::refused;
      }
      is_new = false;
    }
    const bool has_bytes = end_ > begin_;
    if (has_bytes || may_have_more_) {
      make_room();
      const Received received = receive();
      is_new = received == Received::bytes;
      if (is_new) continue;
      if (received == Received::end) return Head::gone;
    }
    const Head waited = wait_for_head(deadline, has_bytes);
    if (waited == Head::none_yet) return waited;
    if (waited == Head::refused) {
      body_error_ = {ErrorCode::request_timeout, "The request's head did not arrive in time."};
      return Head::refused;
    }
    if (!has_bytes) may_have_more_ = true;  // something arrived: read again
  }
}

void Session::take_head() {
  method_ = parser_->method();
  path_ = parser_->target().path;
  query_ = parser_->target().query;
  target_authority_ = parser_->target().authority;
  has_query_ = parser_->target().has_query;
  version_minor_ = parser_->version_minor();
  headers_ = fields_;
  taken_ = begin_ + parser_->head_bytes();
  awaits_continue_ = parser_->expects_continue();
  keeps_alive_ = parser_->keeps_alive();
  if (parser_->is_chunked()) {
    body_length_ = std::nullopt;
    body_state_ = Body::unread;
    return;
  }
  body_length_ = parser_->body_length();
  body_left_ = *body_length_;
  body_state_ = *body_length_ == 0 ? Body::none : Body::unread;
  if (*body_length_ == 0) awaits_continue_ = false;
}

Result<std::string_view, base::Error> Session::fail_body(ErrorCode code, std::string problem) {
  body_state_ = Body::failed;
  body_error_ = {code, std::move(problem)};
  return body_error_;
}

Result<std::string_view, base::Error> Session::fail_overloaded() {
  body_state_ = Body::failed;
  body_error_ = {ErrorCode::gateway_overloaded,
                 "The gateway holds as many request bodies as it may.", 1};
  return body_error_;
}

Result<std::string_view, base::Error> Session::read_body(std::uint64_t bytes_max,
                                                         BodyMeter* meter) noexcept {
  try {
    if (body_state_ == Body::failed) return body_error_;
    if (body_state_ == Body::unread) {
      return body_length_ ? read_sized_body(bytes_max, meter) : read_chunked_body(bytes_max, meter);
    }
    return body_state_ == Body::none ? std::string_view() : body_view_;
  } catch (...) {  // out of memory
    body_state_ = Body::failed;
    return base::Error{ErrorCode::gateway_internal, {}};
  }
}

bool Session::send_continue() noexcept {
  if (!awaits_continue_) return true;
  awaits_continue_ = false;
  be_patient();
  return transmit("HTTP/1.1 100 Continue\r\n\r\n", {});
}

Session::Received Session::receive_into(char* to, std::size_t room, std::size_t& received,
                                        Deadline deadline) noexcept {
  for (;;) {
    const ssize_t got = ::recv(connection_->socket(), to, room, MSG_DONTWAIT);
    if (got > 0) {
      received = static_cast<std::size_t>(got);
      may_have_more_ = received == room;
      take_turns(received);
      return deadline.passed() ? Received::nothing_yet : Received::bytes;
    }
    may_have_more_ = false;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return Received::end;
    if (wait_readable(connection_->fd(), deadline) != Wake::ready) return Received::nothing_yet;
  }
}

Result<std::string_view, base::Error> Session::read_sized_body(std::uint64_t bytes_max,
                                                               BodyMeter* meter) {
  if (*body_length_ > bytes_max) {
    return fail_body(ErrorCode::request_body_too_large, "The body is too large.");
  }
  const auto length = static_cast<std::size_t>(*body_length_);
  if (end_ - taken_ >= length) {  // the body arrived with the head
    body_view_ = {input_.get() + taken_, length};
    taken_ += length;
    body_left_ = 0;
    awaits_continue_ = false;
    if (!is_admitted(meter, length)) return fail_overloaded();
    body_state_ = Body::read;
    return body_view_;
  }
  if (!is_admitted(meter, end_ - taken_)) return fail_overloaded();
  if (!send_continue()) return fail_body(ErrorCode::request_malformed, "The client is gone.");
  const Deadline deadline = Deadline::after_ms(connection_->home().shared().limits.body_timeout_ms);
  body_.assign(input_.get() + taken_, end_ - taken_);
  taken_ = end_;
  while (body_.size() < length) {
    // Allocates as bytes arrive, not by the announced length.
    const std::size_t at = body_.size();
    const std::size_t room =
        std::min(length - at, std::clamp(at, piece_bytes_min, piece_bytes_max));
    body_.resize(at + room);
    std::size_t received = 0;
    const Received outcome = receive_into(body_.data() + at, room, received, deadline);
    body_.resize(at + received);
    body_left_ = length - body_.size();
    if (outcome == Received::nothing_yet) {
      return fail_body(ErrorCode::request_timeout, "The body did not arrive in time.");
    }
    if (outcome == Received::end) {
      return fail_body(ErrorCode::request_malformed, "The body ended early.");
    }
    if (!is_admitted(meter, received)) return fail_overloaded();
  }
  body_view_ = body_;
  body_state_ = Body::read;
  return body_view_;
}

// Reads and decodes until the body's end; null `content` drops it.
Session::Pumped Session::pump_chunks(std::string* content, std::uint64_t content_max,
                                     BodyMeter* meter, Deadline deadline) {
  raw_chunks_.append(input_.get() + taken_, end_ - taken_);
  taken_ = end_;
  for (;;) {
    std::size_t taken = 0;
    const std::size_t content_before = content == nullptr ? 0 : content->size();
    const ParseStep step = parser_->parse_chunks(raw_chunks_, taken, content, content_max);
    raw_chunks_.erase(0, taken);
    if (step == ParseStep::refused) return Pumped::refused;
    if (content != nullptr && !is_admitted(meter, content->size() - content_before)) {
      return Pumped::not_admitted;
    }
    if (step == ParseStep::complete) return Pumped::complete;
    const std::size_t at = raw_chunks_.size();
    raw_chunks_.resize(at + input_bytes_initial);
    std::size_t received = 0;
    const Received outcome =
        receive_into(raw_chunks_.data() + at, input_bytes_initial, received, deadline);
    raw_chunks_.resize(at + received);
    if (outcome == Received::nothing_yet) return Pumped::timed_out;
    if (outcome == Received::end) return Pumped::ended_early;
  }
}

Result<std::string_view, base::Error> Session::read_chunked_body(std::uint64_t bytes_max,
                                                                 BodyMeter* meter) {
  if (end_ == taken_ && !send_continue()) {
    return fail_body(ErrorCode::request_malformed, "The client is gone.");
  }
  awaits_continue_ = false;
  body_.clear();
  switch (pump_chunks(&body_, bytes_max, meter,
                      Deadline::after_ms(connection_->home().shared().limits.body_timeout_ms))) {
    case Pumped::complete:
      break;
    case Pumped::refused:
      return fail_body(parser_->refusal().code, parser_->refusal().problem);
    case Pumped::timed_out:
      return fail_body(ErrorCode::request_timeout, "The body did not arrive in time.");
    case Pumped::ended_early:
      return fail_body(ErrorCode::request_malformed, "The body ended early.");
    case Pumped::not_admitted:
      return fail_overloaded();
  }
  body_state_ = Body::read;
  body_view_ = body_;
  return body_view_;
}

// True if an unread body can be drained after the reply, so that the connection can be kept.
bool Session::can_drain() const noexcept {
  if (body_state_ == Body::none || body_state_ == Body::read) return true;
  // A client that waits for 100 may or may not send its body after a final reply.
  if (body_state_ == Body::failed || awaits_continue_) return false;
  const ServerLimits& limits = connection_->home().shared().limits;
  return !body_length_ || *body_length_ <= limits.unread_body_drain_bytes_max;
}

// False: the connection must close.
bool Session::drain_body() noexcept {
  if (body_state_ != Body::unread) return body_state_ != Body::failed;
  const Deadline deadline = Deadline::after_ms(drain_timeout_ms);
  if (!body_length_) {
    try {
      return pump_chunks(nullptr, connection_->home().shared().limits.unread_body_drain_bytes_max,
                         nullptr, deadline) == Pumped::complete;
    } catch (...) {  // out of memory
      return false;
    }
  }
  const auto buffered = std::min<std::uint64_t>(body_left_, end_ - taken_);
  taken_ += static_cast<std::size_t>(buffered);
  body_left_ -= buffered;
  while (body_left_ > 0) {
    // Everything in the buffer belonged to this request, so the buffer is free.
    taken_ = end_ = begin_ = 0;
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, capacity_));
    std::size_t received = 0;
    if (receive_into(input_.get(), room, received, deadline) != Received::bytes) return false;
    body_left_ -= received;
  }
  return true;
}

// Makes the bytes after the current request the beginning of the next one.
void Session::next_request() noexcept {
  if (!raw_chunks_.empty()) {
    // Decoding read past the body; the leftover is shorter than one recv, so it fits.
    std::memcpy(input_.get(), raw_chunks_.data(), raw_chunks_.size());
    begin_ = 0;
    end_ = raw_chunks_.size();
    raw_chunks_.clear();
    return;
  }
  begin_ = taken_;
  if (begin_ == end_) begin_ = end_ = 0;
}

}  // namespace turnpike::wire
