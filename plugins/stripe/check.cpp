// Checks whether the Stripe account and this deployment's configuration fit together.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "stripe/events.h"
#include "stripe/processor.h"

namespace turnpike::stripe {
namespace {

// Webhooks are refused from a difference of five minutes on (signature_tolerance_s).
constexpr std::int64_t clock_difference_max_s = 60;

std::vector<std::string> types_missing_in(JsonValue endpoint) {
  const JsonValue enabled = endpoint["enabled_events"];
  std::vector<std::string> missing;
  for (const std::string_view type : event_types()) {
    bool is_enabled = false;
    for (std::size_t at = 0; at < enabled.size(); ++at) {
      is_enabled = is_enabled || enabled.at(at).is(type) || enabled.at(at).is("*");
    }
    if (!is_enabled) missing.emplace_back(type);
  }
  return missing;
}

Finding clock_finding(std::int64_t now_ms, std::int64_t stripe_ms) {
  if (stripe_ms < 0) return {false, "Stripe did not say what time it has"};
  const std::int64_t difference_s = (now_ms - stripe_ms) / 1'000;
  const std::string seconds = std::to_string(std::abs(difference_s)) + " s ";
  if (std::abs(difference_s) <= clock_difference_max_s) {
    return {false, "the clock is as Stripe's, within " + seconds};
  }
  return {true, "the clock is " + seconds + (difference_s > 0 ? "ahead of" : "behind") +
                    " Stripe's: set it, since webhooks of another time are refused"};
}

}  // namespace

std::vector<Finding> BoundStripe::check_endpoint(const Reply& reply) const {
  JsonValue endpoint;
  const JsonValue list = reply.root()["data"];
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list.at(at)["url"].is(place_.webhook_url)) endpoint = list.at(at);
  }
  if (endpoint.is_absent()) {
    return {{true, "Stripe has no webhook endpoint for " + place_.webhook_url +
                       ": make one, as the plugin's README says"}};
  }
  std::vector<Finding> found;
  if (!endpoint["status"].is("enabled")) {
    found.push_back({true, "the webhook endpoint at Stripe is disabled: enable it"});
  }
  std::string missing;
  for (const std::string& type : types_missing_in(endpoint)) missing += " " + type;
  if (!missing.empty()) {
    found.push_back({true, "the webhook endpoint at Stripe is not sent these events:" + missing});
  }
  if (!endpoint["api_version"].is(api_version)) {
    found.push_back({true, "the webhook endpoint at Stripe is not of API version " +
                               std::string(api_version) + ": make a new one with it"});
  }
  if (found.empty()) found.push_back({false, "the webhook endpoint at Stripe is right"});
  return found;
}

std::vector<Finding> BoundStripe::check(Call& call) {
  std::vector<Finding> found;
  const std::string mode = settings_.is_live() ? "live" : "test";
  const auto answer = api_.get("/v1/checkout/sessions", Form().add("limit", 1), call);
  if (!answer.ok()) return {{true, answer.error().message}};
  if (!answer->is_done()) return {{true, "the api_key does not work: " + answer->summary()}};
  found.push_back({false, "the api_key is answered, and is of " + mode +
                              " mode, as `environment: " + place_.environment + "` wants"});
  if (!settings_.is_restricted()) {
    found.push_back(
        {true, "the api_key may do everything: use a restricted key, rk_" + mode + "_..."});
  }
  found.push_back(clock_finding(host_.clock().now_ms(), answer->date_ms));
  if (settings_.webhook_secrets.empty()) {
    found.push_back({true, "no secret of webhook_secrets is available: notices are not believed"});
  }
  const auto endpoints = api_.get("/v1/webhook_endpoints", Form().add("limit", 100), call);
  if (!endpoints.ok() || !endpoints->is_done()) {
    const std::string why = endpoints.ok() ? endpoints->summary() : endpoints.error().message;
    found.push_back({!endpoints.ok() && endpoints.error().kind != FailureKind::credential,
                     "the webhook endpoint at Stripe was not looked at: " + why});
    return found;
  }
  const auto of_endpoint = check_endpoint(*endpoints);
  found.insert(found.end(), of_endpoint.begin(), of_endpoint.end());
  return found;
}

}  // namespace turnpike::stripe
