#include "hosts/turn.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/limits.h"
#include "catalog/rendering.h"
#include "hosts/page.h"
#include "hosts/refusal.h"
#include "hosts/route.h"
#include "identity/authenticator.h"
#include "text/http_field.h"

namespace turnpike::hosts {

namespace {

constexpr std::size_t client_request_id_bytes_max = 128;
constexpr std::size_t route_bytes_shown = 48;
constexpr std::size_t logged_name_bytes = 48;
constexpr std::size_t rpc_bytes_shown = 96;

// [A-Za-z0-9._-]
bool is_id_byte(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
         c == '_' || c == '-';
}

bool is_client_request_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= client_request_id_bytes_max &&
         std::all_of(text.begin(), text.end(), is_id_byte);
}

// If-None-Match compares weakly (RFC 9110 section 13.1.2).
bool names_etag(std::string_view if_none_match, std::string_view etag) noexcept {
  while (!if_none_match.empty()) {
    const std::size_t end = std::min(if_none_match.find(','), if_none_match.size());
    std::string_view one = text::trimmed(if_none_match.substr(0, end));
    if_none_match.remove_prefix(std::min(end + 1, if_none_match.size()));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
  }
  return false;
}

// Copies as many whole UTF-8 characters as fit, so that a log line stays valid text. Returns their
// bytes.
std::size_t copy_characters(std::string_view text, std::span<char> out) noexcept {
  const auto is_inside = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t length = std::min(text.size(), out.size());
  while (length > 0 && is_inside(length)) --length;
  return text.copy(out.data(), length);
}

}  // namespace

bool is_idempotency_key(std::string_view text) noexcept {
  return !text.empty() && text.size() <= base::limits::idempotency_key_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

Turn::Turn(wire::Request& wire_request, wire::Responder& wire_responder, const Cors& cors,
           base::UuidText id, std::int64_t started_ns)
    : request(wire_request),
      responder(wire_responder),
      cors_(cors),
      id_(id),
      started_ns_(started_ns) {
  read_headers();
  record.request_id = request_id();
  record.client_request_id = client_request_id_;
  record.method = request.method();
  record.path = request.path().substr(0, path_bytes_shown);
}

// One pass over the fields; the length of a name selects the comparisons.
void Turn::read_headers() {
  bool has_key = false;
  for (const HeaderField& field : request.headers()) {
    switch (field.name.size()) {
      case 6:
        if (same_header_name(field.name, "origin")) origin_ = field.value;
        break;
      case 12:
        if (same_header_name(field.name, "content-type")) {
          if (!content_type_.empty()) header_problem_ = "content-type";
          content_type_ = field.value;
        } else if (same_header_name(field.name, "x-request-id") &&
                   is_client_request_id(field.value)) {
          client_request_id_ = field.value;
        }
        break;
      case 13:
        if (same_header_name(field.name, "if-none-match")) if_none_match_ = field.value;
        break;
      case 15:
        if (!same_header_name(field.name, "idempotency-key")) break;
        if (has_key || !is_idempotency_key(field.value)) header_problem_ = "idempotency-key";
        has_key = true;
        idempotency_key_ = field.value;
        break;
      case 16:
        if (!same_header_name(field.name, "content-encoding")) break;
        if (!same_header_name(field.value, "identity")) content_coding_ = field.value;
        break;
      default:
        break;
    }
  }
}

void Turn::add_common_fields(ReplyFields& fields) const {
  fields.add("X-Request-Id", request_id());
  if (is_for_everyone_) {
    // Sent also without Origin: a cache may give the same reply to a page next.
    fields.add("Access-Control-Allow-Origin", "*");
    fields.add("Access-Control-Expose-Headers", "ETag, X-Request-Id");
  } else {
    cors_.add_reply_fields(origin_, fields);
  }
  if (asks_for_https_) fields.add("Strict-Transport-Security", "max-age=31536000");
  if (row_ != nullptr && !row_->page_policy.empty()) add_page_fields(row_->page_policy, fields);
}

bool Turn::send(int status, ReplyFields& fields, std::string_view body) {
  add_common_fields(fields);
  record.status = status;
  return responder.send(status, fields.view(), body);
}

bool Turn::reply(const Reply& reply, ReplyFields& more) {
  const bool is_validated = row_->has_etag && reply.status == 200;
  const std::string made =
      is_validated && reply.etag.empty() ? catalog::etag_of(reply.body) : std::string();
  const std::string_view etag = made.empty() ? reply.etag : made;
  if (is_validated) more.add("ETag", etag);
  more.add(cache_control_field,
           reply.cache_control.empty() ? row_->cache_control : reply.cache_control);
  if (is_validated && names_etag(if_none_match_, etag)) return send(304, more, {});
  if (!reply.body.empty()) more.add("Content-Type", reply.content_type);
  return send(reply.status, more, reply.body);
}

bool Turn::reply(const Reply& reply) {
  ReplyFields fields;
  return this->reply(reply, fields);
}

bool Turn::redirect(const Location& location, ReplyFields& more) {
  more.add("Location", location.text());
  return reply({.status = 303}, more);
}

bool Turn::reply_to_everyone(const Reply& reply, ReplyFields& more) {
  is_for_everyone_ = true;
  return this->reply(reply, more);
}

bool Turn::reply_to_everyone(const Reply& reply) {
  ReplyFields fields;
  return reply_to_everyone(reply, fields);
}

bool Turn::refuse(const base::Error& error, std::string_view allow) {
  ReplyFields fields;
  return refuse(error, fields, allow);
}

bool Turn::refuse(const base::Error& error, ReplyFields& more, std::string_view allow) {
  RefusalHead head = head_of(error);
  head.allow = allow;
  // The row's Cache-Control replaces the refusal's if it ends with that, such as no-store.
  if (row_ != nullptr && row_->cache_control.ends_with(head.cache_control)) {
    head.cache_control = row_->cache_control;
  }
  const RefusalForm form = row_ == nullptr ? as_envelope : row_->refusal_form;
  const RefusalBody body = form(error, {request_id(), request.headers(), refusal_pages_});
  add_refusal_fields(head, body.content_type, more);
  if (!body.vary.empty()) more.add("Vary", body.vary);
  record.error = error.code;
  return send(head.status, more, body.text);
}

// Concatenates the parts, cut to `bytes_max` and to the room that is left.
std::string_view Turn::keep(std::initializer_list<std::string_view> parts,
                            std::size_t bytes_max) noexcept {
  std::span<char> room = std::span(kept_).subspan(kept_bytes_);
  room = room.first(std::min(room.size(), bytes_max));
  std::size_t length = 0;
  for (const std::string_view part : parts) length += copy_characters(part, room.subspan(length));
  kept_bytes_ += length;
  return {room.data(), length};
}

void Turn::keep_served(exchange::Served served) noexcept {
  record.route = keep({served.route}, route_bytes_shown);
  record.is_call = record.is_call || !record.route.empty();
  record.lane = keep({served.lane}, logged_name_bytes);
  record.provider = keep({served.provider}, logged_name_bytes);
  record.operation = keep(
      {served.operation_method, served.operation_method.empty() ? "" : " ", served.operation_path},
      path_bytes_shown);
  record.error = served.error;
  record.credits_charged = served.credits_charged;
  record.upstream_us = served.upstream_us;
  keep_reason(std::move(served.operator_note));
  keep_principal(std::move(served.principal));
}

void Turn::keep_reason(std::string reason) noexcept {
  operator_note_ = std::move(reason);
  record.reason = operator_note_;
}

void Turn::keep_principal(std::shared_ptr<const identity::Principal> principal) noexcept {
  if (principal == nullptr) return;
  principal_ = std::move(principal);
  record.account_id = principal_->account_id;
  record.key_id = principal_->key_id();
}

void Turn::keep_rpc(std::string_view method, std::string_view name) noexcept {
  record.rpc = keep({method, name.empty() ? "" : " ", name}, rpc_bytes_shown);
}

void Turn::fail(std::string_view why) noexcept {
  record.error = base::ErrorCode::gateway_internal;
  record.reason = keep({why}, kept_.size());
  if (responder.begun()) {
    record.is_whole = false;
    responder.cut();
    return;
  }
  refusal_pages_ = nullptr;  // the site's own page may have failed
  try {
    refuse({base::ErrorCode::gateway_internal, "The gateway failed."});
  } catch (...) {
    responder.cut();
  }
}

void Turn::log(AccessLog& access_log, std::int64_t ended_ns) {
  record.peer = request.peer_address();
  const std::string client = access_log.client_of(record.peer, request.headers());
  record.client = client;
  record.reply_bytes = responder.body_bytes_sent();
  record.total_us = static_cast<std::uint32_t>((ended_ns - started_ns_) / 1000);
  access_log.write(record);
  record.client = {};
}

}  // namespace turnpike::hosts
