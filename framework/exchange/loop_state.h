// LoopState: serve()'s state per loop: the number of calls in flight, in total and per account, and
// the buffers that finished calls leave to later ones, so that a call in the steady state allocates
// nothing here.
//
// One per loop Thread, owned by app/; used by that Thread alone, outlives its calls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/message.h>

#include "base/limits.h"

namespace turnpike::exchange {

// Counts by account, under a 64-bit hash of its id: two accounts that collide share a count, which
// may only refuse a call too early. Open addressing; grows, never shrinks.
class AccountCounts {
 public:
  AccountCounts();
  // False when the account already has `calls_max` calls.
  [[nodiscard]] bool enter(std::uint64_t account, std::uint32_t calls_max);
  // REQUIRES: enter() succeeded before.
  void leave(std::uint64_t account) noexcept;
  [[nodiscard]] std::size_t accounts() const noexcept { return used_; }

 private:
  struct Cell {
    std::uint64_t account = 0;
    std::uint32_t calls = 0;  // 0: free
  };
  [[nodiscard]] std::size_t find(std::uint64_t account) const noexcept;
  void grow();

  std::vector<Cell> cells_;  // size is a power of two, at most half full
  std::size_t used_ = 0;
};

// The buffers of one call.
struct Scratch {
  std::string body;                        // of the reply, or the withheld end of a streamed reply
  std::string copy;                        // copy of a streamed reply's body, for storage
  std::string header_text;                 // names and values of reply_headers
  std::vector<HeaderField> reply_headers;  // views into header_text
  std::vector<HeaderField> forwarded;
  std::vector<HeaderField> credentials;
  std::string decoded;  // path parameters that contained escapes
  std::array<PathParameter, base::limits::route_parameters_max> parameters;
};

class LoopState {
 public:
  struct Caps {
    std::uint32_t calls = base::limits::calls_per_loop_max;
    // This loop's share of the calls that an account may have in flight on the node.
    std::uint32_t calls_per_account = base::limits::calls_per_account_max;
  };

  explicit LoopState(const Caps& caps) : caps_(caps) {}
  LoopState(const LoopState&) = delete;
  LoopState& operator=(const LoopState&) = delete;

  // A call's slot on the loop, its slot of the account, and its buffers; released by the
  // destructor.
  class Seat {
   public:
    Seat() noexcept = default;
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat() {
      if (loop_ != nullptr) loop_->leave(*this);
    }
    // False when the loop, or the account on it, has the maximum of calls in flight.
    [[nodiscard]] bool enter(LoopState& loop);
    [[nodiscard]] bool is_taken() const noexcept { return scratch_ != nullptr; }
    [[nodiscard]] bool enter_account(std::string_view account_id);  // REQUIRES: enter()
    [[nodiscard]] Scratch& scratch() noexcept { return *scratch_; }

   private:
    friend class LoopState;
    LoopState* loop_ = nullptr;
    std::unique_ptr<Scratch> scratch_;
    std::uint64_t account_ = 0;
    bool has_account_ = false;
  };

  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }

 private:
  void leave(Seat& seat) noexcept;

  static constexpr std::size_t idle_scratch_max = 256;
  static constexpr std::size_t kept_bytes_max = 64 * 1024;  // larger buffers are freed

  const Caps caps_;
  std::uint32_t calls_ = 0;
  AccountCounts accounts_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace turnpike::exchange
