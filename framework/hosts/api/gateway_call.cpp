#include "hosts/api/gateway_call.h"

#include <algorithm>
#include <utility>

#include "base/crash_points.h"
#include "hosts/refusal.h"
#include "hosts/route_table.h"
#include "hosts/status_table.h"
#include "text/http_field.h"
#include "wire/grammar.h"

namespace turnpike::hosts::api {

using base::CrashPoint;

namespace {

constexpr std::string_view reply_kept_by_nobody = "private, no-store";

// Restricts the upstream's Cache-Control to private caches: a shared cache would hand a reply that
// one caller paid for to others. Quoted lists (private="set-cookie") are not parsed: such a reply
// is not stored at all.
std::string for_one_caller(std::string_view caching) {
  if (caching.find('"') != caching.npos) return std::string(reply_kept_by_nobody);
  std::string kept = "private";
  while (!caching.empty()) {
    const std::size_t end = std::min(caching.find(','), caching.size());
    const std::string_view directive = text::trimmed(caching.substr(0, end));
    caching.remove_prefix(std::min(end + 1, caching.size()));
    const std::string_view name = directive.substr(0, directive.find('='));
    const bool is_of_shared_caches = wire::same_text(name, "public") ||
                                     wire::same_text(name, "private") ||
                                     wire::same_text(name, "s-maxage");
    if (!directive.empty() && !is_of_shared_caches) kept.append(", ").append(directive);
  }
  return kept;
}

}  // namespace

exchange::Invocation GatewayCall::invocation() noexcept {
  exchange::Invocation invocation;
  invocation.method = turn_.request.method();
  invocation.path = turn_.request.path();
  invocation.query = turn_.request.query();
  invocation.headers = turn_.request.headers();
  invocation.content_type = turn_.content_type();
  invocation.content_coding = turn_.content_coding();
  invocation.request_id = turn_.request_id();
  invocation.client_request_id = turn_.client_request_id();
  invocation.idempotency_key = turn_.idempotency_key();
  invocation.body = turn_.request.has_body() ? this : nullptr;
  invocation.caller = this;
  return invocation;
}

std::optional<std::uint64_t> GatewayCall::declared_length() const noexcept {
  return turn_.request.body_length();
}

Result<std::string_view, base::Error> GatewayCall::read(std::uint64_t bytes_max) {
  return body_.read(bytes_max);
}

exchange::Standing GatewayCall::standing() const noexcept {
  if (turn_.request.client_gone()) return exchange::Standing::gone;
  if (is_stopping_.load(std::memory_order_relaxed)) return exchange::Standing::stopping;
  return exchange::Standing::waiting;
}

void GatewayCall::add_facts(const exchange::ReplyFacts& facts, ReplyFields& fields) const {
  if (!facts.generation.empty()) fields.add("Turnpike-Generation", facts.generation);
  if (!facts.lane.empty()) {
    fields.add("Turnpike-Lane", facts.lane);
    fields.add_number("Turnpike-Credits-Charged", facts.credits_charged);
  }
  if (facts.credits_remaining >= 0) {
    fields.add_number("Turnpike-Credits-Remaining",
                      static_cast<std::uint64_t>(facts.credits_remaining));
  }
  fields.add("Turnpike-Reply-From", exchange::name_of(facts.from));
  fields.add_timing(facts.gateway_us, facts.upstream_us);
}

void GatewayCall::add_head(const exchange::ReplyHead& head, ReplyFields& fields) {
  const auto add_all = [&](const auto& of_one) {
    for (const auto& field : of_one) {
      if (same_header_name(field.name, cache_control_field)) {
        caching_.append(caching_.empty() ? "" : ", ").append(field.value);
      } else {
        fields.add(field.name, field.value);
      }
    }
  };
  add_all(head.headers);
  add_all(head.lane_headers);  // a stored reply includes the upstream's
  if (!caching_.empty()) caching_ = for_one_caller(caching_);
  fields.add(cache_control_field,
             caching_.empty() ? reply_kept_by_nobody : std::string_view(caching_));
  // The upstream's error may be text or HTML; browsers must not sniff another type.
  if (head.status >= 400) fields.add("X-Content-Type-Options", "nosniff");
  add_facts(head.facts, fields);
}

bool GatewayCall::reply(const exchange::ReplyHead& head, std::string_view body) {
  ReplyFields fields;
  add_head(head, fields);
  pass(CrashPoint::reply_before);
  const bool is_sent = turn_.send(head.status, fields, body);
  pass(CrashPoint::reply_ended);
  return is_sent;
}

bool GatewayCall::begin(const exchange::ReplyHead& head, std::optional<std::uint64_t> length) {
  ReplyFields fields;
  add_head(head, fields);
  turn_.add_common_fields(fields);
  turn_.record.status = head.status;
  pass(CrashPoint::reply_before);
  return turn_.responder.begin(head.status, fields.view(), length);
}

bool GatewayCall::write(std::string_view bytes) {
  const bool is_sent = turn_.responder.write(bytes);
  pass(CrashPoint::reply_begun);
  return is_sent;
}

bool GatewayCall::finish(std::string_view last_bytes) {
  pass(CrashPoint::reply_ends);
  if (!last_bytes.empty() && !turn_.responder.write(last_bytes)) return false;
  const bool is_sent = turn_.responder.finish();
  pass(CrashPoint::reply_ended);
  return is_sent;
}

void GatewayCall::cut() noexcept {
  turn_.record.is_whole = false;
  turn_.responder.cut();
}

bool GatewayCall::refuse(const base::Error& error, const exchange::RefusalHead& head) {
  RefusalHead own = head_of(error);
  own.status = call_status(error.code);
  own.allow = head.allow;
  RefusalBody body{head.content_type, {}};
  if (head.body.empty()) body = as_envelope(error, {turn_.request_id()});
  ReplyFields fields;
  for (const OwnedHeader& field : head.lane_headers) fields.add(field.name, field.value);
  add_refusal_fields(own, body.content_type, fields);
  add_facts(head.facts, fields);
  turn_.record.error = error.code;
  return turn_.send(own.status, fields, head.body.empty() ? body.text : head.body);
}

void GatewayCalls::call(Turn& turn) {
  turn.record.is_call = true;
  if (const auto refused = header_refusal(turn)) {
    turn.refuse(*refused);
    return;
  }
  GatewayCall call(turn, is_stopping_, bodies_, authenticator_);
  exchange::Served served = backend_.serve(call.invocation(), call);
  const bool is_caller_gone = served.ending == exchange::Ending::caller_gone;
  turn.record.request_bytes = served.request_bytes;
  turn.keep_served(std::move(served));
  if (is_caller_gone) {
    turn.record.is_whole = false;
    if (!turn.responder.begun()) turn.responder.cut();
  }
}

}  // namespace turnpike::hosts::api
