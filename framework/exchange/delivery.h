// Delivery: receives one reply of an upstream, judges it, and withholds it while it is not yet
// certain that the reply will be charged. Replies up to base::limits::response_buffer_bytes_max are
// kept whole; replies that a no-charge condition must read are kept up to judged_body_bytes_max.
// Longer replies are streamed to the caller, except for their last bytes. The Verdict says whether
// the reply is charged; serve() then completes or refuses it.
//
// Lives on the stack of serve(), on the fiber of the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/lane.h>
#include <turnpike/provider.h>

#include "base/error.h"
#include "exchange/charge_rules.h"
#include "exchange/live_call.h"
#include "exchange/loop_state.h"
#include "exchange/reply.h"
#include "exchange/service.h"
#include "exchange/transfer_slots.h"

namespace turnpike::exchange {

// The judgement on an upstream's reply.
struct Verdict {
  enum class Kind : std::uint8_t {
    charged,  // a declared success: charge it, then complete it
    passed,   // complete it uncharged: an error of the request, or a waived success
    failed,   // send `error` instead of the reply
    gone,     // the caller left before the first byte of the body
  };
  Kind kind = Kind::failed;
  Outcome outcome = Outcome::upstream_failure;  // unset when charged
  base::Error error = {};
  std::string operator_note = {};
};

class Delivery final : public ReplySink {
 public:
  struct Terms {
    const registry::ResponsePolicy& policy;
    const RouteTerms& route;
    std::uint64_t bytes_max = 0;
    bool buffer_whole = false;  // never stream
    bool keep_copy = false;     // keep a copy of a streamed body that is short enough to be stored
    const registry::NoCharges& no_charge_when;
    const ChargeRules& rules;
    ReplyFacts facts;                           // facts of a streamed head, except times
    std::span<const OwnedHeader> lane_headers;  // of a streamed head
    std::int64_t started_ns = 0;
    std::int64_t forwarded_ns = 0;
  };
  Delivery(const Terms& terms, ReplyWriter& writer, LiveCall& call, TransferSlots& transfers,
           Scratch& scratch, const Clock& clock)
      : terms_(terms),
        writer_(writer),
        call_(call),
        transfers_(transfers),
        scratch_(scratch),
        clock_(clock) {}

  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override;
  bool body(std::string_view bytes) override;

  // Call once, after execute() returned `done`. `upstream_ns`: its duration without waits for the
  // caller; `is_late`: it returned after the deadline.
  [[nodiscard]] Verdict judge(const Done& done, std::int64_t upstream_ns, bool is_late);

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] Headers headers() const noexcept { return scratch_.reply_headers; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_; }
  // The body or, of a streamed body, the part that is not sent yet.
  [[nodiscard]] std::string_view pending() const noexcept { return scratch_.body; }
  // The whole body; empty for a streamed body without a copy.
  [[nodiscard]] std::string_view whole_body() const noexcept {
    return is_streaming_ ? scratch_.copy : scratch_.body;
  }
  [[nodiscard]] bool is_streaming() const noexcept { return is_streaming_; }
  // The caller of a streamed reply left; the rest was read and dropped.
  [[nodiscard]] bool lost_caller() const noexcept { return lost_caller_; }

 private:
  // The treatment of the reply: by its status and, for a success, by the no-charge conditions.
  enum class Treatment : std::uint8_t { success, waived, passed };

  bool stop(base::ErrorCode code, std::string message, Outcome outcome,
            std::uint32_t retry_after_seconds = 0);
  bool stop_gone();
  bool judge_status(int status, Headers headers);
  bool take_headers(Headers headers);
  bool take_transfer_slot();
  [[nodiscard]] std::uint64_t buffer_bytes_max() const noexcept;
  bool begin_stream();
  bool stream(std::string_view bytes);
  void copy(std::string_view bytes);
  void send(std::string_view bytes);
  [[nodiscard]] Verdict judge_failure(const Failure& failure) const;

  const Terms& terms_;
  ReplyWriter& writer_;
  LiveCall& call_;
  TransferSlots& transfers_;
  Scratch& scratch_;
  const Clock& clock_;

  bool has_head_ = false;
  bool is_streaming_ = false;
  bool copies_ = false;
  bool lost_caller_ = false;
  Treatment treatment_ = Treatment::success;
  int status_ = 0;
  std::optional<std::uint64_t> announced_;
  std::uint64_t received_ = 0;
  std::int64_t slot_wait_ns_ = 0;  // not counted as the upstream's time
  std::optional<Verdict> stopped_;
  TransferSlots::Slot slot_;
};

}  // namespace turnpike::exchange
