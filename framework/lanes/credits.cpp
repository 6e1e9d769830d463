#include "lanes/credits.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "lanes/refusal_of.h"

namespace turnpike::lanes {
namespace {

using base::ErrorCode;

constexpr std::string_view lane_name = "credits";
// Time after the end of the call: its settlement, and the clock margin.
constexpr std::int64_t claim_margin_ms = base::limits::commit_budget_ms + 5'000;

// The API key or grant that pays; empty for other principals.
std::string_view key_of(const LaneRequest& request) noexcept {
  const bool is_spender = request.principal_kind == PrincipalKind::api_key ||
                          request.principal_kind == PrincipalKind::grant;
  return is_spender ? request.principal_id : std::string_view();
}

class BoundCreditsLane;

class CreditsTicket final : public Ticket {
 public:
  // `claim` is null for a call without an idempotency key.
  CreditsTicket(const BoundCreditsLane& lane, ledger::OwnedFact fact, ledger::Hold hold,
                std::unique_ptr<const ledger::Claim> claim)
      : lane_(lane), fact_(std::move(fact)), hold_(std::move(hold)), claim_(std::move(claim)) {}

  Finish settle(const ReplyView& reply, Call& call) override;
  std::optional<Refusal> release(Outcome outcome, int upstream_status, Call& call) override;

 private:
  using Reply = std::unique_ptr<const ledger::ReplyToKeep>;
  [[nodiscard]] Result<Reply, base::Error> reply_to_keep(const ReplyView& reply) const;
  Finish withhold(const base::Error& why);

  const BoundCreditsLane& lane_;
  ledger::OwnedFact fact_;  // copied from the request, whose views end with admit()
  ledger::Hold hold_;
  const std::unique_ptr<const ledger::Claim> claim_;
};

class BoundCreditsLane final : public BoundLane {
 public:
  BoundCreditsLane(ledger::Ledger& ledger, ledger::Replays& replays, std::int64_t transfer_ms_max,
                   const LaneBinding& binding, Clock& clock)
      : ledger_(ledger),
        replays_(replays),
        transfer_ns_(transfer_ms_max * 1'000'000),
        operations_(binding.operations),
        generation_(binding.generation_id),
        clock_(clock) {}

  Admission admit(const LaneRequest& request, Call& call) override {
    const PricedOperation& operation = operations_[request.operation];
    // The end of the call: the upstream's part, then the sending of its reply.
    const runtime::Deadline until{call.deadline_ns() + transfer_ns_};
    std::unique_ptr<const ledger::Claim> claim;
    if (!request.idempotency_key.empty()) {
      claim = std::make_unique<const ledger::Claim>(claim_of(operation, request, until));
      auto answer = replays_.claim(*claim);
      if (!answer.ok()) return refusal_of(answer.error());
      if (answer->kind == ledger::ClaimAnswer::Kind::replay) {
        return replay(operation, request, std::move(answer->reply));
      }
    }
    const ledger::Payer payer{request.account_id,
                              request.is_capped ? key_of(request) : std::string_view{}};
    auto hold = ledger_.hold(payer, operation.credit_cost, until);
    if (!hold.ok()) {
      if (claim != nullptr) replays_.free(*claim);
      return refusal_of(hold.error());
    }
    return std::unique_ptr<Ticket>(std::make_unique<CreditsTicket>(
        *this, fact_of(operation, request), *std::move(hold), std::move(claim)));
  }

  [[nodiscard]] ledger::Ledger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] ledger::Replays& replays() const noexcept { return replays_; }

 private:
  [[nodiscard]] ledger::UsageFact fact_of(const PricedOperation& operation,
                                          const LaneRequest& request) const noexcept;
  [[nodiscard]] ledger::Claim claim_of(const PricedOperation& operation, const LaneRequest& request,
                                       runtime::Deadline until) const;
  [[nodiscard]] Replay replay(const PricedOperation& operation, const LaneRequest& request,
                              ledger::KeptReply reply) const;

  ledger::Ledger& ledger_;
  ledger::Replays& replays_;
  const std::int64_t transfer_ns_;
  const std::span<const PricedOperation> operations_;
  const std::string generation_;
  Clock& clock_;
};

// All fields except those of the call's end.
ledger::UsageFact BoundCreditsLane::fact_of(const PricedOperation& operation,
                                            const LaneRequest& request) const noexcept {
  ledger::UsageFact fact;
  // One call is one message, so the message has the call's UUIDv7, and each can be found by the
  // other.
  fact.message_id = request.request_id;
  fact.request_id = request.request_id;
  fact.client_request_id = request.client_request_id;
  fact.account_id = request.account_id;
  fact.api_key_id = key_of(request);
  fact.occurred_at_ms = clock_.now_ms();
  fact.route_id = operation.route_id;
  fact.route_revision = operation.route_revision;
  fact.method = turnpike::name_of(operation.method);
  fact.lane = lane_name;
  fact.credit_cost = operation.credit_cost;
  fact.price_version = operation.price_version;
  fact.generation = generation_;
  return fact;
}

ledger::Claim BoundCreditsLane::claim_of(const PricedOperation& operation,
                                         const LaneRequest& request,
                                         runtime::Deadline until) const {
  ledger::KeyedCall call;
  call.scope = request.account_id;
  call.key = request.idempotency_key;
  call.request_id = request.request_id;
  call.method = turnpike::name_of(operation.method);
  call.path = request.path;
  call.query = request.query;
  call.body = request.body;
  call.ends_in_ms = (until.ns - clock_.monotonic_ns()) / 1'000'000 + claim_margin_ms;
  return ledger::claim_of(call);
}

// The repeat is recorded as a call of its own in the usage, and costs nothing.
Replay BoundCreditsLane::replay(const PricedOperation& operation, const LaneRequest& request,
                                ledger::KeptReply reply) const {
  ledger::UsageFact fact = fact_of(operation, request);
  fact.outcome_reason = ledger::replayed;
  fact.upstream_status = reply.status;
  ledger_.release({}, fact);
  reply.headers.push_back({"Idempotent-Replayed", "true"});
  return {reply.status, std::move(reply.headers), std::move(reply.body)};
}

Finish CreditsTicket::settle(const ReplyView& reply, Call&) {
  auto kept = reply_to_keep(reply);
  if (!kept.ok()) {
    fact_.end(false, ledger::settlement_failed, reply.status, reply.upstream_ms);
    lane_.ledger().release(std::move(hold_), std::move(fact_));
    return withhold(kept.error());
  }
  fact_.end(true, "success", reply.status, reply.upstream_ms);
  const ledger::Settlement settlement =
      lane_.ledger().settle(std::move(hold_), std::move(fact_), *std::move(kept));
  if (const auto* charged = std::get_if<ledger::Settled>(&settlement)) {
    return Charged{{}, static_cast<std::uint64_t>(charged->charged), charged->remaining};
  }
  if (const auto* refused = std::get_if<ledger::SettlementRefused>(&settlement)) {
    return withhold(refused->error);
  }
  return Unknown{refusal_of(
      {ErrorCode::billing_settlement_unknown, "Whether the call was charged is not known yet."})};
}

// Null for a call without an idempotency key. A large reply is written now, before the settlement
// that activates it, so that calls of the same batch do not wait for the write.
Result<CreditsTicket::Reply, base::Error> CreditsTicket::reply_to_keep(
    const ReplyView& reply) const {
  if (claim_ == nullptr) return Reply();
  auto kept = std::make_unique<ledger::ReplyToKeep>();
  kept->key_digest = claim_->key_digest;
  kept->request_id = claim_->request_id;
  if (reply.body.size() != reply.body_bytes ||
      reply.body.size() > base::limits::replay_reply_bytes_max) {
    kept->how = ledger::ReplyToKeep::How::too_large;
    return Reply(std::move(kept));
  }
  kept->reply.status = reply.status;
  for (const HeaderField& field : reply.headers) {
    kept->reply.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  kept->reply.body = reply.body;
  if (reply.body.size() <= base::limits::replay_with_charge_bytes_max) {
    return Reply(std::move(kept));
  }
  const auto written = lane_.replays().keep(*kept);
  if (!written.ok()) return written.error();
  kept->how = ledger::ReplyToKeep::How::kept_before;
  kept->reply = {};
  return Reply(std::move(kept));
}

// Definitely not charged, although the provider has done its work.
Finish CreditsTicket::withhold(const base::Error& why) {
  if (claim_ != nullptr) lane_.replays().free(*claim_);
  return NotCharged{refusal_of(why)};
}

// Frees the key before the caller is answered, so that it may repeat the call at once.
std::optional<Refusal> CreditsTicket::release(Outcome outcome, int upstream_status, Call&) {
  if (claim_ != nullptr) lane_.replays().free(*claim_);
  fact_.end(false, name_of(outcome), upstream_status, 0);
  lane_.ledger().release(std::move(hold_), std::move(fact_));
  return std::nullopt;
}

}  // namespace

LaneTraits CreditsLane::traits() const noexcept {
  static constexpr std::string_view headers[] = {"authorization"};
  LaneTraits traits;
  traits.name = lane_name;
  traits.credential_headers = headers;
  traits.needs_account = true;
  traits.charges_credits = true;
  return traits;
}

Result<std::unique_ptr<BoundLane>> CreditsLane::bind(const LaneBinding& binding, Host& host) {
  if (const std::string_view key = binding.settings.unknown_key({}); !key.empty()) {
    return Failure{FailureKind::invalid_settings, "the credits lane has no settings",
                   std::string(key), false};
  }
  return std::unique_ptr<BoundLane>(std::make_unique<BoundCreditsLane>(
      ledger_, replays_, transfer_ms_max_, binding, host.clock()));
}

std::string_view name_of(Outcome outcome) noexcept {
  constexpr std::string_view names[] = {
      "upstream_status",    "upstream_timeout",         "upstream_failure", "response_too_large",
      "declared_no_charge", "client_gone_before_reply", "gateway_stopped"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace turnpike::lanes
