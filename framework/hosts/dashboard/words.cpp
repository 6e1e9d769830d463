#include "hosts/dashboard/words.h"

#include <utility>

#include "text/time_text.h"
#include "text/uri.h"

namespace turnpike::hosts::dashboard {

namespace {

constexpr std::int64_t second_ms = 1'000;
constexpr std::int64_t minute_ms = 60 * second_ms;
constexpr std::int64_t hour_ms = 60 * minute_ms;

std::string status_text(std::int64_t status) { return std::to_string(status); }

// The text after "Not charged: ".
std::string why_not(const ledger::UsageRow& call) {
  const std::string& reason = call.outcome_reason;
  const std::string status = status_text(call.upstream_status);
  if (reason == "replayed") {
    return "it repeated an earlier call with the same Idempotency-Key and got the reply that was "
           "stored for it.";
  }
  if (reason == "upstream_status") {
    return "the provider answered " + status + ", which is no success of this operation.";
  }
  if (reason == "upstream_timeout") return "the provider did not answer in time.";
  if (reason == "upstream_failure") {
    return "the provider could not be reached, or broke off its reply.";
  }
  if (reason == "response_too_large") {
    return "the provider's reply was larger than this operation may deliver.";
  }
  if (reason == "declared_no_charge") {
    return "the provider answered " + status +
           ", and the operation declares that such a reply is free.";
  }
  if (reason == "client_gone_before_reply") {
    return "the caller had left before the provider answered.";
  }
  if (reason == "gateway_stopped") return "the gateway stopped while the call was under way.";
  if (reason == "settlement_failed") {
    return "the charge could not be written, so the reply was withheld.";
  }
  return "it ended as " + reason + ".";
}

bool reached_no_provider(const ledger::UsageRow& call) {
  return call.outcome_reason == "replayed";
}

Gate asked_gate(const ledger::UsageRow& call) {
  if (reached_no_provider(call)) return {"Provider", "unknown", "not asked again"};
  if (call.upstream_status == 0) return {"Provider", "bad", "no answer"};
  return {"Provider", "ok", "answered " + status_text(call.upstream_status)};
}

Gate judged_gate(const ledger::UsageRow& call) {
  if (reached_no_provider(call)) return {"Reply", "ok", "the stored one"};
  const std::string& reason = call.outcome_reason;
  if (reason == "success" || reason == "settlement_failed") return {"Reply", "ok", "a success"};
  if (reason == "declared_no_charge") return {"Reply", "ok", "declared free"};
  if (call.upstream_status == 0) return {"Reply", "unknown", "there was none"};
  return {"Reply", "bad", "no success"};
}

}  // namespace

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  const std::int64_t tenths = part * 1'000 / whole;  // rounded down: 999 of 1,000 is below 100 %
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " %";
}

std::string query_time(std::int64_t at_ms) {
  const std::string text = text::rfc3339(at_ms);
  if (at_ms % second_ms != 0) return text.substr(0, 23);
  return text.substr(0, at_ms % minute_ms == 0 ? 16 : 19);
}

std::string full_time(std::string_view text) {
  std::string full(text);
  if (text.size() < 10 || text[4] != '-' || text.ends_with('Z')) return full;
  if (text.size() == 10) return full + "T00:00:00Z";
  if (text.size() == 16) return full + ":00Z";
  return text.size() == 19 || text.size() == 23 ? full + "Z" : full;
}

std::string length_of(std::int64_t span_ms) {
  constexpr std::pair<std::int64_t, std::string_view> units[] = {
      {day_ms, "day"}, {hour_ms, "hour"}, {minute_ms, "minute"}, {second_ms, "second"}};
  for (const auto& [length_ms, name] : units) {
    const std::int64_t count = span_ms / length_ms;
    if (count == 0) continue;
    return counted(count, name);
  }
  return "less than a second";
}

std::string each_span(std::uint64_t seconds) {
  constexpr std::pair<std::uint64_t, std::string_view> units[] = {
      {86'400, "day"}, {3'600, "hour"}, {60, "minute"}, {1, "second"}};
  std::string text = "Each ";
  for (const auto& [length, name] : units) {
    if (seconds % length != 0) continue;
    const auto count = static_cast<std::int64_t>(seconds / length);
    return text.append(count == 1 ? std::string(name) : counted(count, name));
  }
  return text;
}

Href& Href::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += std::exchange(has_query_, true) ? '&' : '?';
  text_.append(name).append("=");
  text::append_percent_encoded(text_, value);
  return *this;
}

std::string operation_name(const catalog::View* view, std::string_view route_id,
                           std::string_view method) {
  const registry::Route* const route =
      view == nullptr ? nullptr : view->program().find_route(route_id);
  std::string name(method);
  return name.append(" ").append(route == nullptr ? route_id
                                                  : std::string_view(route->matcher.pattern));
}

std::string_view origin_text(ledger::Origin origin) noexcept {
  switch (origin) {
    case ledger::Origin::starter_grant:
      return "starter grant";
    case ledger::Origin::purchase:
      return "purchase";
    case ledger::Origin::auto_top_up:
      return "Auto Top-Up";
    case ledger::Origin::operator_grant:
      return "grant by an operator";
    case ledger::Origin::correction:
      return "correction";
  }
  return "";
}

std::string_view state_of(std::string_view outcome) noexcept {
  if (outcome == "charged") return "ok";
  return outcome == "released" ? "warn" : "unknown";
}

std::string why_charged(const ledger::UsageRow& call) {
  std::string sentence;
  if (call.outcome_reason == "success") {
    const std::string answered = "the provider answered " + status_text(call.upstream_status) +
                                 ", which this operation declares a success";
    sentence = call.credits_charged == 0
                   ? "It cost nothing: " + answered + ", at a price of 0."
                   : "Charged " + text::credits_text(call.credits_charged) + ": " + answered + ".";
  } else {
    sentence = "Not charged: " + why_not(call);
  }
  if (call.restored) {
    sentence += " Given back: " + text::credits_text(call.restored->units) + " on " +
                when(call.restored->recorded_at_ms) + " (" +
                std::string(ledger::name_of(call.restored->kind)) + ").";
  }
  return sentence;
}

std::vector<Gate> gates_of(const ledger::UsageRow& call) {
  std::vector<Gate> gates = {{"Key", "ok", "known, and its account active"},
                             {"Operation", "ok", "ready"}};
  if (reached_no_provider(call)) {
    gates.push_back({"Credits", "ok", "none were needed"});
  } else {
    gates.push_back({"Credits", "ok", text::credits_text(call.credit_cost) + " set aside"});
  }
  gates.push_back(asked_gate(call));
  gates.push_back(judged_gate(call));
  if (call.outcome_reason == "settlement_failed") {
    gates.push_back({"Charge", "bad", "could not be written"});
  } else if (call.outcome_reason == "success") {
    gates.push_back({"Charge", "ok",
                     text::credits_text(call.credits_charged) + ", before the reply left"});
  } else {
    gates.push_back({"Charge", "unknown", "none"});
  }
  return gates;
}

}  // namespace turnpike::hosts::dashboard
