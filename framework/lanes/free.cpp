#include "lanes/free.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "lanes/rate_limit_fields.h"
#include "lanes/refusal_of.h"

namespace turnpike::lanes {
namespace {

using base::ErrorCode;

// The free variant of one operation; empty if the operation has no bucket.
struct Variant {
  const quota::Bucket* bucket = nullptr;
  quota::Limits limits;
  std::string policy;  // RateLimit-Policy
};

Refusal quota_refusal(const Variant& variant, const quota::Decision& decision) {
  const quota::Limit limit = *decision.refused_by;
  std::string_view message = "This account has asked for as many free requests as a window allows.";
  ErrorCode code = ErrorCode::gateway_free_rate_limited;
  if (limit == quota::Limit::cumulative) {
    code = ErrorCode::gateway_free_limit_reached;
    message = "This account has used up its free requests. Send the request without `:free`.";
  } else if (limit == quota::Limit::concurrency) {
    message = "This account has as many free requests in flight as it may.";
  }
  Refusal refusal = refusal_of(
      code, message, quota::retry_after_seconds(variant.limits, decision.standing, limit));
  refusal.headers = {
      {"RateLimit-Policy", variant.policy},
      {"RateLimit", rate_limit(variant.limits, decision.standing, decision.refused_by)}};
  return refusal;
}

class FreeTicket final : public Ticket {
 public:
  FreeTicket(const Variant& variant, quota::Decision decision)
      : permit_(std::move(decision.permit)) {
    headers = {{"RateLimit-Policy", variant.policy},
               {"RateLimit", rate_limit(variant.limits, decision.standing, std::nullopt)}};
  }

  Finish settle(const ReplyView&, Call& call) override {
    if (const auto counted = end(call); !counted.ok()) {
      return NotCharged{refusal_of(counted.error())};
    }
    return Charged{};
  }

  // A failed upstream call still counts as a request; only the permit is returned.
  std::optional<Refusal> release(Outcome, int, Call& call) override {
    if (const auto counted = end(call); !counted.ok()) return refusal_of(counted.error());
    return std::nullopt;
  }

 private:
  Result<Unit, base::Error> end(Call& call) {
    auto counted = permit_->confirm(runtime::Deadline{call.deadline_ns()});
    permit_.reset();
    return counted;
  }

  std::unique_ptr<quota::Permit> permit_;
};

class BoundFreeLane final : public BoundLane {
 public:
  BoundFreeLane(quota::QuotaStore& store, const LaneBinding& binding) : store_(store) {
    variants_.resize(binding.operations.size());
    for (std::size_t at = 0; at < variants_.size(); ++at) {
      const PricedOperation& operation = binding.operations[at];
      if (!operation.free_limits) continue;
      variants_[at] = {&store.bucket(operation.free_bucket), *operation.free_limits,
                       rate_limit_policy(*operation.free_limits)};
    }
  }

  Admission admit(const LaneRequest& request, Call& call) override {
    const Variant& variant = variants_[request.operation];
    if (variant.bucket == nullptr) {
      return refusal_of(ErrorCode::gateway_route_not_found, "There is no free variant.", 0);
    }
    auto decided = store_.take(request.account_id, *variant.bucket, variant.limits,
                               runtime::Deadline{call.deadline_ns()});
    if (!decided.ok()) return refusal_of(decided.error());
    if (decided->refused_by) return quota_refusal(variant, *decided);
    return std::unique_ptr<Ticket>(std::make_unique<FreeTicket>(variant, *std::move(decided)));
  }

 private:
  quota::QuotaStore& store_;
  std::vector<Variant> variants_;  // indexed by operation
};

}  // namespace

LaneTraits FreeLane::traits() const noexcept {
  static constexpr std::string_view headers[] = {"authorization"};
  LaneTraits traits;
  traits.name = "free";
  traits.credential_headers = headers;
  traits.needs_account = true;
  return traits;
}

Result<std::unique_ptr<BoundLane>> FreeLane::bind(const LaneBinding& binding, Host&) {
  if (const std::string_view key = binding.settings.unknown_key({}); !key.empty()) {
    return Failure{FailureKind::invalid_settings, "the free lane has no settings", std::string(key),
                   false};
  }
  return std::unique_ptr<BoundLane>(std::make_unique<BoundFreeLane>(store_, binding));
}

}  // namespace turnpike::lanes
