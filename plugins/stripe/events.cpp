#include "stripe/events.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace turnpike::stripe {
namespace {

constexpr std::string_view types[] = {"checkout.session.completed",
                                      "checkout.session.async_payment_succeeded",
                                      "checkout.session.async_payment_failed",
                                      "checkout.session.expired",
                                      "payment_intent.succeeded",
                                      "payment_intent.payment_failed",
                                      "payment_intent.canceled",
                                      "refund.created",
                                      "refund.updated",
                                      "refund.failed",
                                      "charge.dispute.created",
                                      "charge.dispute.closed",
                                      "charge.dispute.funds_withdrawn",
                                      "charge.dispute.funds_reinstated",
                                      "setup_intent.succeeded",
                                      "setup_intent.setup_failed",
                                      "payment_method.detached",
                                      "payment_method.automatically_updated"};

// Whether the object's metadata name no other deployment.
bool is_of(JsonValue object, const Owner& owner) {
  const JsonValue deployment = object["metadata"]["turnpike_deployment"];
  return deployment.is_absent() || deployment.is(owner.deployment_id);
}

// Empty if `id` is not an id: anyone with access to the Stripe account can write metadata.
std::optional<Hint> hint(Hint::Of of, std::string id) {
  if (!is_id(id)) return std::nullopt;
  return Hint{of, std::move(id)};
}

std::optional<Hint> hint_of(std::string_view type, JsonValue object, const Owner& owner) {
  const JsonValue metadata = object["metadata"];
  if (type.starts_with("checkout.session.")) {
    const bool is_ours =
        !metadata["turnpike_purchase"].is_absent() || !metadata["turnpike_setup"].is_absent();
    if (!is_ours || !is_of(object, owner)) return std::nullopt;
    return hint(Hint::Of::reference, object.id());
  }
  if (type.starts_with("payment_intent.")) {
    if (!is_of(object, owner)) return std::nullopt;
    return hint(Hint::Of::purchase, metadata["turnpike_purchase"].text());
  }
  if (type.starts_with("setup_intent.")) {
    if (!is_of(object, owner)) return std::nullopt;
    return hint(Hint::Of::setup, metadata["turnpike_setup"].text());
  }
  if (type.starts_with("payment_method.")) return hint(Hint::Of::method, object.id());
  // Refunds and disputes may be made elsewhere, so they may lack this plugin's metadata.
  return hint(Hint::Of::payment, object["payment_intent"].id());
}

}  // namespace

std::span<const std::string_view> event_types() noexcept { return types; }

ReadEvent read_event(JsonValue event, const Owner& owner) {
  ReadEvent read;
  const std::string type = event["type"].text();
  if (type.empty() || event.id().empty()) return read;
  read.kind = EventKind::unused;
  if (std::find(std::begin(types), std::end(types), type) == std::end(types)) return read;
  read.kind = EventKind::foreign;
  if (event["livemode"].is_true() != owner.is_live) return read;
  if (auto found = hint_of(type, event["data"]["object"], owner)) {
    read.kind = EventKind::told;
    read.hints.push_back(*std::move(found));
  }
  return read;
}

}  // namespace turnpike::stripe
