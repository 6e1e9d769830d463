#include "hosts/auto_top_up_json.h"

#include "hosts/purchase_json.h"

namespace turnpike::hosts {

namespace {

using commerce::AutoTopUp;
using commerce::MethodSetup;
using commerce::Policy;
using OrderedJson = nlohmann::ordered_json;

OrderedJson word_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

OrderedJson policy_json(const Policy& policy) {
  const bool exists = policy.revision > 0;
  const auto money = [&](std::int64_t minor) {
    return exists ? money_json(policy.currency, minor) : OrderedJson(nullptr);
  };
  return {{"billingAccountId", policy.account_id},
          {"revision", policy.revision},
          {"enabled", policy.is_enabled},
          {"thresholdCredits",
           exists ? OrderedJson(std::to_string(policy.threshold)) : OrderedJson(nullptr)},
          {"amount", money(policy.minor)},
          {"monthlyLimit", money(policy.monthly_limit_minor)},
          {"paymentMethodId", word_or_null(policy.setup_id)},
          {"createdBy", word_or_null(policy.created_by)},
          {"createdAt", exists ? time_or_null(policy.created_at_ms) : OrderedJson(nullptr)}};
}

OrderedJson method_json(const MethodSetup& setup) {
  if (setup.standing != commerce::SetupStanding::succeeded) return nullptr;
  const SavedMethod& method = setup.method;
  const auto whole = [](int value) {
    return value > 0 ? OrderedJson(value) : OrderedJson(nullptr);
  };
  return {{"brand", method.brand},
          {"last4", word_or_null(method.last4)},
          {"expiresMonth", whole(method.expires_month)},
          {"expiresYear", whole(method.expires_year)}};
}

OrderedJson setup_failure_json(const MethodSetup& setup) {
  const std::string code = commerce::setup_failure_code(setup);
  if (code.empty()) return nullptr;
  return {{"code", code}, {"message", commerce::setup_failure_text(code)}, {"retryable", true}};
}

OrderedJson last_run_json(const AutoTopUp& seen) {
  if (!seen.last_run) return nullptr;
  return {{"purchaseId", seen.last_run->id},
          {"state", commerce::name_of(seen.last_run->state)},
          {"failure", failure_json(*seen.last_run)}};
}

OrderedJson pause_json(const commerce::TopUpStanding& standing) {
  if (!commerce::is_paused(standing.state)) return nullptr;
  return {{"code", standing.reason}, {"message", commerce::pause_text(standing)}};
}

}  // namespace

std::string policy_body(const Policy& policy) { return body_text(policy_json(policy)); }

std::string auto_top_up_body(const AutoTopUp& seen) {
  OrderedJson body = policy_json(seen.policy);
  const std::int64_t next_ms = seen.standing.next_attempt_ms;
  body["state"] = commerce::name_of(seen.standing.state);
  body["pause"] = pause_json(seen.standing);
  body["paymentMethod"] = seen.setup ? method_json(*seen.setup) : OrderedJson(nullptr);
  body["creditBalance"] = std::to_string(seen.balance);
  body["pendingCredits"] = std::to_string(seen.pending);
  body["spentThisMonth"] = money_json(seen.policy.currency, seen.spent_minor);
  body["nextAttemptAt"] = time_or_null(next_ms > 0 ? next_ms : -1);
  body["lastRun"] = last_run_json(seen);
  return body_text(body);
}

std::string setup_body(const MethodSetup& setup) {
  const bool is_open = setup.standing == commerce::SetupStanding::requires_action;
  return body_text({{"setupId", setup.id},
                  {"billingAccountId", setup.account_id},
                  {"processor", setup.processor},
                  {"state", commerce::name_of(setup.standing)},
                  {"setupUrl", is_open ? word_or_null(setup.url) : OrderedJson(nullptr)},
                  {"paymentMethod", method_json(setup)},
                  {"failure", setup_failure_json(setup)},
                  {"createdAt", time_or_null(setup.created_at_ms)},
                  {"expiresAt", time_or_null(setup.expires_at_ms)}});
}

}  // namespace turnpike::hosts
