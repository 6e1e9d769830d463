#include "notices/event.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "text/time_text.h"

namespace turnpike::notices {
namespace {

using NoticeJson = nlohmann::ordered_json;

constexpr std::array types_in_order{
    EventType::purchase_credited, EventType::auto_top_up_paused, EventType::credits_low,
    EventType::key_cap_reached,   EventType::price_changed,      EventType::endpoint_test};

// Names from third parties, such as codes of a payment service, may not be UTF-8; invalid bytes are
// replaced.
std::string text_of(const NoticeJson& data) {
  return data.dump(-1, ' ', false, NoticeJson::error_handler_t::replace);
}

NoticeJson text_or_null(const std::string& text) {
  return text.empty() ? NoticeJson(nullptr) : NoticeJson(text);
}

}  // namespace

std::span<const EventType> all_event_types() noexcept { return types_in_order; }

std::string_view name_of(EventType type) noexcept {
  switch (type) {
    case EventType::purchase_credited: return "purchase.credited";
    case EventType::auto_top_up_paused: return "auto_top_up.paused";
    case EventType::credits_low: return "credits.low";
    case EventType::key_cap_reached: return "key.cap_reached";
    case EventType::price_changed: return "price.changed";
    case EventType::endpoint_test: return "endpoint.test";
  }
  return "";
}

std::optional<EventType> event_type_of(std::string_view name) noexcept {
  const auto* const found = std::find_if(types_in_order.begin(), types_in_order.end(),
                                         [&](EventType type) { return name_of(type) == name; });
  if (found == types_in_order.end()) return std::nullopt;
  return *found;
}

bool is_subscribable(EventType type) noexcept { return type != EventType::endpoint_test; }

std::string data_of(const PurchaseCredited& event) {
  return text_of({{"billingAccountId", event.account_id},
                  {"purchaseId", event.purchase_id},
                  {"origin", event.origin},
                  {"amount", {{"currency", event.currency}, {"amount", event.amount}}},
                  {"credits", std::to_string(event.credits)},
                  {"allocationId", event.allocation_id},
                  {"creditedAt", text::rfc3339(event.credited_at_ms)}});
}

std::string data_of(const AutoTopUpPaused& event) {
  return text_of({{"billingAccountId", event.account_id},
                  {"state", event.state},
                  {"reason", event.reason},
                  {"purchaseId", text_or_null(event.purchase_id)},
                  {"pausedAt", text::rfc3339(event.paused_at_ms)}});
}

std::string data_of(const CreditsLow& event) {
  return text_of({{"billingAccountId", event.account_id},
                  {"balance", std::to_string(event.balance)},
                  {"threshold", std::to_string(event.threshold)}});
}

std::string data_of(const KeyCapReached& event) {
  return text_of({{"billingAccountId", event.account_id},
                  {"apiKeyId", event.key_id},
                  {"span", event.span},
                  {"cap", std::to_string(event.cap)},
                  {"spent", std::to_string(event.spent)},
                  {"resetsAt", text::rfc3339(event.resets_at_ms)}});
}

std::string data_of(const PriceChanged& event) {
  NoticeJson changes = NoticeJson::array();
  const std::size_t named = std::min(event.changes.size(), price_changes_named_max);
  for (std::size_t at = 0; at < named; ++at) {
    const PriceChange& change = event.changes[at];
    changes.push_back({{"routeId", change.route_id},
                       {"method", change.method},
                       {"path", change.path},
                       {"oldCreditCost", std::to_string(change.old_credit_cost)},
                       {"newCreditCost", std::to_string(change.new_credit_cost)}});
  }
  return text_of({{"billingAccountId", event.account_id},
                  {"generation", event.generation},
                  {"changes", std::move(changes)},
                  {"moreChanges", event.changes.size() - named}});
}

std::string data_of(const EndpointTest& event) {
  return text_of({{"billingAccountId", event.account_id}, {"endpointId", event.endpoint_id}});
}

std::string body_of(EventType type, std::int64_t happened_at_ms, std::string_view data) {
  std::string body = R"({"type":")";
  body.append(name_of(type)).append(R"(","timestamp":")").append(text::rfc3339(happened_at_ms));
  body.append(R"(","data":)").append(data).append("}");
  return body;
}

}  // namespace turnpike::notices
