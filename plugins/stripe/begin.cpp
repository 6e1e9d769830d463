// Creates the pages on which orders and setups are paid, and reads the result of a setup.
#include <algorithm>
#include <utility>

#include "stripe/processor.h"
#include "stripe/verdicts.h"

namespace turnpike::stripe {
namespace {

// The refusal of charges and setups while tax is computed: a PaymentIntent does not compute tax.
constexpr std::string_view untaxed = "tax_not_supported";

// Stripe requires a session to expire 30 minutes to 24 hours after its creation. The limits leave a
// minute for the transmission.
constexpr std::int64_t expiry_min_s = 31 * 60;
constexpr std::int64_t expiry_max_s = 24 * 3'600 - 60;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  return out;
}

// Whether the customer was deleted at Stripe or belongs to another account there.
bool misses_customer(const Reply& reply) {
  const Refusal refusal = reply.refusal();
  return !reply.is_done() && refusal.code == "resource_missing" && refusal.param == "customer";
}

}  // namespace

// `at` is empty or names a map with metadata of its own, such as "payment_intent_data".
void BoundStripe::add_metadata(Form& form, std::string_view at, std::string_view name,
                               std::string_view id) const {
  const std::string map = at.empty() ? "metadata" : std::string(at) + "[metadata]";
  form.add(map + "[" + std::string(name) + "]", id);
  form.add_if_any(map + "[turnpike_deployment]", place_.deployment_id);
}

Result<std::string> BoundStripe::make_customer(const Order& order, Call& call) const {
  Ask ask{Method::post, "/v1/customers"};
  add_metadata(ask.form, {}, "turnpike_account", order.account_id);
  ask.key = std::string(order.step_key) + ".customer";
  ask.new_key = NewKey::for_errors;
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return unexpected(ask, *reply, false);
  std::string id = reply->root().id();
  if (id.empty()) return unusable_answer("a customer without an id");
  return id;
}

Ask BoundStripe::ask_for_checkout(const Order& order) const {
  Ask ask{Method::post, "/v1/checkout/sessions"};
  Form& form = ask.form;
  form.add("mode", "payment").add("client_reference_id", order.purchase_id);
  form.add("success_url", order.success_url).add_if_any("cancel_url", order.cancel_url);
  if (order.expires_at_ms > 0) {
    const std::int64_t now_s = host_.clock().now_ms() / 1'000;
    form.add("expires_at",
             std::clamp(order.expires_at_ms / 1'000, now_s + expiry_min_s, now_s + expiry_max_s));
  }
  // The person pays in the order's currency: Stripe must not convert the price.
  form.clear("adaptive_pricing[enabled]");
  for (std::size_t at = 0; at < settings_.payment_methods.size(); ++at) {
    form.add("allowed_payment_method_types[" + std::to_string(at) + "]",
             settings_.payment_methods[at]);
  }
  form.add("line_items[0][quantity]", 1);
  form.add("line_items[0][price_data][currency]", lower(order.price.currency));
  form.add("line_items[0][price_data][unit_amount]", order.price.minor);
  form.add("line_items[0][price_data][tax_behavior]", "exclusive");
  form.add("line_items[0][price_data][product_data][name]", order.title);
  if (settings_.computes_tax) {
    form.set("automatic_tax[enabled]").add("customer_update[address]", "auto");
  }
  if (settings_.makes_invoices) form.set("invoice_creation[enabled]");
  if (order.saves_method) form.add("payment_intent_data[setup_future_usage]", "off_session");
  add_metadata(form, "payment_intent_data", "turnpike_purchase", order.purchase_id);
  add_metadata(form, {}, "turnpike_purchase", order.purchase_id);
  return ask;
}

Ask BoundStripe::ask_for_setup(const Order& order) const {
  Ask ask{Method::post, "/v1/checkout/sessions"};
  Form& form = ask.form;
  form.add("mode", "setup").add("client_reference_id", order.purchase_id);
  form.add_if_any("currency", lower(order.price.currency));
  form.add("success_url", order.success_url).add_if_any("cancel_url", order.cancel_url);
  form.add("allowed_payment_method_types[0]", "card");
  add_metadata(form, "setup_intent_data", "turnpike_setup", order.purchase_id);
  add_metadata(form, {}, "turnpike_setup", order.purchase_id);
  return ask;
}

Result<Begun> BoundStripe::begin(const Order& order, Call& call) {
  if (!order.saved_method.empty()) return begin_intent(order, call);
  return begin_with_customer(order, &BoundStripe::ask_for_checkout, call);
}

Result<Begun> BoundStripe::begin_setup(const Order& order, Call& call) {
  if (settings_.computes_tax) return Begun{.refusal = std::string(untaxed)};
  return begin_with_customer(order, &BoundStripe::ask_for_setup, call);
}

Result<Begun> BoundStripe::begin_with_customer(const Order& order,
                                               Ask (BoundStripe::*ask_for)(const Order&) const,
                                               Call& call) const {
  std::string customer(order.customer);
  for (;;) {
    const bool is_new = customer.empty();
    if (is_new) {
      auto made = make_customer(order, call);
      if (!made.ok()) return made.error();
      customer = *std::move(made);
    }
    Ask ask = (this->*ask_for)(order);
    ask.form.add("customer", customer);
    ask.key = order.step_key;
    ask.new_key = NewKey::for_errors;
    const auto reply = api_.send(ask, call);
    if (!reply.ok()) return reply.error();
    if (!misses_customer(*reply) || is_new) return begun_of(ask, *reply, customer);
    customer.clear();
  }
}

// Creates the PaymentIntent. It moves no money until charge() confirms it.
Result<Begun> BoundStripe::begin_intent(const Order& order, Call& call) const {
  if (settings_.computes_tax) return Begun{.refusal = std::string(untaxed)};
  if (!is_id(order.saved_method) || !is_id(order.customer)) {
    return Failure{
        FailureKind::contract, "an order of a saved method names it and its customer", {}, false};
  }
  Ask ask{Method::post, "/v1/payment_intents"};
  ask.form.add("amount", order.price.minor).add("currency", lower(order.price.currency));
  ask.form.add("customer", order.customer).add("payment_method", order.saved_method);
  ask.form.add("description", order.title);
  ask.form.set("automatic_payment_methods[enabled]");
  ask.form.add("automatic_payment_methods[allow_redirects]", "never");
  add_metadata(ask.form, {}, "turnpike_purchase", order.purchase_id);
  ask.key = order.step_key;
  ask.new_key = NewKey::for_errors;
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return refused(ask, *reply);
  Begun begun;
  begun.reference = reply->root().id();
  begun.customer = order.customer;
  if (!begun.reference.starts_with("pi_")) {
    return unusable_answer("a payment intent without its id");
  }
  return begun;
}

Result<Begun> BoundStripe::begun_of(const Ask& ask, const Reply& reply,
                                    std::string_view customer) const {
  if (!reply.is_done()) return refused(ask, reply);
  Begun begun;
  begun.reference = reply.root().id();
  begun.url = reply.root()["url"].text();
  begun.customer = customer;
  begun.expires_at_ms = reply.root()["expires_at"].integer().value_or(0) * 1'000;
  if (!begun.reference.starts_with("cs_")) return unusable_answer("a session without its id");
  if (!begun.url.starts_with("https://") && !is_ours(begun.url)) {
    return unusable_answer("a session without the URL of its page");
  }
  return begun;
}

// The result for a definite refusal. It is logged, since the operator should know the reason.
Begun BoundStripe::refused(const Ask& ask, const Reply& reply) const {
  host_.report().log(Severity::error, ask.path + " was refused: " + reply.summary());
  host_.report().count("refused_beginnings", 1);
  const Refusal refusal = reply.refusal();
  Begun begun;
  begun.refusal = refusal.param == "payment_method" ? declined_by(reply.error()).code
                  : refusal.code.empty()            ? refusal.type
                                                    : refusal.code;
  return begun;
}

Result<SetupState> BoundStripe::look_up_setup(std::string_view reference, Call& call) {
  if (!reference.starts_with("cs_") || !is_id(reference)) {
    return Failure{FailureKind::contract, "that is no reference of a setup", {}, false};
  }
  // The session of a payment may save its method, too (Order::saves_method).
  const Ask ask{Method::get, "/v1/checkout/sessions/" + std::string(reference),
                Form()
                    .add("expand[0]", "setup_intent.payment_method")
                    .add("expand[1]", "payment_intent.payment_method")};
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return unexpected(ask, *reply, false);
  const JsonValue session = reply->root();
  SetupState state;
  if (session["status"].is("expired")) state.failure = "expired";
  if (!session["status"].is("complete")) return state;
  const bool is_setup = session["mode"].is("setup");
  const JsonValue intent = session[is_setup ? "setup_intent" : "payment_intent"];
  if (!intent["status"].is("succeeded")) {
    const bool is_over =
        intent["status"].is("canceled") || intent["status"].is("requires_payment_method");
    const JsonValue error = intent[is_setup ? "last_setup_error" : "last_payment_error"];
    if (is_over) state.failure = error.is_absent() ? "cancelled" : declined_by(error).code;
    return state;
  }
  if (!is_setup && !intent["setup_future_usage"].is("off_session")) {
    state.failure = "not_saved";
    return state;
  }
  const JsonValue method = intent["payment_method"];
  if (method["customer"].is_absent()) {
    state.failure = "payment_method_gone";
    return state;
  }
  auto saved = saved_method_of(method);
  if (!saved.ok()) return saved.error();
  state.method = *std::move(saved);
  return state;
}

Done BoundStripe::forget_method(std::string_view method, Call& call) {
  if (!is_id(method)) {
    return Failure{FailureKind::contract, "that is no reference of a saved method", {}, false};
  }
  const std::string path = "/v1/payment_methods/" + std::string(method);
  const Ask detach{Method::post, path + "/detach"};
  const auto reply = api_.send(detach, call);
  if (!reply.ok()) return reply.error();
  if (reply->is_done() || reply->status == 404) return Unit{};
  // Stripe refuses to detach what is attached to nobody any more.
  const auto seen = api_.get(path, {}, call);
  if (!seen.ok()) return seen.error();
  const bool is_forgotten =
      seen->status == 404 || (seen->is_done() && seen->root()["customer"].is_absent());
  if (is_forgotten) return Unit{};
  return unexpected(detach, *reply, false);
}

}  // namespace turnpike::stripe
