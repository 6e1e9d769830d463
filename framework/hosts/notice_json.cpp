#include "hosts/notice_json.h"

#include <nlohmann/json.hpp>

#include "base/strict_object.h"
#include "hosts/account_query.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::hosts {

namespace {

using notices::Delivery;
using notices::DeliveryState;
using NoticeJson = nlohmann::ordered_json;

constexpr std::int64_t credits_max = 1'000'000'000'000;

NoticeJson moment_or_null(std::int64_t at_ms) {
  return at_ms < 0 ? NoticeJson(nullptr) : NoticeJson(text::rfc3339(at_ms));
}

NoticeJson word_or_null(std::string_view word) {
  return word.empty() ? NoticeJson(nullptr) : NoticeJson(word);
}

NoticeJson endpoint_json(const notices::Endpoint& endpoint) {
  NoticeJson types = nullptr;
  if (!endpoint.types.empty()) {
    types = NoticeJson::array();
    for (const auto type : endpoint.types) types.push_back(notices::name_of(type));
  }
  return {{"endpointId", endpoint.id},
          {"billingAccountId", endpoint.account_id},
          {"url", endpoint.url},
          {"description", endpoint.description},
          {"eventTypes", std::move(types)},
          {"enabled", endpoint.is_enabled()},
          {"disabledReason", word_or_null(notices::name_of(endpoint.disabled))},
          {"disabledAt", moment_or_null(endpoint.disabled_at_ms)},
          {"previousSecretEndsAt",
           moment_or_null(endpoint.old_secret_until_ms == 0 ? -1 : endpoint.old_secret_until_ms)},
          {"failingSince", moment_or_null(endpoint.failing_since_ms)},
          {"lastDeliveredAt", moment_or_null(endpoint.delivered_at_ms)},
          {"createdAt", text::rfc3339(endpoint.created_at_ms)}};
}

NoticeJson delivery_json(const Delivery& delivery) {
  const bool is_pending = delivery.state == DeliveryState::pending;
  return {{"deliveryId", delivery.id},
          {"endpointId", delivery.endpoint_id},
          {"webhookId", delivery.event_id},
          {"eventType", notices::name_of(delivery.type)},
          {"state", notices::name_of(delivery.state)},
          {"attempts", delivery.attempts},
          {"lastStatus",
           delivery.last_status == 0 ? NoticeJson(nullptr) : NoticeJson(delivery.last_status)},
          {"lastProblem", word_or_null(delivery.last_problem)},
          {"lastAttemptAt", moment_or_null(delivery.last_at_ms)},
          {"nextAttemptAt", moment_or_null(is_pending ? delivery.due_at_ms : -1)},
          {"createdAt", text::rfc3339(delivery.created_at_ms)},
          {"endedAt", moment_or_null(delivery.ended_at_ms)}};
}

void add_problem(base::Error& error, std::string_view member, std::string problem,
                 std::string fix) {
  error.fields.push_back({base::pointer_to(member), std::move(problem), std::move(fix)});
}

// Null means all types.
void read_types(const nlohmann::json& value, notices::EndpointWish& wish, base::Error& error) {
  wish.types.emplace();
  if (value.is_null()) return;
  const char* const fix = "Send null for all, or a list such as [\"purchase.credited\"].";
  if (!value.is_array() || value.empty()) {
    return add_problem(error, "eventTypes", "it is neither null nor a list of names", fix);
  }
  for (const auto& name : value) {
    const auto type = name.is_string()
                          ? notices::event_type_of(name.get_ref<const std::string&>())
                          : std::nullopt;
    if (!type) return add_problem(error, "eventTypes", "there is no event type of this name", fix);
    wish.types->push_back(*type);
  }
}

}  // namespace

std::string endpoint_body(const notices::Endpoint& endpoint) {
  return endpoint_json(endpoint).dump();
}

std::string endpoint_body(const notices::WithSecret& made) {
  NoticeJson body = endpoint_json(made.endpoint);
  body["secret"] = made.secret;
  return body.dump();
}

std::string endpoints_body(const std::vector<notices::Endpoint>& endpoints) {
  NoticeJson list = NoticeJson::array();
  for (const notices::Endpoint& endpoint : endpoints) list.push_back(endpoint_json(endpoint));
  return list.dump();
}

std::string delivery_body(const Delivery& delivery) { return delivery_json(delivery).dump(); }

std::string delivery_page_body(std::string_view account_id, const notices::DeliveryPage& page,
                               std::string_view cursor_key, std::int64_t now_ms) {
  NoticeJson items = NoticeJson::array();
  for (const Delivery& delivery : page.deliveries) items.push_back(delivery_json(delivery));
  NoticeJson next = nullptr;
  if (page.has_more) {
    const Delivery& last = page.deliveries.back();
    next = make_delivery_cursor(account_id, {last.created_at_ms, last.id}, cursor_key);
  }
  return NoticeJson{{"billingAccountId", account_id},
                    {"items", std::move(items)},
                    {"nextCursor", std::move(next)},
                    {"generatedAt", text::rfc3339(now_ms)}}
      .dump();
}

std::string notice_settings_body(std::string_view account_id,
                                 const notices::NoticeSettings& settings) {
  return NoticeJson{{"billingAccountId", account_id},
                    {"creditsLowThreshold", settings.credits_low < 0
                                                ? NoticeJson(nullptr)
                                                : NoticeJson(std::to_string(settings.credits_low))}}
      .dump();
}

Result<notices::EndpointWish, base::Error> read_endpoint_wish(std::string_view json,
                                                              bool needs_url) {
  base::StrictObject body(json, {"url", "description", "eventTypes", "enabled"});
  notices::EndpointWish wish;
  if (needs_url || body.has("url")) wish.url = body.text("url", {1, notices::url_bytes_max});
  if (body.has("description")) {
    wish.description = body.text("description", {0, notices::description_characters_max});
  }
  base::Error error = body.refusal();
  const nlohmann::json members = text::parse_json(json);
  if (members.is_object() && members.contains("enabled")) {
    if (members["enabled"].is_boolean()) {
      wish.is_enabled = members["enabled"].get<bool>();
    } else {
      add_problem(error, "enabled", "it is neither true nor false", "Send true or false.");
    }
  }
  if (members.is_object() && members.contains("eventTypes")) {
    read_types(members["eventTypes"], wish, error);
  }
  if (!error.fields.empty()) return error;
  if (wish.url || wish.description || wish.types || wish.is_enabled) return wish;
  add_problem(error, "", "the body changes nothing",
              "Send url, description, eventTypes or enabled.");
  return error;
}

Result<notices::NoticeSettings, base::Error> read_notice_settings(std::string_view json) {
  base::StrictObject body(json, {"creditsLowThreshold"});
  const auto threshold = body.units_or_null("creditsLowThreshold", credits_max);
  if (!body.problems().empty()) return body.refusal();
  return notices::NoticeSettings{threshold.value_or(-1)};
}

}  // namespace turnpike::hosts
