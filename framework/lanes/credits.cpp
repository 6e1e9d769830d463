#include "lanes/credits.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace turnpike::lanes {
namespace {

using base::ErrorCode;

constexpr std::string_view lane_name = "credits";

Refusal refusal_of(const base::Error& error) {
  return {std::string(base::info_of(error.code).name),
          error.message,
          error.retry_after_seconds,
          {},
          {},
          {}};
}

std::string_view key_of(const LaneRequest& request) noexcept {
  std::string_view key = request.principal_id;
  if (key.starts_with("key:")) key.remove_prefix(4);
  return key;
}

// Copies of what the request said, in one place: its views end with admit().
class FactTexts {
 public:
  explicit FactTexts(const LaneRequest& request) {
    const std::string_view key = key_of(request);
    texts_.reserve(request.request_id.size() + request.client_request_id.size() +
                   request.account_id.size() + key.size());
    request_id_ = keep(request.request_id);
    client_request_id_ = keep(request.client_request_id);
    account_id_ = keep(request.account_id);
    api_key_id_ = keep(key);
  }
  FactTexts(const FactTexts&) = delete;
  FactTexts& operator=(const FactTexts&) = delete;

  void name(ledger::UsageFact& fact) const noexcept {
    // One call is one message, so the message bears the call's UUIDv7: either finds the other.
    fact.message_id = request_id_;
    fact.request_id = request_id_;
    fact.client_request_id = client_request_id_;
    fact.account_id = account_id_;
    fact.api_key_id = api_key_id_;
  }

 private:
  std::string_view keep(std::string_view text) {
    texts_.append(text);
    return std::string_view(texts_).substr(texts_.size() - text.size());
  }

  std::string texts_;
  std::string_view request_id_;
  std::string_view client_request_id_;
  std::string_view account_id_;
  std::string_view api_key_id_;
};

class BoundCreditsLane;

class CreditsTicket final : public Ticket {
 public:
  CreditsTicket(const BoundCreditsLane& lane, const PricedOperation& operation,
                const LaneRequest& request, ledger::Hold hold, std::int64_t occurred_at_ms)
      : lane_(lane),
        operation_(operation),
        texts_(request),
        hold_(std::move(hold)),
        occurred_at_ms_(occurred_at_ms) {}

  Finish settle(const ReplyView& reply, Call& call) override;
  void release(Outcome outcome, int upstream_status, Call& call) override;

 private:
  [[nodiscard]] ledger::UsageFact fact() const noexcept;

  const BoundCreditsLane& lane_;
  const PricedOperation& operation_;
  const FactTexts texts_;
  ledger::Hold hold_;
  const std::int64_t occurred_at_ms_;
};

class BoundCreditsLane final : public BoundLane {
 public:
  BoundCreditsLane(ledger::Ledger& ledger, std::int64_t transfer_ms_max, const LaneBinding& binding,
                   Clock& clock)
      : ledger_(ledger),
        transfer_ns_(transfer_ms_max * 1'000'000),
        operations_(binding.operations),
        generation_(binding.generation_id),
        clock_(clock) {}

  Admission admit(const LaneRequest& request, Call& call) override {
    const PricedOperation& operation = operations_[request.operation];
    // The end of the call: the upstream's part, then the sending of its reply.
    const runtime::Deadline until{call.deadline_ns() + transfer_ns_};
    const ledger::Payer payer{request.account_id,
                              request.key_is_capped ? key_of(request) : std::string_view{}};
    auto hold = ledger_.hold(payer, operation.credit_cost, until);
    if (!hold.ok()) return refusal_of(hold.error());
    return std::unique_ptr<Ticket>(std::make_unique<CreditsTicket>(
        *this, operation, request, *std::move(hold), clock_.now_ms()));
  }

  [[nodiscard]] ledger::Ledger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] std::string_view generation() const noexcept { return generation_; }

 private:
  ledger::Ledger& ledger_;
  const std::int64_t transfer_ns_;
  const std::span<const PricedOperation> operations_;
  const std::string generation_;
  Clock& clock_;
};

ledger::UsageFact CreditsTicket::fact() const noexcept {
  ledger::UsageFact fact;
  texts_.name(fact);
  fact.occurred_at_ms = occurred_at_ms_;
  fact.route_id = operation_.route_id;
  fact.route_revision = operation_.route_revision;
  fact.method = turnpike::name_of(operation_.method);
  fact.lane = lane_name;
  fact.credit_cost = operation_.credit_cost;
  fact.price_version = operation_.price_version;
  fact.generation = lane_.generation();
  return fact;
}

Finish CreditsTicket::settle(const ReplyView& reply, Call&) {
  ledger::UsageFact settled = fact();
  settled.charged = true;
  settled.outcome_reason = "success";
  settled.upstream_status = reply.status;
  settled.upstream_ms = reply.upstream_ms;
  const ledger::Settlement settlement = lane_.ledger().settle(std::move(hold_), settled);
  if (const auto* charged = std::get_if<ledger::Settled>(&settlement)) {
    return Charged{{}, static_cast<std::uint64_t>(charged->charged), charged->remaining};
  }
  if (const auto* refused = std::get_if<ledger::SettlementRefused>(&settlement)) {
    return NotCharged{refusal_of(refused->error)};
  }
  return Unknown{refusal_of(
      {ErrorCode::billing_settlement_unknown, "Whether the call was charged is not known yet."})};
}

void CreditsTicket::release(Outcome outcome, int upstream_status, Call&) {
  ledger::UsageFact released = fact();
  released.outcome_reason = name_of(outcome);
  released.upstream_status = upstream_status;
  lane_.ledger().release(std::move(hold_), released);
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
  return std::unique_ptr<BoundLane>(
      std::make_unique<BoundCreditsLane>(ledger_, transfer_ms_max_, binding, host.clock()));
}

std::string_view name_of(Outcome outcome) noexcept {
  constexpr std::string_view names[] = {
      "upstream_status",    "upstream_timeout",         "upstream_failure", "response_too_large",
      "declared_no_charge", "client_gone_before_reply", "gateway_stopped"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace turnpike::lanes
