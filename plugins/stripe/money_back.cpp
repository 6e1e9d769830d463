// Refunds that the gateway requests, and Stripe's lists of refunds and disputes.
#include <algorithm>
#include <functional>
#include <utility>

#include "stripe/processor.h"
#include "stripe/verdicts.h"

namespace turnpike::stripe {
namespace {

constexpr int pages_max = 20;
constexpr std::int64_t page_size = 100;

// Calls `take` for every object about the payment in the list at `path`.
Done each_of(const Api& api, std::string path, std::string_view payment,
             const std::function<void(JsonValue)>& take, Call& call) {
  std::string last;
  for (int page = 0; page < pages_max; ++page) {
    Ask ask{Method::get, path};
    ask.form.add("payment_intent", payment).add("limit", page_size);
    ask.form.add_if_any("starting_after", last);
    const auto reply = api.send(ask, call);
    if (!reply.ok()) return reply.error();
    if (!reply->is_done()) return unexpected(ask, *reply, false);
    const JsonValue list = reply->root()["data"];
    for (std::size_t at = 0; at < list.size(); ++at) take(list.at(at));
    if (!reply->root()["has_more"].is_true()) return Unit{};
    last = list.size() == 0 ? std::string() : list.at(list.size() - 1).id();
    if (last.empty()) return unexpected(ask, *reply, false);
  }
  return Failure{FailureKind::contract, path + ": it has no end", {}, false};
}

// The code of a refund that failed or was cancelled; empty for a finished or pending one.
std::string refusal_of(JsonValue refund) {
  if (!refund["status"].is("failed") && !refund["status"].is("canceled")) return {};
  return word(refund["failure_reason"].text(), "refund_failed");
}

}  // namespace

// Adds up the refunds. The sum in the charge is not used, because Stripe does not document that it
// falls when a refund fails.
Done BoundStripe::add_refunds(Payment& payment, Call& call) const {
  std::int64_t sum = 0;
  const auto take = [&sum](JsonValue refund) { sum += amount_given_back(refund); };
  const Done done = each_of(api_, "/v1/refunds", payment.payment, take, call);
  payment.refunded = std::min(sum, payment.total);
  return done;
}

Done BoundStripe::add_disputes(Payment& payment, Call& call) const {
  const auto take = [&payment](JsonValue dispute) {
    const Dispute found = dispute_named(dispute["status"].text());
    if (weight_of(found) <= weight_of(payment.dispute)) return;
    payment.dispute = found;
    payment.dispute_id = dispute.id();
  };
  return each_of(api_, "/v1/disputes", payment.payment, take, call);
}

Result<std::optional<Refunded>> BoundStripe::find_refund(std::string_view payment,
                                                         std::string_view key, Call& call) const {
  std::optional<Refunded> found;
  const auto take = [&found, key](JsonValue refund) {
    if (!refund["metadata"]["turnpike_refund"].is(key)) return;
    found = Refunded{refund.id(), refusal_of(refund)};
  };
  const Done done = each_of(api_, "/v1/refunds", payment, take, call);
  if (!done.ok()) return done.error();
  return found;
}

// Stripe forgets idempotency keys after a day, so an earlier refund under `key` is looked for
// first.
Result<Refunded> BoundStripe::refund(std::string_view payment, Price price, std::string_view key,
                                     Call& call) {
  if (!payment.starts_with("pi_") || !is_id(payment)) {
    return Failure{FailureKind::contract, "that is no payment of this processor", {}, false};
  }
  auto found = find_refund(payment, key, call);
  if (!found.ok()) return found.error();
  if (*found) return **found;
  Ask ask{Method::post, "/v1/refunds"};
  ask.form.add("payment_intent", payment).add("amount", price.minor);
  add_metadata(ask.form, {}, "turnpike_refund", key);
  ask.key = key;
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (reply->status == 404) return unexpected(ask, *reply, false);
  if (!reply->is_done()) {
    host_.report().log(Severity::error, "a refund was refused: " + reply->summary());
    const Refusal refusal = reply->refusal();
    return Refunded{{}, refusal.code.empty() ? refusal.type : refusal.code};
  }
  Refunded refunded{reply->root().id(), refusal_of(reply->root())};
  if (refunded.reference.empty()) return unexpected(ask, *reply, true);
  return refunded;
}

}  // namespace turnpike::stripe
