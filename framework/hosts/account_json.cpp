#include "hosts/account_json.h"

#include <nlohmann/json.hpp>

#include "hosts/purchase_json.h"
#include "text/time_text.h"

namespace turnpike::hosts {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& body) {
  // Bytes that a caller sent may be in the ledger; invalid UTF-8 among them is replaced.
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string credits_text(ledger::Credits credits) { return std::to_string(credits); }

Json correction_json(const std::optional<ledger::CreditsRestored>& restored) {
  if (!restored) return nullptr;
  return {{"correctionId", restored->correction_id},
          {"kind", ledger::name_of(restored->kind)},
          {"creditsRestored", credits_text(restored->units)},
          {"recordedAt", text::rfc3339(restored->recorded_at_ms)}};
}

std::string page_text(const BillingQuery& query, Json items, Json next_cursor,
                      std::int64_t generated_at_ms) {
  return text_of({{"billingAccountId", query.page.account_id},
                  {"collection", name_of(query.collection)},
                  {"items", std::move(items)},
                  {"nextCursor", std::move(next_cursor)},
                  {"generatedAt", text::rfc3339(generated_at_ms)}});
}

template <class Item>
std::string page_body(const BillingQuery& query, const ledger::Page<Item>& page,
                      std::string_view cursor_key) {
  Json items = Json::array();
  for (const Item& item : page.items) items.push_back(row_json(item));
  const Json next = page.next ? Json(make_billing_cursor(query.page.account_id, query.collection,
                                                         *page.next, cursor_key))
                              : Json(nullptr);
  return page_text(query, std::move(items), next, page.generated_at_ms);
}

void add_sums(Json& object, const ledger::UsageSums& sums) {
  object["requests"] = sums.requests;
  object["charged"] = sums.charged;
  object["released"] = sums.released;
  object["creditsCharged"] = credits_text(sums.credits);
}

}  // namespace

Json row_json(const ledger::UsageRow& row) {
  return {{"messageId", row.message_id},
          {"requestId", row.request_id},
          {"clientRequestId", text_or_null(row.client_request_id)},
          {"occurredAt", text::rfc3339(row.occurred_at_ms)},
          {"routeId", row.route_id},
          {"routeRevision", row.route_revision},
          {"method", row.method},
          {"lane", row.lane},
          {"creditCost", credits_text(row.credit_cost)},
          {"creditsCharged", credits_text(row.credits_charged)},
          {"priceVersion", row.price_version},
          {"generation", row.generation},
          {"outcome", ledger::outcome_of(row.outcome_reason)},
          {"outcomeReason", row.outcome_reason},
          {"upstreamStatus", row.upstream_status == 0 ? Json(nullptr) : Json(row.upstream_status)},
          {"upstreamMs", row.upstream_ms},
          {"apiKeyId", text_or_null(row.api_key_id)},
          {"correction", correction_json(row.restored)}};
}

Json row_json(const ledger::Allocation& allocation) {
  return {{"id", allocation.id},
          {"origin", ledger::name_of(allocation.origin)},
          {"credits", credits_text(allocation.units)},
          {"remaining", credits_text(allocation.remaining)},
          {"effectiveAt", text::rfc3339(allocation.effective_at_ms)},
          {"expiresAt", text::rfc3339(allocation.expires_at_ms)},
          {"status", ledger::name_of(allocation.status)}};
}

std::string auth_context_body(const identity::Principal& principal) {
  return text_of({{"principal_id", identity::text_of(principal)},
                  {"billing_account_id", principal.account_id},
                  {"actor_subject_id", nullptr}});
}

std::string credit_balance_body(std::string_view account_id, const ledger::Balance& balance) {
  return text_of({{"billingAccountId", account_id},
                  {"meterKey", "request_count"},
                  {"creditBalance", credits_text(balance.credits)},
                  {"generatedAt", text::rfc3339(balance.generated_at_ms)}});
}

std::string billing_body(const BillingQuery& query, const ledger::Page<ledger::UsageRow>& page,
                         std::string_view cursor_key) {
  return page_body(query, page, cursor_key);
}

std::string billing_body(const BillingQuery& query, const ledger::Page<ledger::Allocation>& page,
                         std::string_view cursor_key) {
  return page_body(query, page, cursor_key);
}

std::string billing_body(const BillingQuery& query, const ledger::Page<Invoice>& page,
                         std::string_view cursor_key) {
  return page_body(query, page, cursor_key);
}

std::string call_body(std::string_view request_id, const ledger::CallState& state) {
  Json body = {{"request_id", request_id}, {"status", state.is_pending ? "pending" : "final"}};
  if (state.is_pending) return text_of(body);
  const ledger::UsageRow& call = state.record->usage;
  body["client_request_id"] = text_or_null(call.client_request_id);
  body["occurred_at"] = text::rfc3339(call.occurred_at_ms);
  body["outcome"] = ledger::outcome_of(call.outcome_reason);
  body["outcome_reason"] = call.outcome_reason;
  body["credit_cost"] = call.credit_cost;
  body["credits_charged"] = call.credits_charged;
  body["credits_restored"] = call.restored ? call.restored->units : 0;
  body["price_version"] = call.price_version;
  body["method"] = call.method;
  body["route_id"] = call.route_id;
  body["route_revision"] = call.route_revision;
  body["lane"] = call.lane;
  body["generation"] = call.generation;
  body["api_key_id"] = text_or_null(call.api_key_id);
  body["upstream_status"] = call.upstream_status == 0 ? Json(nullptr) : Json(call.upstream_status);
  body["upstream_ms"] = call.upstream_ms;
  body["ledger_entry"] = {{"stream", state.record->stream},
                          {"seq", state.record->seq},
                          {"message_id", call.message_id}};
  return text_of(body);
}

std::string usage_summary_body(const ledger::SummaryQuery& query,
                               const ledger::UsageSummary& summary) {
  Json totals;
  add_sums(totals, summary.totals);
  Json body = {{"from", text::rfc3339(query.from_ms)},
               {"to", text::rfc3339(query.to_ms)},
               {"granularity", ledger::name_of(query.granularity)},
               {"totals", std::move(totals)},
               {"series", Json::array()},
               {"byOperation", Json::array()},
               {"byKey", Json::array()}};
  for (const auto& bucket : summary.series) {
    add_sums(body["series"].emplace_back(Json{{"start", text::rfc3339(bucket.start_ms)}}),
             bucket.sums);
  }
  for (const auto& operation : summary.by_operation) {
    add_sums(body["byOperation"].emplace_back(
                 Json{{"routeId", operation.route_id}, {"method", operation.method}}),
             operation.sums);
  }
  for (const auto& key : summary.by_key) {
    add_sums(body["byKey"].emplace_back(Json{{"apiKeyId", text_or_null(key.api_key_id)}}),
             key.sums);
  }
  return text_of(body);
}

}  // namespace turnpike::hosts
