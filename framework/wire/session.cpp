#include "wire/session.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <utility>

#include "base/log.h"
#include "runtime/fiber.h"
#include "wire/buffer_sizes.h"
#include "wire/send_pieces.h"

namespace turnpike::wire {
namespace {

using base::ErrorCode;
using runtime::Deadline;
using runtime::Wake;

constexpr int requests_per_turn = 16;

}  // namespace

Session::Session(const HeadBounds& bounds) : bounds_(bounds) {
  fields_.reserve(bounds.header_fields_max);
}

void Session::attach(Connection& connection) noexcept {
  connection_ = &connection;
  begin_ = taken_ = end_ = 0;
  may_have_more_ = false;
  raw_chunks_.clear();
  peer_text_[0] = '\0';
  reset_reply();
}

void Session::shrink() noexcept {
  if (capacity_ > joined_bytes_max) {
    input_.reset();
    capacity_ = 0;
  }
  for (std::string* buffer : {&raw_chunks_, &body_, &output_, &held_}) {
    if (buffer->capacity() > kept_bytes_max) std::string().swap(*buffer);
  }
}

void Session::reset_reply() noexcept {
  method_ = path_ = query_ = {};
  headers_ = {};
  has_query_ = false;
  version_minor_ = 1;
  body_length_ = 0;
  body_state_ = Body::none;
  body_left_ = 0;
  body_view_ = {};
  awaits_continue_ = false;
  reply_ = Reply::none;
  keeps_alive_ = closes_ = lingers_ = is_refusing_ = false;
  body_sent_ = 0;
  held_.clear();
  held_headers_.clear();
}

Session::After Session::run() noexcept {
  for (int served = 1;; ++served) {
    Head head = Head::gone;
    try {
      head = read_head();
    } catch (...) {  // out of memory
    }
    if (head == Head::none_yet) return After::idle;
    if (head == Head::gone) return After::close;
    reset_reply();
    if (head == Head::refused) {
      method_ = parser_->method();
      path_ = parser_->target().path;
      query_ = parser_->target().query;
      target_authority_ = parser_->target().authority;
      has_query_ = parser_->target().has_query;
      headers_ = fields_;
      version_minor_ = parser_->version_minor();
      is_head_request_ = method_ == "HEAD";
      answer_refusal(base::Error(body_error_));
      return After::linger;
    }
    take_head();
    serve();
    if (!closes_ && is_fiber_spent()) closes_ = lingers_ = true;
    if (closes_) {
      const bool lingers = lingers_ || (reply_ == Reply::done && has_unread_bytes());
      return lingers ? After::linger : After::close;
    }
    next_request();
    if (served % requests_per_turn == 0) runtime::yield();
  }
}

// Some clients send an empty line after a body, or a request after announcing the close.
bool Session::has_unread_bytes() const noexcept {
  int bytes = 0;
  return ::ioctl(connection_->socket(), FIONREAD, &bytes) == 0 && bytes > 0;
}

// True if something other than the client's leaving cancelled the fiber: its waits all fail, so it
// can serve no further request. (Requests that a half-closed client sent before are still
// answered.)
bool Session::is_fiber_spent() const noexcept { return runtime::cancelled() && !client_gone(); }

Session::After Session::run_overloaded() noexcept {
  is_head_request_ = false;
  answer_refusal({ErrorCode::gateway_overloaded, "There are too many connections.", 1});
  return After::linger;
}

// Serves one request, from the complete head to the drained body.
void Session::serve() noexcept {
  is_head_request_ = method_ == "HEAD";
  try {
    connection_->handler().handle(*this, *this);
    if (reply_ == Reply::none) answer_failure();
  } catch (const std::exception& error) {
    connection_->home().shared().log.write(Severity::error, "handler_threw",
                                           {{"what", error.what()}});
    if (reply_ == Reply::none) answer_failure();
  } catch (...) {
    connection_->home().shared().log.write(Severity::error, "handler_threw");
    if (reply_ == Reply::none) answer_failure();
  }
  if (reply_ != Reply::done) cut();
  if (reply_ == Reply::broken) return;
  if (!closes_ && !drain_body()) closes_ = lingers_ = true;
}

void Session::answer_failure() noexcept {
  answer_refusal({ErrorCode::gateway_internal, "The gateway failed to answer."});
}

void Session::answer_refusal(const base::Error& error) noexcept {
  is_refusing_ = true;
  try {
    connection_->handler().refuse(error, *this, *this);
  } catch (...) {
    connection_->home().shared().log.write(Severity::error, "handler_threw");
  }
  if (reply_ == Reply::none) send(500, {}, {});
  if (reply_ != Reply::done) cut();
}

std::string_view Session::peer_address() noexcept {
  if (peer_text_[0] == '\0') write_peer();
  return peer_text_;
}

std::uint64_t Session::peer_network() const noexcept {
  const PeerAddress& peer = connection_->peer();
  if (peer.any.sa_family == AF_INET) return peer.v4.sin_addr.s_addr;
  if (peer.any.sa_family != AF_INET6) return 0;
  const in6_addr& address = peer.v6.sin6_addr;
  std::uint64_t network = 0;
  // An IPv4 client of a dual-stack listener has its address in the last four bytes.
  const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&address);
  std::memcpy(&network, address.s6_addr + (is_mapped ? 12 : 0), is_mapped ? 4 : 8);
  return network;
}

// Hand-written, since it runs for each request: inet_ntop and printf take longer than parsing it.
void Session::write_peer() noexcept {
  const PeerAddress& peer = connection_->peer();
  char* at = peer_text_;
  char* const end = peer_text_ + sizeof(peer_text_) - 1;
  in_port_t port = peer.v4.sin_port;
  if (peer.any.sa_family == AF_INET6) {
    port = peer.v6.sin6_port;
    *at++ = '[';
    inet_ntop(AF_INET6, &peer.v6.sin6_addr, at, INET6_ADDRSTRLEN);
    at += std::strlen(at);
    *at++ = ']';
  } else {
    const std::uint32_t host = ntohl(peer.v4.sin_addr.s_addr);
    for (int shift = 24; shift >= 0; shift -= 8) {
      at = std::to_chars(at, end, host >> shift & 0xFF).ptr;
      if (shift > 0) *at++ = '.';
    }
  }
  *at++ = ':';
  *std::to_chars(at, end, ntohs(port)).ptr = '\0';
}

bool Session::client_gone() const noexcept {
  return reply_ == Reply::broken || connection_->fd().hung_up();
}

bool Session::broken() noexcept {
  reply_ = Reply::broken;
  closes_ = true;
  return false;
}

void Session::cut() noexcept { broken(); }

// A peer that is always ready never makes this fiber wait, so it yields to the other fibers.
void Session::take_turns(std::size_t moved_bytes) noexcept {
  moved_since_yield_ += moved_bytes;
  if (moved_since_yield_ < bytes_per_turn) return;
  moved_since_yield_ = 0;
  runtime::yield();
}

Persistence Session::persistence() noexcept {
  if (is_refusing_ || !keeps_alive_ || !can_drain() || is_fiber_spent() ||
      connection_->home().shared().is_draining.load(std::memory_order_relaxed)) {
    closes_ = true;
    // Closing with unread bytes resets the connection and may lose the reply. A client that could
    // not know that this reply is the last one may have sent its next request already.
    lingers_ = is_refusing_ || keeps_alive_ || !can_drain() || body_state_ == Body::unread;
    return Persistence::close;
  }
  return version_minor_ == 0 ? Persistence::keep_alive : Persistence::implied;
}

// Writes the head into output_; false when a field is invalid.
bool Session::put_head(int status, Headers headers, ReplyFraming framing) {
  be_patient();
  framing.persistence = persistence();
  output_.clear();
  return append_reply_head(output_, status, headers, framing, connection_->home().date());
}

bool Session::send(int status, Headers headers, std::string_view body) noexcept {
  if (reply_ != Reply::none) return false;
  try {
    ReplyFraming framing;
    if (!has_no_body(status)) framing.length = body.size();
    if (!put_head(status, headers, framing)) return false;
    if (is_head_request_ || has_no_body(status)) body = {};
    reply_ = Reply::done;
    if (body.size() <= joined_bytes_max) {
      output_ += body;
      if (!transmit(output_, {})) return false;
    } else if (!transmit(output_, body)) {
      return false;
    }
    body_sent_ = body.size();
    return true;
  } catch (...) {  // out of memory
    return broken();
  }
}

bool Session::begin(int status, Headers headers, std::optional<std::uint64_t> length) noexcept {
  if (reply_ != Reply::none) return false;
  try {
    const bool is_held = !length && version_minor_ == 0 && !has_no_body(status);
    if (is_held) {
      held_status_ = status;
      for (const HeaderField& field : headers) {
        held_headers_.push_back({std::string(field.name), std::string(field.value)});
      }
      reply_ = Reply::held;
      return true;
    }
    ReplyFraming framing;
    if (!has_no_body(status)) {
      framing.length = length;
      framing.is_chunked = !length;
    }
    if (!put_head(status, headers, framing)) return false;
    if (has_no_body(status)) is_head_request_ = true;  // the written body is dropped
    reply_ = length ? Reply::sized : Reply::chunked;
    reply_left_ = length.value_or(0);
    return true;
  } catch (...) {  // out of memory
    return broken();
  }
}

bool Session::write(std::string_view bytes) noexcept {
  try {
    if (reply_ == Reply::held) {
      if (held_.size() + bytes.size() > base::limits::response_bytes_max) return broken();
      held_ += bytes;
      return true;
    }
    if (reply_ != Reply::sized && reply_ != Reply::chunked) return false;
    if (reply_ == Reply::sized) {
      if (bytes.size() > reply_left_) return broken();
      reply_left_ -= bytes.size();
    }
    const std::uint64_t size = bytes.size();
    if (is_head_request_) bytes = {};
    if (bytes.empty()) {
      const bool is_sent = output_.empty() || transmit(output_, {});
      output_.clear();
      return is_sent;
    }
    const bool is_chunk = reply_ == Reply::chunked;
    if (is_chunk) append_chunk_line(output_, bytes.size());
    iovec pieces[3] = {{output_.data(), output_.size()},
                       {const_cast<char*>(bytes.data()), bytes.size()},
                       {const_cast<char*>("\r\n"), is_chunk ? 2u : 0u}};
    if (!transmit_pieces(pieces, 3)) return false;
    output_.clear();
    body_sent_ += size;
    return true;
  } catch (...) {  // out of memory
    return broken();
  }
}

bool Session::finish() noexcept {
  try {
    if (reply_ == Reply::held) {
      std::vector<HeaderField> headers;
      for (const OwnedHeader& held : held_headers_) headers.push_back({held.name, held.value});
      reply_ = Reply::none;
      return send(held_status_, headers, held_);
    }
    if (reply_ == Reply::sized && reply_left_ == 0) {
      const bool is_sent = output_.empty() || transmit(output_, {});
      if (is_sent) reply_ = Reply::done;
      return is_sent;
    }
    if (reply_ != Reply::chunked) return reply_ == Reply::sized ? broken() : false;
    if (!is_head_request_) output_ += "0\r\n\r\n";
    if (!output_.empty() && !transmit(output_, {})) return false;
    reply_ = Reply::done;
    return true;
  } catch (...) {  // out of memory
    return broken();
  }
}

bool Session::transmit(std::string_view first, std::string_view second) noexcept {
  iovec pieces[2] = {{const_cast<char*>(first.data()), first.size()},
                     {const_cast<char*>(second.data()), second.size()}};
  return transmit_pieces(pieces, second.empty() ? 1 : 2);
}

void Session::be_patient() noexcept {
  patience_ns_ = std::int64_t{connection_->home().shared().limits.transfer_timeout_ms} * 1'000'000;
  unaccounted_ = 0;
}

// Bytes that the client has acknowledged since the last check extend its time. Whether the socket
// is writable would say too little: it is only when a third of a large buffer is free.
void Session::recover_patience() noexcept {
  int queued = 0;
  if (::ioctl(connection_->socket(), SIOCOUTQ, &queued) != 0) return;
  const auto outstanding = static_cast<std::uint64_t>(queued);
  const std::uint64_t taken = unaccounted_ > outstanding ? unaccounted_ - outstanding : 0;
  unaccounted_ = outstanding;
  const ServerLimits& limits = connection_->home().shared().limits;
  const std::uint64_t won_ns = taken * 1'000'000'000 / limits.transfer_bytes_per_second_min;
  patience_ns_ = std::min(patience_ns_ + static_cast<std::int64_t>(won_ns),
                          std::int64_t{limits.transfer_timeout_ms} * 1'000'000);
}

// Waits until the socket is writable; false when the client is too slow.
bool Session::wait_for_client() noexcept {
  const runtime::CancelMask mask;
  for (;;) {
    recover_patience();
    if (patience_ns_ <= 0) return false;
    const std::int64_t before_ns = runtime::now_ns();
    const Wake wake = connection_->fd().wait_writable(Deadline{before_ns + patience_ns_});
    patience_ns_ -= runtime::now_ns() - before_ns;
    if (wake != Wake::deadline) return wake == Wake::ready;
  }
}

// Sends everything, or aborts the connection. Consumes the pieces.
bool Session::transmit_pieces(iovec* pieces, int count) noexcept {
  while (count > 0) {
    const ssize_t sent = send_pieces(connection_->socket(), pieces, count);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return broken();
      if (!wait_for_client()) return broken();
      continue;
    }
    unaccounted_ += static_cast<std::uint64_t>(sent);
    take_turns(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace turnpike::wire
