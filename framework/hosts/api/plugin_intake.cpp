#include "hosts/api/plugin_intake.h"

#include <optional>
#include <vector>

#include "exchange/live_call.h"
#include "hosts/metered_body.h"
#include "hosts/reply_fields.h"
#include "identity/bearer.h"
#include "identity/token.h"

namespace turnpike::hosts::api {

namespace {

using base::Error;
using base::ErrorCode;

// The fixed part of the path in the route's row.
constexpr std::string_view root = "/v1/plugins/";

std::optional<Method> method_of(std::string_view name) noexcept {
  for (const Method method : {Method::get, Method::post}) {
    if (name == name_of(method)) return method;
  }
  return std::nullopt;
}

bool takes(const IntakePath& row, std::optional<Method> method) noexcept {
  if (!method) return false;
  return *method == Method::get ? row.takes_get : row.takes_post;
}

std::string_view allow_of(const IntakePath& row) noexcept {
  if (row.takes_get && row.takes_post) return "GET, POST";
  return row.takes_get ? "GET" : "POST";
}

bool is_own_credential(const HeaderField& field) {
  if (!same_header_name(field.name, "authorization")) return false;
  identity::Bearer bearer;
  bearer.take(field.value);
  return identity::token_environment(bearer.token, identity::TokenKind::api_key) ||
         identity::token_environment(bearer.token, identity::TokenKind::operator_credential);
}

std::vector<HeaderField> shown(Headers headers) {
  std::vector<HeaderField> fields;
  for (const HeaderField& field : headers) {
    if (!is_own_credential(field)) fields.push_back(field);
  }
  return fields;
}

// The sender of a request, and whether the gateway still waits for them.
class Sender final : public exchange::Caller {
 public:
  Sender(const wire::Request& request, const std::atomic<bool>& is_stopping)
      : request_(request), is_stopping_(is_stopping) {}
  [[nodiscard]] exchange::Standing standing() const noexcept override {
    if (request_.client_gone()) return exchange::Standing::gone;
    if (is_stopping_.load(std::memory_order_relaxed)) return exchange::Standing::stopping;
    return exchange::Standing::waiting;
  }

 private:
  const wire::Request& request_;
  const std::atomic<bool>& is_stopping_;
};

// The refusal that the sender gets for a failure. The text of the failure is for the operator only.
Error refusal_of(const Failure& failure, bool is_stopping) {
  if (is_stopping) return {ErrorCode::gateway_stopping, "The gateway stops; send it again.", 1};
  if (failure.kind == FailureKind::plugin_fault) {
    return {ErrorCode::gateway_plugin_fault, "The plugin of this path failed."};
  }
  return {ErrorCode::plugin_unavailable,
          "The plugin of this path cannot answer now; send it again.", 5};
}

void send(Turn& turn, const IntakeReply& reply) {
  ReplyFields fields;
  bool has_caching = false;
  for (const OwnedHeader& field : reply.headers) {
    has_caching = has_caching || same_header_name(field.name, cache_control_field);
    fields.add(field.name, field.value);
  }
  if (!has_caching) fields.add(cache_control_field, "no-store");
  fields.add("X-Content-Type-Options", "nosniff");
  turn.send(reply.status, fields, reply.body);
}

}  // namespace

void PluginIntake::receive(Turn& turn) {
  const auto intake = plugin_paths_.find_intake(turn.request.path().substr(root.size()));
  if (!intake.ok()) {
    turn.refuse(intake.error());
    return;
  }
  const auto method = method_of(turn.request.method());
  if (!takes(*intake->row, method)) {
    turn.refuse({ErrorCode::request_method_not_allowed, "This path does not take this method."},
                allow_of(*intake->row));
    return;
  }
  MeteredBody metered(bodies_, turn.request, authenticator_);
  const auto body = metered.read(intake->row->body_bytes_max);
  if (!body.ok()) {
    turn.refuse(body.error());
    return;
  }
  turn.record.request_bytes = body->size();
  answer(turn, *intake, *method, *body);
}

void PluginIntake::answer(Turn& turn, const Intake& intake, Method method, std::string_view body) {
  const auto seat = in_flight_of(intake.plugin).try_enter();
  if (!seat) {
    turn.refuse({ErrorCode::gateway_overloaded,
                 "The plugin of this path works on as many requests as it may.", 1});
    return;
  }
  const std::vector<HeaderField> headers = shown(turn.request.headers());
  const IntakeRequest request{.method = method,
                              .path = intake.path,
                              .query = turn.request.query(),
                              .headers = headers,
                              .body = body,
                              .peer = turn.request.peer_address()};
  const Sender sender(turn.request, is_stopping_);
  exchange::LiveCall call(turn.request_id(), runtime::Deadline::after_ms(intake_timeout_ms),
                          &sender);
  const auto reply = intake.object->receive(request, call);
  if (reply.ok()) return send(turn, *reply);
  turn.keep_reason(reply.error().message);
  if (sender.standing() == exchange::Standing::gone) {
    turn.record.is_whole = false;
    return turn.responder.cut();
  }
  turn.refuse(refusal_of(reply.error(), is_stopping_.load(std::memory_order_relaxed)));
}

runtime::InFlight& PluginIntake::in_flight_of(std::string_view plugin) {
  const std::lock_guard lock(mutex_);
  auto found = in_flight_.find(plugin);
  if (found == in_flight_.end()) {
    found = in_flight_.try_emplace(std::string(plugin), at_once_max).first;
  }
  return found->second;
}

}  // namespace turnpike::hosts::api
