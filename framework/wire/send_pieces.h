// send_pieces(): sends the rest of a message that consists of several buffers in one call.
// Header-only; any Thread.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>

namespace turnpike::wire {

// Calls sendmsg(2) without waiting, and removes the sent bytes from the pieces.
inline ssize_t send_pieces(int socket, iovec*& pieces, int& count) noexcept {
  constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  ssize_t sent = 0;
  if (count == 1) {  // send(2) is cheaper for the usual case
    sent = ::send(socket, pieces->iov_base, pieces->iov_len, flags);
  } else {
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<std::size_t>(count);
    sent = ::sendmsg(socket, &message, flags);
  }
  if (sent < 0) return sent;
  auto left = static_cast<std::size_t>(sent);
  while (count > 0 && left >= pieces->iov_len) {
    left -= pieces->iov_len;
    ++pieces;
    --count;
  }
  if (count > 0) {
    pieces->iov_base = static_cast<char*>(pieces->iov_base) + left;
    pieces->iov_len -= left;
  }
  return sent;
}

}  // namespace turnpike::wire
