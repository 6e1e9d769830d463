// Passage: one call inside serve(): its state and its steps, in order. Private to the exchange.
//
// Lives on the stack of serve(), on the fiber of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <turnpike/lane.h>

#include "base/error.h"
#include "exchange/choose_lane.h"
#include "exchange/delivery.h"
#include "exchange/loop_state.h"
#include "exchange/serve.h"
#include "exchange/service.h"
#include "identity/principal.h"

namespace turnpike::exchange {

class Passage {
 public:
  Passage(const Context& context, const Invocation& invocation, ReplyWriter& writer);

  [[nodiscard]] Served run();

 private:
  // The error that ends the call; nullopt: the call continues.
  using Refused = std::optional<base::Error>;

  // All checks before units are held, in the order of refusal.
  [[nodiscard]] Refused check();
  [[nodiscard]] const FoundOperation* found_here() const noexcept;
  [[nodiscard]] Refused choose();
  [[nodiscard]] base::Error refusal_of(const LaneChoice& choice) const;
  [[nodiscard]] Refused authenticate();
  [[nodiscard]] Refused check_account() const;
  [[nodiscard]] Refused check_ready() const;
  [[nodiscard]] Refused check_parameters() const;
  [[nodiscard]] Refused check_query() const;
  [[nodiscard]] Refused check_body() const;
  [[nodiscard]] Refused read_body();
  [[nodiscard]] Refused enter();
  [[nodiscard]] Refused enter_upstream();
  [[nodiscard]] bool recall(const base::Error& reason);
  [[nodiscard]] bool read_any_body();
  [[nodiscard]] std::uint64_t body_bytes_max() const noexcept;
  [[nodiscard]] base::Error body_too_large() const;
  [[nodiscard]] Refused check_no_body() const;

  // The steps from the hold on.
  void admit_and_forward();
  void forward(Ticket& ticket, LiveCall& call);
  [[nodiscard]] Done execute(Delivery& delivery, LiveCall& call);
  void settle(Ticket& ticket, Delivery& delivery);
  [[nodiscard]] bool keeps_whole() const noexcept;
  [[nodiscard]] std::uint64_t reply_bytes_max() const noexcept;
  void blame_ceiling(base::Error& reason) const;
  [[nodiscard]] std::uint32_t settle_timeout_ms() const noexcept;
  void complete(Delivery& delivery, std::span<const OwnedHeader> lane_headers);
  void fail(const Delivery& delivery, const Verdict& verdict);

  [[nodiscard]] base::Error error_of(const Refusal& refusal);
  void refuse(const base::Error& reason, RefusalHead head = {});
  void refuse_by_lane(const Refusal& refusal, const base::Error& reason);
  void replay(const Replay& stored);
  // True for a charged reply that the host cannot carry.
  [[nodiscard]] bool is_too_long(std::string_view body) const noexcept;
  void refuse_kept(std::span<const OwnedHeader> lane_headers);

  [[nodiscard]] LaneRequest lane_request();
  [[nodiscard]] bool decode_parameters();
  void collect_forwarded_headers();
  [[nodiscard]] ReplyFacts facts(ReplyFrom from) const;

  const Context& context_;
  const Invocation& invocation_;
  ReplyWriter& writer_;
  Served served_;
  LoopState::Seat seat_;
  runtime::InFlight::Seat upstream_seat_;

  const std::int64_t started_ns_;
  std::int64_t forwarded_ns_ = 0;
  std::int64_t answered_ns_ = 0;  // end of the upstream's part
  std::int64_t upstream_ns_ = 0;  // the upstream's part, without waits for the caller

  std::string_view path_;  // without `:free`
  Credentials credentials_;
  registry::Match match_;
  const registry::Operation* operation_ = nullptr;
  const RouteTerms* terms_ = nullptr;
  const LaneRow* lane_ = nullptr;
  std::shared_ptr<const identity::Principal> principal_;
  std::string_view body_;
  std::int64_t credits_remaining_ = -1;
  bool keeps_reply_ = false;  // copy of Ticket::keeps_reply
};

}  // namespace turnpike::exchange
