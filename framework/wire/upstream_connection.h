// UpstreamConnection: one connection to an upstream, plain or TLS, as a byte stream under a
// deadline. Idle in its pool it is watched: an end or bytes nobody asked for remove it at once.
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
  lacking,  // a descriptor or memory of ours, before anything was sent
};

// How long and for whom a call waits. On a fiber cancellation ends a wait; on a plain Thread the
// call is asked several times a second.
struct Patience {
  const Call& call;
  runtime::Deadline at_most = runtime::Deadline::never();
  // The call's own may move on while the reply is given to its sink.
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
  // Sends both; `is_begun` is set once a byte may have left, `is_whole` when all have. Ends early,
  // `done` but not whole, when the upstream answers before it has read everything.
  Io send(std::string_view head, std::string_view body, const Patience& patience, bool& is_begun,
          bool& is_whole) noexcept;
  // At least one byte, or why not.
  Io receive(char* to, std::size_t room, std::size_t& received, const Patience& patience) noexcept;
  // Why the last operation was broken, or what it lacked; for operators.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  [[nodiscard]] Origin& origin() noexcept { return origin_; }
  [[nodiscard]] std::int64_t idle_since_ns() const noexcept { return idle_since_ns_; }
  // False when it is no longer fit to be kept; then the caller destroys it.
  bool rest(std::int64_t now_ns) noexcept;
  // Back in use; false when the upstream has closed it or sent something meanwhile.
  bool rouse() noexcept;

  // Buffers that stay with the connection, so that a reused one allocates nothing.
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
  bool may_have_more_ = false;  // the last recv filled its room
  std::size_t received_since_yield_ = 0;
  runtime::Fd fd_;
  std::unique_ptr<TlsStream> tls_;
  std::int64_t idle_since_ns_ = 0;
  std::string problem_;
};

}  // namespace turnpike::wire
