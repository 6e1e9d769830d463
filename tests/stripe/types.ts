// What the plugin sends and what the fake answers, in the types of Stripe's own client. The name is
// the test's own, because the client's names collide with others that the compiler knows.
import Stripe from "stripe";

export interface TurnpikeTypes {
  "POST /v1/customers": Stripe.CustomerCreateParams;
  "POST /v1/checkout/sessions": Stripe.Checkout.SessionCreateParams;
  "GET /v1/checkout/sessions": Stripe.Checkout.SessionListParams;
  "GET /v1/checkout/sessions/{id}": Stripe.Checkout.SessionRetrieveParams;
  "POST /v1/checkout/sessions/{id}/expire": Stripe.Checkout.SessionExpireParams;
  "POST /v1/payment_intents": Stripe.PaymentIntentCreateParams;
  "GET /v1/payment_intents/{id}": Stripe.PaymentIntentRetrieveParams;
  "POST /v1/payment_intents/{id}/confirm": Stripe.PaymentIntentConfirmParams;
  "POST /v1/payment_intents/{id}/cancel": Stripe.PaymentIntentCancelParams;
  "GET /v1/payment_methods/{id}": Stripe.PaymentMethodRetrieveParams;
  "POST /v1/payment_methods/{id}/detach": Stripe.PaymentMethodDetachParams;
  "POST /v1/refunds": Stripe.RefundCreateParams;
  "GET /v1/refunds": Stripe.RefundListParams;
  "GET /v1/disputes": Stripe.DisputeListParams;
  "GET /v1/events": Stripe.EventListParams;
  "GET /v1/webhook_endpoints": Stripe.WebhookEndpointListParams;
  "checkout.session": Stripe.Checkout.Session;
  payment_intent: Stripe.PaymentIntent;
  setup_intent: Stripe.SetupIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  dispute: Stripe.Dispute;
  invoice: Stripe.Invoice;
  payment_method: Stripe.PaymentMethod;
  customer: Stripe.Customer;
  webhook_endpoint: Stripe.WebhookEndpoint;
}
