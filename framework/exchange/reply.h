// ReplyWriter: the way out of serve(), implemented by each host in its protocol. serve() makes
// exactly one of these sequences of calls, or none when the caller is gone:
//
//   reply                       a whole reply, of the upstream or a stored one
//   begin write* (finish|cut)   a long one, streamed; only finish() makes it complete
//   refuse                      an answer of the gateway or of a lane
//
// No caller may mistake a reply for complete before finish(): serve() gives the last bytes to
// finish() alone, and a host that sends no length sends the closing chunk there. After cut() it
// breaks the connection off. Called on the fiber of the call; all but cut() may suspend, and wait
// for the caller no longer than base::limits::transfer_ms_max in all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <turnpike/message.h>

#include "base/error.h"

namespace turnpike::exchange {

enum class ReplyFrom : std::uint8_t { gateway, provider };

constexpr std::string_view name_of(ReplyFrom from) noexcept {
  return from == ReplyFrom::provider ? "provider" : "gateway";
}

// The gateway's own words about a reply (Turnpike-*, Server-Timing). In the head of a streamed
// reply `credits_charged` is what a complete reply costs: it holds for every reply that ends whole.
struct ReplyFacts {
  ReplyFrom from = ReplyFrom::gateway;
  std::string_view generation;  // id; empty without a registry
  std::string_view lane;        // empty before one was chosen
  std::uint64_t credits_charged = 0;
  std::int64_t credits_remaining = -1;  // -1: not known without another read
  std::uint32_t gateway_us = 0;         // until this head, without the upstream's part
  std::uint32_t upstream_us = 0;        // until this head; 0 when no upstream was asked
};

struct ReplyHead {
  int status = 200;
  // The upstream's Content-Type and Content-Encoding and what the route lets pass; never hop-by-hop
  // fields, lengths or fields of ours.
  Headers headers;
  std::span<const OwnedHeader> lane_headers;
  ReplyFacts facts;
};

struct RefusalHead {
  std::span<const OwnedHeader> lane_headers;
  std::string_view allow;         // value of Allow; set with gateway.method_not_allowed
  std::string_view body;          // when not empty it replaces the error envelope (a challenge)
  std::string_view content_type;  // of `body`
  ReplyFacts facts;
};

class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;
  // All return false when the caller is gone.
  virtual bool reply(const ReplyHead& head, std::string_view body) = 0;
  // `length` is that of the whole body; nothing when unknown.
  virtual bool begin(const ReplyHead& head, std::optional<std::uint64_t> length) = 0;
  virtual bool write(std::string_view bytes) = 0;
  virtual bool finish(std::string_view last_bytes) = 0;
  virtual void cut() noexcept = 0;
  // Renders `error` in the host's envelope; the status is the host's, from the code.
  virtual bool refuse(const base::Error& error, const RefusalHead& head) = 0;
};

}  // namespace turnpike::exchange
