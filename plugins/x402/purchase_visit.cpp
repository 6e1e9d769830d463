#include "x402/purchase_visit.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "x402/calls.h"
#include "x402/challenge.h"
#include "x402/codes.h"
#include "x402/json_object.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/eip712.h"
#include "x402/ticket.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view path_root = "purchases/";
constexpr std::string_view route_of_purchases = "x402.purchases";
constexpr std::string_view payment_field = "payment-signature";

const LaneCode* find_code(std::string_view name) noexcept {
  for (const LaneCode& code : purchase_codes) {
    if (code.name == name) return &code;
  }
  for (const LaneCode& code : lane_codes) {
    if (code.name == name) return &code;
  }
  return nullptr;
}

std::string envelope_of(const Refusal& refusal, const LaneCode& code,
                        std::string_view request_id) {
  JsonObject retry;
  retry.text("advice", name_of(code.advice));
  if (refusal.retry_after_seconds > 0) retry.number("after_seconds", refusal.retry_after_seconds);
  JsonObject error;
  error.text("code", code.name);
  error.text("message", refusal.message.empty() ? code.text : refusal.message);
  error.text("request_id", request_id);
  error.text("fault", name_of(code.fault));
  error.raw("retry", std::move(retry).end());
  JsonObject envelope;
  envelope.raw("error", std::move(error).end());
  return std::move(envelope).end();
}

std::vector<std::string_view> payments_in(Headers headers) {
  std::vector<std::string_view> found;
  for (const HeaderField& field : headers) {
    if (same_header_name(field.name, payment_field)) found.push_back(field.value);
  }
  return found;
}

// Returns why nobody can begin to pay; nullopt if somebody can.
std::optional<Refusal> closed(const Payment& standing, bool is_over) {
  switch (standing.progress) {
    case Progress::paid:
      return refusal("x402.purchase_paid", "This purchase is paid.", 0);
    case Progress::processing:
      // This is never a challenge, since its reader would pay again.
      return refusal("x402.in_progress",
                     "A payment for this purchase is being collected. Send the same request with "
                     "the same payment again, or ask later what became of it.",
                     retry_seconds);
    case Progress::cancelled:
      return refusal("x402.purchase_over", "This purchase was cancelled; nothing was collected.",
                     0);
    default:
      break;
  }
  if (!is_over) return std::nullopt;
  return refusal("x402.purchase_over",
                 "The time to pay for this purchase is over. Begin another one.", 0);
}

}  // namespace

IntakeReply reply_of(Refusal refusal, std::string_view request_id) {
  const LaneCode* const code = find_code(refusal.code);
  IntakeReply reply;
  reply.status = code == nullptr ? 503 : code->status;
  reply.headers = std::move(refusal.headers);
  reply.headers.push_back({"Content-Type", "application/json"});
  if (refusal.retry_after_seconds > 0) {
    reply.headers.push_back({"Retry-After", std::to_string(refusal.retry_after_seconds)});
  }
  const LaneCode unnamed{refusal.code, 503, Fault::gateway, Advice::after_delay};
  reply.body = refusal.body.empty()
                   ? envelope_of(refusal, code == nullptr ? unnamed : *code, request_id)
                   : std::move(refusal.body);
  return reply;
}

// The members hold views of each other, so a Place is not copied.
struct PurchaseVisit::Place {
  Place(std::string_view purchase_id, const PurchaseRecord& record, Engine& engine)
      : id(purchase_id), path(path_of_purchase(purchase_id)), title(record.title) {
    operation.route_id = route_of_purchases;
    operation.method = Method::post;
    operation.path = path;
    operation.summary = title;
    operation.media_type = "application/json";
    operation.terms = record.terms;
    operation.is_offered = true;
    Mistakes mistakes;
    auto entries = read_terms(operation, engine.settings.max_timeout_seconds, mistakes);
    if (!mistakes.none()) entries.clear();
    Terms terms(std::move(entries));
    terms.refresh(engine.facilitators);
    offered = terms.offered();
    request.path = path;
    // The payment pays for this purchase, whatever method, query and body it comes with.
    bound = {route_of_purchases, name_of(Method::post), path, {}, sha256("")};
    is_over = engine.payments.now_ms() > record.expires_ms;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] Asked asked(bool is_recall) const {
    return {request, operation, policy, *offered, separators, {&identifier, 1}, bound,
            is_recall, id};
  }

  const std::string id, path, title;
  PricedOperation operation;
  LaneRequest request;
  CallPolicy policy;
  const DomainSeparators separators;  // empty: computed for the entry that is paid
  std::shared_ptr<const Offered> offered;
  BoundRequest bound;
  bool is_over = false;
  const OfferedExtension identifier{std::string(payment_identifier_extension),
                                    JsonText::parse(std::string(payment_identifier_info)).value()};
};

Notice PurchaseVisit::refused(Refusal refusal) const {
  return {.reply = reply_of(std::move(refusal), call_.request_id())};
}

Notice PurchaseVisit::serve(const IntakeRequest& request) {
  const auto id = request.path.starts_with(path_root)
                      ? purchase_id_of(request.path.substr(path_root.size()))
                      : std::nullopt;
  if (!id) return refused(refusal("x402.purchase_not_found", {}, 0));
  const auto purchase = purchases_.find(*id, call_);
  if (!purchase.ok()) return refused(unavailable());
  if (!*purchase) return refused(refusal("x402.purchase_not_found", {}, 0));
  return answer(*id, **purchase, request);
}

Notice PurchaseVisit::answer(std::string_view id, const KnownPurchase& purchase,
                             const IntakeRequest& request) {
  const auto payments = payments_in(request.headers);
  if (payments.size() > 1) {
    return refused(refusal("x402.payment_malformed", "Send one PAYMENT-SIGNATURE.", 0));
  }
  const auto standing = purchases_.look_up(id, call_);
  if (!standing.ok()) return refused(unavailable());
  const Place place(id, purchase.record, engine_);
  if (payments.empty()) return without_payment(place, *standing);
  auto payload = decode_payment(payments.front());
  if (payload.ok()) return with_payment(place, *standing, *std::move(payload));
  if (const auto* malformed = std::get_if<Malformed>(&payload.error())) {
    return refused(refusal("x402.payment_malformed", malformed->sentence(), 0));
  }
  if (auto why = closed(*standing, place.is_over)) return refused(*std::move(why));
  return refused(challenge(engine_, place.asked(false), "x402.payment_refused",
                           code_of(std::get<Reason>(payload.error()))));
}

Notice PurchaseVisit::without_payment(const Place& place, const Payment& standing) {
  if (auto why = closed(standing, place.is_over)) return refused(*std::move(why));
  if (place.offered->accepts.empty() || !engine_.has_store()) {
    return refused(refusal("x402.unavailable", "Payments cannot be taken now.", 5));
  }
  return refused(
      challenge(engine_, place.asked(false), "x402.payment_required", "Payment required"));
}

// If nobody can begin to pay, the sender may still be told what became of this very payment.
Notice PurchaseVisit::with_payment(const Place& place, const Payment& standing,
                                   PaymentPayload payload) {
  auto why = closed(standing, place.is_over);
  const Asked asked = place.asked(why.has_value());
  Attempt attempt(engine_, asked, std::move(payload), call_);
  if (why) {
    const Recalled recalled = attempt.recall();
    if (const auto* reply = std::get_if<Replay>(&recalled)) return told(place, *reply);
    if (const auto* refusal = std::get_if<Refusal>(&recalled)) return refused(*refusal);
    return refused(*std::move(why));
  }
  const Admission admission = attempt.run();
  if (const auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission)) {
    return settle(place, **ticket);
  }
  if (const auto* reply = std::get_if<Replay>(&admission)) return told(place, *reply);
  return refused(std::get<Refusal>(admission));
}

// Ends the ticket even if the caller has left.
Notice PurchaseVisit::settle(const Place& place, Ticket& ticket) {
  const PaymentRecord& claimed = static_cast<PaymentTicket&>(ticket).record();
  Replay reply = purchase_reply(claimed);
  std::vector<HeaderField> fields;
  for (const OwnedHeader& header : reply.headers) fields.push_back({header.name, header.value});
  ExtendedCall call(call_, engine_.host.clock(), engine_.settle_budget_ms());
  Finish finish =
      ticket.settle({reply.status, fields, reply.body, reply.body.size(), /*upstream_ms=*/0}, call);
  if (auto* charged = std::get_if<Charged>(&finish)) {
    for (OwnedHeader& header : charged->headers) reply.headers.push_back(std::move(header));
    return told(place, reply);
  }
  if (auto* unknown = std::get_if<Unknown>(&finish)) return refused(std::move(unknown->refusal));
  return refused(std::move(std::get<NotCharged>(finish).refusal));
}

Notice PurchaseVisit::told(const Place& place, const Replay& reply) const {
  Notice notice;
  notice.reply = {reply.status, reply.headers, reply.body};
  notice.hints.push_back({Hint::Of::purchase, place.id});
  notice.after_credit = true;
  return notice;
}

}  // namespace turnpike::x402
