// PaymentTicket: a claimed payment while the work is done; in the flow `upfront` it is collected
// already. The end of the ticket writes what became of the payment before anybody is told. This
// file also declares the refusals that several files of this lane use.
//
// Owned by the host; used by one thread or fiber at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/lane.h>

#include "x402/engine.h"

namespace turnpike::x402 {

// After this time a caller may try again what is not over yet.
inline constexpr std::uint32_t retry_seconds = 2;
Refusal refusal(std::string_view code, std::string message, std::uint32_t retry_after_seconds);

// Says nothing about the payment: an earlier call may have collected it.
Refusal unavailable();
// Money may have moved. This is never a challenge, since its reader would pay again
// (docs/protocols.md, "HTTP headers").
Refusal settlement_unknown();
// The facilitator refused, and the chain, where one is configured, shows the payment unused.
Refusal settlement_failed(const PaymentRecord& record, std::string_view reason);
// The payment was collected upfront, and the work was not done.
Refusal work_failed(const KnownPayment& payment, std::string_view what);
Refusal refund_owed(const KnownPayment& payment);

class PaymentTicket final : public Ticket {
 public:
  PaymentTicket(Engine& engine, KnownPayment payment, OpenSettlement open);

  Finish settle(const ReplyView& reply, Call& call) override;
  std::optional<Refusal> release(Outcome outcome, int upstream_status, Call& call) override;

  [[nodiscard]] const PaymentRecord& record() const noexcept { return payment_.record; }

 private:
  [[nodiscard]] bool is_paid() const noexcept {
    return payment_.record.state == PaymentState::settled;
  }
  Finish keep_reply(const Replay& reply, Call& call);
  Finish collect(const Replay& reply, Call& call);
  std::optional<Refusal> fail_paid(Outcome outcome, int upstream_status, Call& call);

  Engine& engine_;
  KnownPayment payment_;
  const OpenSettlement open_;
};

}  // namespace turnpike::x402
