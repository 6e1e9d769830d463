#include "exchange/serve.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/crash_points.h"
#include "base/limits.h"
#include "exchange/ascii.h"
#include "exchange/call_reports.h"
#include "exchange/connection_options.h"
#include "exchange/live_call.h"
#include "exchange/microseconds.h"
#include "exchange/passage.h"
#include "identity/authenticator.h"
#include "registry/policy.h"
#include "text/http_field.h"
#include "text/uri.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;
namespace limits = base::limits;

constexpr std::string_view free_suffix = ":free";
const registry::NoCharges no_conditions;  // for calls that are free anyway

base::Error error(ErrorCode code, std::string_view message, std::uint32_t retry_after_seconds = 0) {
  return {code, std::string(message), retry_after_seconds};
}

base::Error field_error(ErrorCode code, std::string_view message, base::FieldProblem field) {
  return {code, std::string(message), 0, {std::move(field)}};
}

// For conditions that only the operator can change, so that waiting does not help.
base::Error not_until_mended(ErrorCode code, std::string_view reason) {
  base::Error refusal = error(code, reason);
  refusal.advice = base::Advice::never;
  return refusal;
}

std::optional<Method> method_of(std::string_view name) noexcept {
  if (name == "GET") return Method::get;
  if (name == "POST") return Method::post;
  return std::nullopt;
}

bool is_allowed_media_type(const registry::BodyPolicy& policy, std::string_view content_type) {
  const std::string_view type = text::media_type_of(content_type);
  return policy.media_types.empty() ||
         std::any_of(
             policy.media_types.begin(), policy.media_types.end(),
             [type](const std::string& allowed) { return equals_ignoring_case(type, allowed); });
}

std::string listed(const std::vector<std::string>& types) {
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : ", ") + type;
  return text;
}

base::Error media_type_error(const registry::BodyPolicy& policy) {
  return field_error(ErrorCode::request_media_type_rejected,
                     "This operation does not take a body of this content type.",
                     {"header.content-type", "The content type is missing or not allowed.",
                      "Send one of: " + listed(policy.media_types) + "."});
}

// "query.title" for a fault in a parameter's value, "query" for a fault in a name.
std::string location_in(std::string_view query, std::size_t fault) {
  constexpr std::size_t name_bytes_shown = 64;
  const std::string_view pair = query.substr(query.substr(0, fault).rfind('&') + 1);  // npos + 1: 0
  const std::size_t equals = pair.find('=');
  const auto pair_at = static_cast<std::size_t>(pair.data() - query.data());
  if (equals == pair.npos || pair_at + equals > fault) return "query";
  return "query." + std::string(pair.substr(0, std::min(equals, name_bytes_shown)));
}

base::Error coding_error() {
  return field_error(ErrorCode::request_content_coding_rejected,
                     "Bodies are forwarded as they come, and their coding is not.",
                     {"header.content-encoding", "The body is compressed or otherwise coded.",
                      "Send the body itself, without Content-Encoding."});
}

// The message of codes that are reported without details.
std::string_view message_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::auth_credential_conflict:
      return "The request carries credentials of more than one kind, or one of them twice. Send "
             "exactly one credential.";
    case ErrorCode::request_path_malformed:
      return "The path holds a byte that must be percent-encoded (RFC 3986), a bad escape, or an "
             "encoded slash or dot segment where none may stand.";
    case ErrorCode::gateway_route_not_found:
      return "No operation of the installed registry has this path. Copy an exact path from the "
             "catalog: /v1/capabilities over HTTP, service.capabilities.list over MCP.";
    case ErrorCode::auth_credential_required:
      return "This operation needs an API key: send it as \"Authorization: Bearer <key>\".";
    case ErrorCode::auth_credential_invalid:
      return "The credential is not a valid API key. Send it as \"Authorization: Bearer <key>\".";
    default:
      break;
  }
  const base::LaneError* const of_lane = base::lane_error(code);
  return of_lane != nullptr ? of_lane->text : "The request was refused.";
}

// The party that is to blame if the upstream's reply is unusable: the upstream or its plugin.
UpstreamPart part_of(const Verdict& verdict) noexcept {
  switch (verdict.kind) {
    case Verdict::Kind::charged:
    case Verdict::Kind::passed:
      return UpstreamPart::worked;
    case Verdict::Kind::gone:
      return UpstreamPart::none;
    case Verdict::Kind::failed:
      break;
  }
  const ErrorCode code = verdict.error.code;
  const bool is_ours =
      code == ErrorCode::gateway_stopping || code == ErrorCode::gateway_transfer_limit;
  return is_ours ? UpstreamPart::none : UpstreamPart::failed;
}

// True if a refusal may depend on the current registry: an earlier program may have accepted the
// same request.
bool follows_from_registry(ErrorCode code) noexcept {
  if (base::role_of(code) == base::CodeRole::not_payable) return true;
  switch (code) {
    case ErrorCode::gateway_route_not_found:
    case ErrorCode::gateway_method_not_allowed:
    case ErrorCode::billing_pricing_unavailable:
    case ErrorCode::gateway_route_blocked:
    case ErrorCode::gateway_upstream_credential:
    case ErrorCode::gateway_evidence_stale:
    case ErrorCode::request_query_rejected:
    case ErrorCode::request_body_not_allowed:
    case ErrorCode::request_body_too_large:
    case ErrorCode::request_media_type_rejected:
    case ErrorCode::request_body_rejected:
      return true;
    default:
      return false;
  }
}

}  // namespace

Passage::Passage(const Context& context, const Invocation& invocation, ReplyWriter& writer)
    : context_(context),
      invocation_(invocation),
      writer_(writer),
      started_ns_(context.clock.monotonic_ns()) {}

Served Passage::run() {
  if (Refused refused = check()) {
    RefusalHead head;
    if (refused->code == ErrorCode::gateway_method_not_allowed) head.allow = terms_->allow;
    if (!recall(*refused)) refuse(*refused, head);
  } else {
    admit_and_forward();
  }
  const std::int64_t ended_ns = context_.clock.monotonic_ns();
  served_.total_us = microseconds(ended_ns - started_ns_);
  served_.upstream_us = microseconds(upstream_ns_);
  served_.principal = std::move(principal_);
  if (terms_ != nullptr && terms_->report != nullptr) {
    terms_->report->call_ended(served_, invocation_.request_id, ended_ns);
  }
  return std::move(served_);
}

Passage::Refused Passage::check() {
  if (context_.service == nullptr) {
    return error(ErrorCode::registry_unavailable, "No registry is installed.", 1);
  }
  if (Refused refused = choose()) return refused;
  if (Refused refused = authenticate()) return refused;
  if (Refused refused = check_account()) return refused;
  if (Refused refused = check_ready()) return refused;
  if (Refused refused = check_parameters()) return refused;
  if (Refused refused = check_query()) return refused;
  if (Refused refused = check_body()) return refused;
  // A call of an account takes its seat before its body is read, since the bound on calls then also
  // bounds the bodies in memory. Any other call takes its seat afterwards: a client that only
  // announces a body takes no seat from others.
  const bool is_known = principal_ != nullptr;
  if (Refused refused = is_known ? enter() : read_body()) return refused;
  if (Refused refused = is_known ? read_body() : enter()) return refused;
  pass(base::CrashPoint::request_read);
  return enter_upstream();
}

const FoundOperation* Passage::found_here() const noexcept {
  const FoundOperation* const found = invocation_.found;
  return found != nullptr && found->program == &context_.service->program() ? found : nullptr;
}

// Chooses lane, route and operation: steps 2 to 4 except the look-up of the key.
Passage::Refused Passage::choose() {
  const Service& service = *context_.service;
  path_ = invocation_.path;
  if (path_.size() > limits::request_path_bytes_max) {
    return error(ErrorCode::request_target_too_long, "The path is longer than 8192 bytes.");
  }
  credentials_ = read_credentials(invocation_.headers, service.lanes());
  Asked asked;
  if (path_.ends_with(free_suffix)) {
    asked.free_suffix = true;
    path_.remove_suffix(free_suffix.size());
  }
  const FoundOperation* const found = found_here();
  match_ = found != nullptr ? found->match : service.program().match(path_);
  if (match_.status == registry::MatchStatus::path_malformed ||
      text::path_fault(path_) != path_.npos) {
    asked.target = Target::path_malformed;
  } else if (match_.status == registry::MatchStatus::found) {
    const registry::Route& route = *match_.route;
    terms_ = &service.terms(route);
    served_.route = route.id;
    served_.provider = service.program().providers()[route.provider].key;
    served_.operation_path = route.matcher.pattern;
    if (found != nullptr) {
      operation_ = &service.program().operations()[found->operation];
    } else if (const auto method = method_of(invocation_.method)) {
      operation_ = service.program().operation(route, *method);
    }
    if (operation_ != nullptr) {
      served_.operation_method = name_of(operation_->method);
      served_.operation = operation_->index;
    }
    asked.target = operation_ == nullptr ? Target::method_not_allowed : Target::operation;
    asked.has_free_variant =
        route.free_policy.has_value() && service.lanes().find(LaneRole::free) != nullptr;
    asked.credential_required = route.credential_required;
    asked.sold_per_call = operation_ != nullptr && service.program().is_sold_per_call(*operation_);
  }
  const LaneChoice choice = choose_lane(service.lanes(), credentials_, asked);
  if (choice.lane == nullptr) return refusal_of(choice);
  lane_ = choice.lane;
  served_.lane = lane_->name;
  return std::nullopt;
}

base::Error Passage::refusal_of(const LaneChoice& choice) const {
  if (choice.refusal == ErrorCode::gateway_method_not_allowed) {
    return error(choice.refusal,
                 "This path has no operation with this method; it has: " + terms_->allow + ".");
  }
  if (choice.refusal == ErrorCode::request_path_malformed) {
    const std::string name(text::unfilled_parameter(path_).substr(0, 66));
    if (!name.empty()) {
      return field_error(choice.refusal, "The path still holds a parameter of its pattern.",
                         {"path", "It holds " + name + ".", "Put the value there."});
    }
  }
  return error(choice.refusal,
               choice.message.empty() ? message_of(choice.refusal) : choice.message);
}

Passage::Refused Passage::authenticate() {
  if (!lane_->needs_account) return std::nullopt;
  const runtime::Deadline deadline{started_ns_ +
                                   std::int64_t{limits::authentication_timeout_ms} * 1'000'000};
  auto principal =
      context_.authenticator.authenticate(credentials_.token, deadline, invocation_.accepts);
  if (!principal.ok()) return std::move(principal).error();
  principal_ = *std::move(principal);
  return std::nullopt;
}

Passage::Refused Passage::check_account() const {
  if (principal_ == nullptr) return std::nullopt;
  switch (principal_->account_status) {
    case identity::AccountStatus::active:
      return std::nullopt;
    case identity::AccountStatus::suspended:
      return error(ErrorCode::account_suspended, "The billing account of this key is suspended.");
    case identity::AccountStatus::closed:
      return error(ErrorCode::account_closed, "The billing account of this key is closed.");
    case identity::AccountStatus::provisioning:
      return error(ErrorCode::account_provisioning, "The billing account is being set up.", 1);
    case identity::AccountStatus::provisioning_failed:
      break;
  }
  return error(ErrorCode::account_absent, "The billing account of this key could not be set up.");
}

Passage::Refused Passage::check_ready() const {
  if (!operation_->price.has_value() && lane_->role != LaneRole::free) {
    return error(ErrorCode::billing_pricing_unavailable, "This operation has no price at present.");
  }
  const registry::Readiness& programmed = match_.route->readiness;
  if (!programmed.ready)
    return not_until_mended(ErrorCode::gateway_route_blocked, programmed.reason);
  State state = context_.service->state(*operation_);
  // A caller that sends a payment may only want the reply that it bought before; the lane decides.
  if (state.condition == Condition::ready && lane_->role == LaneRole::payment &&
      credentials_.lanes[static_cast<std::size_t>(lane_ - context_.service->lanes().rows.data())] ==
          Presence::absent) {
    state = context_.service->payment_state(*operation_);
    if (state.condition != Condition::ready) {
      return error(base::code_of(base::CodeRole::unavailable), state.reason, 5);
    }
  }
  switch (state.condition) {
    case Condition::ready:
      return std::nullopt;
    case Condition::blocked:
      return error(ErrorCode::gateway_route_blocked, state.reason, state.retry_after_seconds);
    case Condition::credential_missing:
      return not_until_mended(ErrorCode::gateway_upstream_credential, state.reason);
    case Condition::evidence_stale:
      return error(ErrorCode::gateway_evidence_stale, state.reason, state.retry_after_seconds);
  }
  return error(ErrorCode::gateway_plugin_fault, "The provider is in no known condition.");
}

// Checks the path's parameters against their declared types. The call has no seat yet, and
// therefore no scratch buffer for decoding.
Passage::Refused Passage::check_parameters() const {
  const registry::Route& route = *match_.route;
  if (!route.enforce_declared) return std::nullopt;
  std::vector<base::FieldProblem> problems;
  std::string decoded(path_.size(), '\0');
  std::size_t at = 0;
  for (const registry::Segment& segment : route.matcher.segments) {
    if (!segment.is_parameter) continue;
    const auto [offset, length] = match_.parameters[at++];
    // match() has refused paths that cannot be decoded.
    const auto bytes = registry::decode_segment(path_.substr(offset, length), decoded.data());
    auto problem = registry::check_segment(segment, {decoded.data(), bytes.value_or(0)});
    if (problem) problems.push_back(*std::move(problem));
  }
  if (problems.empty()) return std::nullopt;
  return base::Error{ErrorCode::request_path_malformed,
                     "The path does not keep the declared types of this route's parameters.", 0,
                     std::move(problems)};
}

Passage::Refused Passage::check_query() const {
  const std::string_view query = invocation_.query;
  if (query.size() > limits::request_query_bytes_max) {
    return field_error(ErrorCode::request_query_too_long, "The query is too long.",
                       {"query", "It has " + std::to_string(query.size()) + " bytes.",
                        "Send at most " + std::to_string(limits::request_query_bytes_max) + "."});
  }
  if (const std::size_t fault = text::query_fault(query); fault != query.npos) {
    return field_error(ErrorCode::request_query_malformed, "The query is not valid by RFC 3986.",
                       {location_in(query, fault),
                        "The byte at offset " + std::to_string(fault) + " may not stand there.",
                        "Percent-encode it."});
  }
  const registry::Route& route = *match_.route;
  if (!route.enforce_declared) return std::nullopt;
  auto problems = registry::check_query(*operation_->query, query);
  if (problems.empty()) return std::nullopt;
  return base::Error{ErrorCode::request_query_rejected,
                     "The query does not keep the declared policy of this route.", 0,
                     std::move(problems)};
}

// 0: the operation takes no body.
std::uint64_t Passage::body_bytes_max() const noexcept {
  const registry::BodyPolicy& policy = *match_.route->body;
  if (operation_->method == Method::get || policy.forbidden) return 0;
  return std::min<std::uint64_t>(policy.max_bytes, limits::long_body_bytes_max);
}

base::Error Passage::body_too_large() const {
  const std::uint64_t bytes_max = body_bytes_max();
  if (bytes_max == 0) {
    return error(ErrorCode::request_body_not_allowed, "This operation takes no request body.");
  }
  return error(ErrorCode::request_body_too_large,
               "The body is longer than " + std::to_string(bytes_max) + " bytes.");
}

// A body that the route requires is always enforced, whatever else the route enforces.
Passage::Refused Passage::check_no_body() const {
  const registry::BodyPolicy& policy = *match_.route->body;
  if (operation_->method == Method::get || !policy.required) return std::nullopt;
  return field_error(
      ErrorCode::request_body_rejected, "This operation needs a request body.",
      {"body", "It is missing.", "Send one as: " + listed(policy.media_types) + "."});
}

// Checks the announced length and type of the body.
Passage::Refused Passage::check_body() const {
  if (invocation_.body == nullptr) return check_no_body();
  if (!invocation_.content_coding.empty()) return coding_error();
  const std::optional<std::uint64_t> announced = invocation_.body->declared_length();
  if (!announced) return std::nullopt;  // known only after reading
  const std::uint64_t declared = *announced;
  if (declared == 0) return check_no_body();
  if (declared > body_bytes_max()) return body_too_large();
  const registry::BodyPolicy& policy = *match_.route->body;
  if (is_allowed_media_type(policy, invocation_.content_type)) return std::nullopt;
  return media_type_error(policy);
}

Passage::Refused Passage::read_body() {
  if (invocation_.body == nullptr) return std::nullopt;
  if (invocation_.body->declared_length() == std::uint64_t{0}) return std::nullopt;
  auto body = invocation_.body->read(body_bytes_max());
  if (!body.ok()) {
    if (body.error().code == ErrorCode::request_body_too_large) return body_too_large();
    return std::move(body).error();
  }
  body_ = *body;
  served_.request_bytes = body_.size();
  if (body_.empty()) return check_no_body();
  const registry::BodyPolicy& policy = *match_.route->body;
  if (!is_allowed_media_type(policy, invocation_.content_type)) return media_type_error(policy);
  if (!match_.route->enforce_declared) return std::nullopt;
  auto problems = registry::check_body(policy, invocation_.content_type, body_.size());
  if (problems.empty()) return std::nullopt;
  return base::Error{ErrorCode::request_body_rejected,
                     "The body does not keep the declared policy of this route.", 0,
                     std::move(problems)};
}

Passage::Refused Passage::enter() {
  if (!seat_.enter(context_.loop)) {
    return error(ErrorCode::gateway_overloaded, "The gateway has too many calls in flight.", 1);
  }
  if (principal_ == nullptr || seat_.enter_account(principal_->account_id)) return std::nullopt;
  return error(ErrorCode::gateway_account_concurrency, "This account has too many calls in flight.",
               1);
}

Passage::Refused Passage::enter_upstream() {
  upstream_seat_ = context_.service->upstream(match_.route->upstream).in_flight.try_enter();
  if (upstream_seat_) return std::nullopt;
  return error(ErrorCode::gateway_overloaded, "The provider has too many calls in flight.", 1);
}

// A caller that sends a payment may have paid for this very request before the registry changed.
// Then the lane's answer is sent. False: there is none, and the refusal `reason` stands.
bool Passage::recall(const base::Error& reason) {
  if (!follows_from_registry(reason.code) || path_ != invocation_.path) return false;
  const LaneTable& table = context_.service->lanes();
  const LaneRow* row = table.find(LaneRole::payment);
  if (row == nullptr || !row->is_bound) return false;
  if (credentials_.lanes[static_cast<std::size_t>(row - table.rows.data())] != Presence::once) {
    return false;
  }
  const auto method = method_of(invocation_.method);
  // Takes a seat before the body is read, as for any call.
  if (!method || (!seat_.is_taken() && !seat_.enter(context_.loop))) return false;
  if (!read_any_body()) return false;
  lane_ = row;
  LaneRequest request = lane_request();
  request.method = *method;
  LiveCall call(
      invocation_.request_id,
      {context_.clock.monotonic_ns() + std::int64_t{limits::upstream_deadline_ms} * 1'000'000},
      invocation_.caller);
  const Recalled recalled = context_.service->lane(*row).bound->recall(request, call);
  if (std::holds_alternative<std::monostate>(recalled)) return false;
  served_.lane = row->name;
  if (const auto* stored = std::get_if<Replay>(&recalled)) {
    replay(*stored);
  } else {
    const auto& refusal = std::get<Refusal>(recalled);
    refuse_by_lane(refusal, error_of(refusal));
  }
  return true;
}

// Reads the body within the limit of any operation. False: the body cannot be read.
bool Passage::read_any_body() {
  if (invocation_.body == nullptr || !body_.empty()) return true;
  if (invocation_.body->declared_length() == std::uint64_t{0}) return true;
  if (invocation_.body->declared_length().value_or(0) > limits::long_body_bytes_max) return false;
  const auto body = invocation_.body->read(limits::long_body_bytes_max);
  if (body.ok()) body_ = *body;
  return body.ok();
}

void Passage::admit_and_forward() {
  BoundLane& lane = *context_.service->lane(*lane_).bound;
  LiveCall call(invocation_.request_id,
                {context_.clock.monotonic_ns() + std::int64_t{operation_->deadline_ms} * 1'000'000},
                invocation_.caller);
  Admission admission = lane.admit(lane_request(), call);
  if (const auto* refusal = std::get_if<Refusal>(&admission)) {
    refuse_by_lane(*refusal, error_of(*refusal));
  } else if (const auto* stored = std::get_if<Replay>(&admission)) {
    replay(*stored);
  } else if (const auto& ticket = std::get<std::unique_ptr<Ticket>>(admission)) {
    // A payment may have been collected meanwhile, whose time is not the upstream's.
    if (settle_timeout_ms() > limits::commit_budget_ms) {
      call.restart(
          {context_.clock.monotonic_ns() + std::int64_t{operation_->deadline_ms} * 1'000'000});
    }
    forward(*ticket, call);
  } else {
    refuse(error(ErrorCode::gateway_plugin_fault, "The lane failed; nothing was charged."));
  }
}

// The only place where a hold ends: settled, or released.
void Passage::forward(Ticket& ticket, LiveCall& call) {
  const auto& lane = context_.service->lane(*lane_);
  keeps_reply_ = ticket.keeps_reply;
  forwarded_ns_ = context_.clock.monotonic_ns();
  Delivery::Terms terms{*operation_->response,
                        *terms_,
                        reply_bytes_max(),
                        keeps_whole(),
                        !invocation_.idempotency_key.empty() && lane_->role != LaneRole::free,
                        lane_->role == LaneRole::free ? no_conditions : operation_->no_charge_when,
                        context_.rules,
                        facts(ReplyFrom::provider),
                        ticket.headers,
                        started_ns_,
                        forwarded_ns_};
  if (lane.traits.charges_credits) {
    const auto& prices = context_.service->program().prices();
    terms.facts.credits_charged = prices[*operation_->price].credit_cost;
  }
  Delivery delivery(terms, writer_, call, context_.transfers, seat_.scratch(), context_.clock);
  const Done done = execute(delivery, call);
  answered_ns_ = context_.clock.monotonic_ns();
  upstream_ns_ = answered_ns_ - forwarded_ns_ - call.blocked_ns();
  Verdict verdict = delivery.judge(done, upstream_ns_, answered_ns_ > call.deadline_ns());
  blame_ceiling(verdict.error);
  served_.upstream_status = delivery.status();
  served_.upstream_part = part_of(verdict);
  served_.operator_note = std::move(verdict.operator_note);
  if (verdict.kind == Verdict::Kind::failed && served_.operator_note.empty()) {
    served_.operator_note =
        "status " + std::to_string(delivery.status()) + ": " + verdict.error.message;
  }

  if (verdict.kind == Verdict::Kind::charged) return settle(ticket, delivery);
  LiveCall releasing(invocation_.request_id,
                     {answered_ns_ + std::int64_t{limits::commit_budget_ms} * 1'000'000}, nullptr);
  releasing.outlive_caller();
  const auto answer = ticket.release(verdict.outcome, delivery.status(), releasing);
  if (answer && verdict.kind != Verdict::Kind::gone && !delivery.is_streaming()) {
    return refuse_by_lane(*answer, error_of(*answer));
  }
  if (verdict.kind == Verdict::Kind::passed) return complete(delivery, ticket.headers);
  fail(delivery, verdict);
}

bool Passage::keeps_whole() const noexcept {
  return context_.service->lane(*lane_).traits.buffer_whole ||
         invocation_.reply_bytes_max <= limits::response_whole_bytes_max;
}

// The lowest limit of the route, the host and, if it buffers whole replies, the lane. A stored
// reply may exceed the host's limit, since it can be fetched through another host.
std::uint64_t Passage::reply_bytes_max() const noexcept {
  const std::uint64_t own_max = operation_->response->max_bytes;
  const std::uint64_t bytes_max =
      keeps_reply_ ? own_max : std::min(own_max, invocation_.reply_bytes_max);
  return keeps_whole() ? std::min<std::uint64_t>(bytes_max, limits::response_whole_bytes_max)
                       : bytes_max;
}

// The provider is only to blame for exceeding the route's own limit.
void Passage::blame_ceiling(base::Error& reason) const {
  if (reason.code != ErrorCode::gateway_upstream_response_too_large) return;
  if (reply_bytes_max() == operation_->response->max_bytes) return;
  reason.fault = base::Fault::gateway;
  reason.advice = base::Advice::after_change;
}

std::uint32_t Passage::settle_timeout_ms() const noexcept {
  return std::max(limits::commit_budget_ms,
                  context_.service->lane(*lane_).traits.settle_timeout_ms);
}

Done Passage::execute(Delivery& delivery, LiveCall& call) {
  if (!decode_parameters()) {
    return Failure{FailureKind::plugin_fault, "a matched path could not be decoded", {}, false};
  }
  collect_forwarded_headers();
  UpstreamRequest request;
  request.operation = operation_->upstream_operation;
  request.method = operation_->method;
  request.path = path_;
  request.query = invocation_.query;
  request.parameters = std::span(seat_.scratch().parameters).first(match_.parameter_count);
  request.content_type = body_.empty() ? std::string_view{} : invocation_.content_type;
  request.body = body_;
  request.headers = seat_.scratch().forwarded;
  request.reply_bytes_max = reply_bytes_max();
  BoundUpstream& upstream = context_.service->upstream(match_.route->upstream);
  return upstream.upstream->execute(request, delivery, call);
}

void Passage::settle(Ticket& ticket, Delivery& delivery) {
  LiveCall settling(invocation_.request_id,
                    {answered_ns_ + std::int64_t{settle_timeout_ms()} * 1'000'000}, nullptr);
  settling.outlive_caller();
  ReplyView reply;
  reply.status = delivery.status();
  reply.headers = delivery.headers();
  reply.body = delivery.whole_body();
  reply.body_bytes = delivery.received_bytes();
  reply.upstream_ms = microseconds(upstream_ns_) / 1000;

  const Finish finish = ticket.settle(reply, settling);
  if (const auto* charged = std::get_if<Charged>(&finish)) {
    served_.credits_charged = charged->credits_charged;
    credits_remaining_ = charged->credits_remaining;
    ticket.headers.insert(ticket.headers.end(), charged->headers.begin(), charged->headers.end());
    return complete(delivery, ticket.headers);
  }
  const auto* unknown = std::get_if<Unknown>(&finish);
  const Refusal& refusal =
      unknown != nullptr ? unknown->refusal : std::get<NotCharged>(finish).refusal;
  const base::Error reason = error_of(refusal);
  if (!delivery.is_streaming()) return refuse_by_lane(refusal, reason);
  served_.error = reason.code;
  served_.ending = delivery.lost_caller() ? Ending::caller_gone : Ending::cut;
  writer_.cut();
}

// Sends the reply, or its unsent rest, to the caller.
void Passage::complete(Delivery& delivery, std::span<const OwnedHeader> lane_headers) {
  if (!delivery.is_streaming() && is_too_long(delivery.pending())) {
    return refuse_kept(lane_headers);
  }
  served_.reply_bytes = delivery.received_bytes();
  bool is_sent = false;
  if (!delivery.is_streaming()) {
    const ReplyHead head{delivery.status(), delivery.headers(), lane_headers,
                         facts(ReplyFrom::provider)};
    is_sent = writer_.reply(head, delivery.pending());
  } else if (!delivery.lost_caller()) {
    is_sent = writer_.finish(delivery.pending());
  }
  served_.ending = is_sent ? Ending::replied : Ending::caller_gone;
}

void Passage::fail(const Delivery& delivery, const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::gone) {
    served_.ending = Ending::caller_gone;
    if (delivery.is_streaming()) writer_.cut();
    return;
  }
  if (!delivery.is_streaming()) return refuse(verdict.error);
  served_.error = verdict.error.code;
  served_.ending = delivery.lost_caller() ? Ending::caller_gone : Ending::cut;
  writer_.cut();
}

// Translates a lane's refusal. Unknown codes, and texts of exceptions that the plugin guards
// caught, are for the operator only.
base::Error Passage::error_of(const Refusal& refusal) {
  const base::ErrorInfo* info = base::find_error(refusal.code);
  if (info == nullptr || info->code == ErrorCode::gateway_plugin_fault) {
    served_.operator_note = refusal.code + ": " + refusal.message;
    return error(ErrorCode::gateway_plugin_fault, "The lane failed.");
  }
  if (info->code == ErrorCode::billing_settlement_unknown) {
    served_.operator_note = refusal.message;
    // Without an account, the caller has no key to query the call with.
    const std::string request_id(invocation_.request_id);
    const std::string who_tells =
        principal_ != nullptr ? "GET /v1/calls/" + request_id + " tells it once known."
                              : "The operator can tell it of the request " + request_id + ".";
    base::Error unknown = error(
        info->code,
        "Whether the call was charged is not known yet, so its reply is withheld. " + who_tells);
    // Only with an idempotency key is a repeat certainly not charged twice.
    if (!invocation_.idempotency_key.empty()) unknown.advice = base::Advice::same_request;
    return unknown;
  }
  return error(info->code, refusal.message, refusal.retry_after_seconds);
}

bool Passage::is_too_long(std::string_view body) const noexcept {
  return body.size() > invocation_.reply_bytes_max;
}

void Passage::refuse_kept(std::span<const OwnedHeader> lane_headers) {
  RefusalHead head;
  head.lane_headers = lane_headers;
  base::Error reason =
      error(ErrorCode::gateway_upstream_response_too_large,
            "The reply is longer than the " + std::to_string(invocation_.reply_bytes_max) +
                " bytes that this call may bring. It is kept: the same request with the same "
                "credential and Idempotency-Key gets it over HTTP, and is not charged again.");
  reason.fault = base::Fault::gateway;
  reason.advice = base::Advice::after_change;
  refuse(reason, head);
}

void Passage::refuse_by_lane(const Refusal& refusal, const base::Error& reason) {
  RefusalHead head;
  head.lane_headers = refusal.headers;
  head.body = refusal.body;
  head.content_type = refusal.content_type;
  refuse(reason, head);
}

void Passage::refuse(const base::Error& reason, RefusalHead head) {
  head.facts = facts(ReplyFrom::gateway);
  served_.error = reason.code;
  served_.ending = writer_.refuse(reason, head) ? Ending::refused : Ending::caller_gone;
}

void Passage::replay(const Replay& stored) {
  if (is_too_long(stored.body)) return refuse_kept(stored.headers);
  served_.reply_bytes = stored.body.size();
  const ReplyHead head{stored.status, {}, stored.headers, facts(ReplyFrom::provider)};
  served_.ending = writer_.reply(head, stored.body) ? Ending::replied : Ending::caller_gone;
}

LaneRequest Passage::lane_request() {
  auto& credentials = seat_.scratch().credentials;
  for (const HeaderField& field : invocation_.headers) {
    for (const std::string& name : lane_->headers) {
      if (equals_ignoring_case(field.name, name)) credentials.push_back(field);
    }
  }
  LaneRequest request;
  if (operation_ != nullptr) {
    request.operation = operation_->index;
    request.method = operation_->method;
  }
  request.request_id = invocation_.request_id;
  request.client_request_id = invocation_.client_request_id;
  request.path = path_;
  request.query = invocation_.query;
  request.content_type = body_.empty() ? std::string_view{} : invocation_.content_type;
  request.body = body_;
  request.credentials = credentials;
  if (principal_ != nullptr) {
    request.account_id = principal_->account_id;
    request.principal_kind = principal_->kind;
    request.principal_id = principal_->id;
    request.is_capped = principal_->is_capped;
  }
  request.idempotency_key = invocation_.idempotency_key;
  return request;
}

// False when a segment cannot be decoded, which match() has excluded.
bool Passage::decode_parameters() {
  Scratch& scratch = seat_.scratch();
  if (path_.find('%') != path_.npos) scratch.decoded.resize(path_.size());
  char* out = scratch.decoded.data();
  for (std::size_t at = 0; at < match_.parameter_count; ++at) {
    const auto [offset, length] = match_.parameters[at];
    PathParameter& parameter = scratch.parameters[at];
    parameter.name = terms_->parameter_names[at];
    parameter.raw = path_.substr(offset, length);
    parameter.value = parameter.raw;
    if (parameter.raw.find('%') == std::string_view::npos) continue;
    const auto decoded = registry::decode_segment(parameter.raw, out);
    if (!decoded.has_value()) return false;
    parameter.value = {out, *decoded};
    out += *decoded;
  }
  return true;
}

void Passage::collect_forwarded_headers() {
  if (terms_->forwarded_headers.empty()) return;
  for (const HeaderField& field : invocation_.headers) {
    for (const std::string& name : terms_->forwarded_headers) {
      if (!equals_ignoring_case(field.name, name)) continue;
      if (is_connection_option(invocation_.headers, name)) continue;
      seat_.scratch().forwarded.push_back(field);
    }
  }
}

ReplyFacts Passage::facts(ReplyFrom from) const {
  ReplyFacts facts;
  facts.from = from;
  if (context_.service != nullptr) facts.generation = context_.service->generation().id;
  facts.lane = served_.lane;
  facts.credits_charged = served_.credits_charged;
  facts.credits_remaining = credits_remaining_;
  const std::int64_t total = context_.clock.monotonic_ns() - started_ns_;
  facts.upstream_us = microseconds(upstream_ns_);
  facts.gateway_us = microseconds(total - upstream_ns_);
  return facts;
}

Served serve(const Context& context, const Invocation& invocation, ReplyWriter& writer) {
  return Passage(context, invocation, writer).run();
}

}  // namespace turnpike::exchange
