// Invoices and receipts: URLs at Stripe, which are fetched for each request because they expire.
#include "stripe/processor.h"

namespace turnpike::stripe {
namespace {

// Invoices are at invoice.stripe.com and pay.stripe.com, receipts at pay.stripe.com.
bool is_of_stripe(std::string_view url) {
  constexpr std::string_view scheme = "https://";
  const std::string_view origin = origin_of(url);
  if (!origin.starts_with(scheme)) return false;
  const std::string_view host = origin.substr(scheme.size());
  return host == "stripe.com" || host.ends_with(".stripe.com");
}

}  // namespace

// Whether `url` is on the server that a test uses in place of Stripe.
bool BoundStripe::is_ours(std::string_view url) const {
  return settings_.is_own_base && origin_of(url) == settings_.api_base;
}

Result<std::optional<std::string>> BoundStripe::payment_document(std::string_view reference,
                                                                 PaymentDocument kind, Call& call) {
  const bool is_session = reference.starts_with("cs_");
  const bool is_receipt = kind == PaymentDocument::receipt;
  if (!is_id(reference) || (!is_session && !reference.starts_with("pi_"))) {
    return Failure{FailureKind::contract, "that is no reference of this processor", {}, false};
  }
  if (!is_session && !is_receipt) return std::optional<std::string>();
  const std::string_view expanded = !is_session  ? "latest_charge"
                                    : is_receipt ? "payment_intent.latest_charge"
                                                 : "invoice";
  const Ask ask{
      Method::get,
      (is_session ? "/v1/checkout/sessions/" : "/v1/payment_intents/") + std::string(reference),
      Form().add("expand[0]", expanded)};
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return unexpected(ask, *reply, false);
  const JsonValue root = reply->root();
  const JsonValue charge = (is_session ? root["payment_intent"] : root)["latest_charge"];
  std::string url = is_receipt ? charge["receipt_url"].text()
                    : kind == PaymentDocument::invoice
                        ? root["invoice"]["hosted_invoice_url"].text()
                        : root["invoice"]["invoice_pdf"].text();
  if (url.empty()) return std::optional<std::string>();
  if (!is_of_stripe(url) && !is_ours(url)) {
    return Failure{FailureKind::contract,
                   "Stripe names a document at " + std::string(origin_of(url)) +
                       ", which is none of its hosts",
                   {},
                   false};
  }
  return std::optional(std::move(url));
}

}  // namespace turnpike::stripe
