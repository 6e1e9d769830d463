#include "stripe/processor.h"

#include <utility>

#include "stripe/verdicts.h"

namespace turnpike::stripe {
namespace {

constexpr IntakePath intake[] = {{"webhook", false, true, webhook_body_bytes_max}};

Failure not_ours(std::string_view what) {
  return {
      FailureKind::contract, "that is no " + std::string(what) + " of this processor", {}, false};
}

// A reference that passes is safe in the path of a URL (is_id).
bool is_reference(std::string_view reference, std::string_view prefix) {
  return reference.starts_with(prefix) && is_id(reference);
}

Ask get_of(std::string path, Form query = {}) {
  return {Method::get, std::move(path), std::move(query)};
}

}  // namespace

BoundStripe::BoundStripe(StripeSettings settings, Place place, Host& host)
    : settings_(std::move(settings)),
      place_(std::move(place)),
      api_(settings_, host),
      host_(host) {}

Result<Payment> BoundStripe::look_up(std::string_view reference, Call& call) {
  if (is_reference(reference, "pi_")) {
    return with_what_followed(look_up_intent(reference, call), call);
  }
  if (!is_reference(reference, "cs_")) return not_ours("reference");
  const Ask ask = get_of("/v1/checkout/sessions/" + std::string(reference),
                         Form().add("expand[0]", "payment_intent.latest_charge"));
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return unexpected(ask, *reply, false);
  return with_what_followed(payment_of_session(reply->root()), call);
}

Result<Payment> BoundStripe::look_up_intent(std::string_view reference, Call& call) const {
  const Ask ask = get_of("/v1/payment_intents/" + std::string(reference),
                         Form().add("expand[0]", "latest_charge"));
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return unexpected(ask, *reply, false);
  return payment_of_intent(reply->root());
}

// Adds refunds and disputes. Only a paid payment can have any.
Result<Payment> BoundStripe::with_what_followed(Result<Payment> payment, Call& call) const {
  if (!payment.ok() || payment->progress != Progress::paid) return payment;
  if (const Done done = add_refunds(*payment, call); !done.ok()) return done.error();
  if (const Done done = add_disputes(*payment, call); !done.ok()) return done.error();
  return payment;
}

// If Stripe reports an unexpected state, the intent was confirmed or cancelled before, and the
// result is that of look_up().
Result<Payment> BoundStripe::charge(const Order& order, std::string_view reference, Call& call) {
  if (!is_reference(reference, "pi_")) return not_ours("reference of an order of a saved method");
  Ask ask{Method::post, "/v1/payment_intents/" + std::string(reference) + "/confirm"};
  ask.form.set("off_session").set("error_on_requires_action");
  ask.key = order.step_key;
  ask.new_key = NewKey::for_kept_errors;
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (reply->is_done()) return with_what_followed(payment_of_intent(reply->root()), call);
  const Refusal refusal = reply->refusal();
  const bool is_settled = refusal.code == "payment_intent_unexpected_state";
  if (is_settled) return look_up(reference, call);
  const bool is_unknown = reply->status == 404 && refusal.param != "payment_method";
  if (is_unknown) return unexpected(ask, *reply, false);
  Declined declined = declined_by(reply->error());
  if (reply->status != 402) {
    host_.report().log(Severity::error, "a charge was refused: " + reply->summary());
    if (declined.code == "card_declined") declined.code = "charge_refused";
  }
  Payment payment;
  payment.progress = Progress::declined;
  payment.decline = declined.decline;
  payment.code = std::move(declined.code);
  payment.payment = reference;
  return payment;
}

Done BoundStripe::cancel(std::string_view reference, Call& call) {
  const bool is_session = is_reference(reference, "cs_");
  if (!is_session && !is_reference(reference, "pi_")) return not_ours("reference");
  const std::string path = (is_session ? "/v1/checkout/sessions/" : "/v1/payment_intents/") +
                           std::string(reference) + (is_session ? "/expire" : "/cancel");
  const Ask ask{Method::post, path};
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (reply->status == 404) return unexpected(ask, *reply, false);
  return Unit{};  // also after a 400: the payment is no longer open
}

ProcessorTraits StripeProcessor::traits() const noexcept {
  ProcessorTraits traits;
  traits.name = plugin_name;
  traits.title = "Card";
  traits.hosts_checkout = true;
  traits.charges_saved = true;
  traits.refunds = true;
  traits.has_documents = true;
  traits.lists_changes = true;
  return traits;
}

Offers StripeProcessor::offers() const noexcept {
  Offers offers;
  offers.intake = intake;
  return offers;
}

Result<std::unique_ptr<BoundProcessor>> StripeProcessor::bind(const ProcessorBinding& binding,
                                                              Host& host) {
  Mistakes mistakes;
  std::vector<Note> notes;
  StripeSettings settings = read_settings(binding.settings, binding.environment, mistakes, notes);
  if (!mistakes.none()) return mistakes.failure();
  if (binding.notes != nullptr) {
    for (Note& note : notes) binding.notes->push_back(std::move(note));
  }
  Place place;
  place.webhook_url = std::string(binding.public_origin) + "/v1/plugins/stripe/webhook";
  place.deployment_id = binding.deployment_id;
  place.environment = binding.environment;
  return std::unique_ptr<BoundProcessor>(
      std::make_unique<BoundStripe>(std::move(settings), std::move(place), host));
}

}  // namespace turnpike::stripe
