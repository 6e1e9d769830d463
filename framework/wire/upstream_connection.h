// UpstreamConnection: one connection to an upstream, plain or TLS, as a byte stream with deadlines.
// While idle in its pool it is watched: a close or unexpected bytes remove it at once.
//
// Owned by the call that uses it, else by its OriginPool. Made on a loop it belongs to that loop's
// Thread; made on a plain Thread it may be used by any plain Thread, one at a time.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/message.h>

#include "runtime/deadline.h"
#include "runtime/fd.h"
#include "wire/address.h"
#include "wire/tls.h"

namespace turnpike::wire {

class OriginPool;
struct Origin;

enum class Io : std::uint8_t {
  done,
  end,
  deadline,
  cancelled,
  broken,
  lacking,  // this process lacks a descriptor or memory; nothing was sent
};

// The limits of a wait. On a fiber cancellation ends the wait; on a plain Thread the call is polled
// several times per second.
struct Patience {
  const Call& call;
  runtime::Deadline at_most = runtime::Deadline::never();
  // The call's own deadline may move while its reply is passed to the sink.
  [[nodiscard]] runtime::Deadline deadline() const noexcept {
    return at_most.earlier({call.deadline_ns()});
  }
};

class UpstreamConnection final : private runtime::FdWatcher {
 public:
  UpstreamConnection(OriginPool& pool, Origin& origin) : pool_(pool), origin_(origin) {}
  ~UpstreamConnection();
  UpstreamConnection(const UpstreamConnection&) = delete;
  UpstreamConnection& operator=(const UpstreamConnection&) = delete;

  Io connect(const Address& address, const Patience& patience);
  Io handshake(TlsContext& context, const std::string& host, const Patience& patience);
  // Sends head and body; sets `is_begun` once a byte may have been sent, `is_whole` when all were
  // sent. Returns early, `done` but not whole, when the upstream answers before reading everything.
  Io send(std::string_view head, std::string_view body, const Patience& patience, bool& is_begun,
          bool& is_whole) noexcept;
  // Receives at least one byte, or fails.
  Io receive(char* to, std::size_t room, std::size_t& received, const Patience& patience) noexcept;
  // Why the last operation failed, or what it lacked; for operators.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  [[nodiscard]] Origin& origin() noexcept { return origin_; }
  [[nodiscard]] std::int64_t idle_since_ns() const noexcept { return idle_since_ns_; }
  // Prepares for the pool. False: the connection must not be kept; the caller then destroys it.
  bool rest(std::int64_t now_ns) noexcept;
  // Takes the connection out of the pool; false: the upstream has closed it or sent bytes
  // meanwhile.
  bool rouse() noexcept;

  // Buffers kept with the connection, so that a reused connection allocates nothing.
  std::string output;
  std::vector<HeaderField> fields;
  std::unique_ptr<char[]> input;
  std::size_t input_bytes = 0;

 private:
  void on_readable() noexcept override;
  void on_hangup() noexcept override;

  bool is_quiet() noexcept;
  Io wait(bool for_reading, const Patience& patience) noexcept;
  Io receive_some(char* to, std::size_t room, std::size_t& received,
                  const Patience& patience) noexcept;
  Io wait_for(TlsStep step, const Patience& patience) noexcept;
  Io send_plain(iovec* pieces, int count, const Patience& patience, bool& is_begun,
                bool& is_whole) noexcept;
  Io send_tls(std::string_view bytes, const Patience& patience, bool& is_begun) noexcept;
  Io failed(int error, Io as = Io::broken) noexcept;

  OriginPool& pool_;
  Origin& origin_;
  int socket_ = -1;
  bool is_watched_ = false;  // on a loop
  bool is_resting_ = false;
  bool may_have_more_ = false;  // the last recv filled its buffer
  std::size_t received_since_yield_ = 0;
  runtime::Fd fd_;
  std::unique_ptr<TlsStream> tls_;
  std::int64_t idle_since_ns_ = 0;
  std::string problem_;
};

}  // namespace turnpike::wire
