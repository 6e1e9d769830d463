#include "hosts/api/public_routes.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <turnpike/abi.h>

#include "hosts/api/query.h"

namespace turnpike::hosts::api {

namespace {

using Json = nlohmann::ordered_json;

// Kept by caches, but asked about before each use: readiness is live, and a 304 is cheap.
constexpr std::string_view revalidate = "public, no-cache";
constexpr std::int64_t render_timeout_ms = 30'000;

// If-None-Match compares weakly (RFC 9110 section 13.1.2).
bool names_etag(std::string_view if_none_match, std::string_view etag) noexcept {
  while (!if_none_match.empty()) {
    const std::size_t end = std::min(if_none_match.find(','), if_none_match.size());
    std::string_view one = if_none_match.substr(0, end);
    if_none_match.remove_prefix(std::min(end + 1, if_none_match.size()));
    while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
  }
  return false;
}

// A document with its validator, or 304.
void send_validated(Turn& turn, std::string_view content_type, std::string_view body,
                    std::string_view etag, ReplyFields& fields) {
  fields.add("ETag", etag);
  fields.add("Cache-Control", revalidate);
  if (names_etag(turn.if_none_match(), etag)) {
    turn.send(304, fields, {});
    return;
  }
  fields.add("Content-Type", content_type);
  turn.send(200, fields, body);
}

void send_document(Turn& turn, const catalog::Document& document) {
  ReplyFields fields;
  send_validated(turn, json_type, document->body, document->etag, fields);
}

void send_or_refuse(Turn& turn, const Result<catalog::Document, base::Error>& document) {
  if (document.ok()) {
    send_document(turn, *document);
  } else {
    turn.refuse(document.error());
  }
}

}  // namespace

PublicRoutes::PublicRoutes(Backend& backend, runtime::BlockingPool& pool, const Clock& clock,
                           BuildInfo build, ReferencePage reference)
    : backend_(backend),
      pool_(pool),
      pool_user_(pool.add_user("openapi", 1, 64)),
      clock_(clock),
      build_(std::move(build)),
      reference_(std::move(reference)) {}

bool PublicRoutes::takes_no_query(Turn& turn) {
  const auto query = read_query(turn.request.query(), {});
  if (!query.ok()) turn.refuse(query.error());
  return query.ok();
}

PublicRoutes::View PublicRoutes::view_for(Turn& turn) const {
  View view = backend_.view();
  if (view == nullptr) {
    base::Error error;
    error.code = base::ErrorCode::registry_unavailable;
    error.message = "No valid registry is installed on this gateway.";
    error.retry_after_seconds = 5;
    turn.refuse(error);
  }
  return view;
}

void PublicRoutes::health(Turn& turn) const {
  if (!takes_no_query(turn)) return;
  turn.send_json(200, R"({"status":"ok"})", "no-store");
}

void PublicRoutes::readiness(Turn& turn) const {
  if (!takes_no_query(turn)) return;
  const Health health = backend_.health();
  Json checks = Json::array();
  bool is_ready = true;
  for (const HealthCheck& check : health.checks) {
    Json entry = {{"name", check.name}, {"ready", check.ready}};
    if (!check.detail.empty()) entry["detail"] = check.detail;
    checks.push_back(std::move(entry));
    is_ready = is_ready && check.ready;
  }
  const Json body = {{"status", is_ready ? "ready" : "not_ready"},
                     {"checks", std::move(checks)},
                     {"relaxed", health.relaxed}};
  turn.send_json(is_ready ? 200 : 503, body.dump(-1, ' ', false, Json::error_handler_t::replace),
                 "no-store");
}

void PublicRoutes::version(Turn& turn) const {
  if (!takes_no_query(turn)) return;
  Json body = {{"version", build_.version},
               {"build", build_.build},
               {"abi", abi_number},
               {"api_version", "0.2.36"},
               {"environment", build_.environment},
               {"generation", nullptr}};
  if (const View view = backend_.view()) {
    const registry::Generation& generation = view->generation();
    body["generation"] = {{"epoch_id", generation.epoch_id},
                          {"id", generation.id},
                          {"sequence", generation.sequence},
                          {"codec", "canonical_json_v1"},
                          {"payload_hash", generation.payload_hash}};
  }
  turn.send_json(200, body.dump(), "no-store");
}

void PublicRoutes::openapi(Turn& turn) const {
  if (!takes_no_query(turn)) return;
  const View view = view_for(turn);
  if (view == nullptr) return;
  catalog::Document document = view->kept_openapi();
  if (document == nullptr && view->has_many_operations()) {
    auto rendered = pool_.call(
        pool_user_, [view] { return view->render_openapi(); },
        runtime::Deadline::after_ms(render_timeout_ms));
    document = rendered.value.value_or(nullptr);
  } else if (document == nullptr) {
    document = view->render_openapi();
  }
  if (document == nullptr) {
    base::Error error;
    error.code = base::ErrorCode::gateway_overloaded;
    error.message = "The document could not be made now.";
    error.retry_after_seconds = 1;
    turn.refuse(error);
    return;
  }
  send_document(turn, document);
}

void PublicRoutes::reference(Turn& turn, std::string_view file) const {
  if (!takes_no_query(turn)) return;
  const ReferenceFile* found = reference_.find(file);
  if (found == nullptr) {
    base::Error error;
    error.code = base::ErrorCode::request_not_found;
    error.message = reference_.empty()
                        ? "The API reference is not installed here; /openapi.json has it all."
                        : "The API reference has no such file.";
    turn.refuse(error);
    return;
  }
  ReplyFields fields;
  fields.add("Content-Security-Policy", reference_.content_security_policy());
  fields.add("X-Content-Type-Options", "nosniff");
  fields.add("Referrer-Policy", "no-referrer");
  send_validated(turn, found->content_type, found->body, found->etag, fields);
}

void PublicRoutes::capabilities(Turn& turn) const {
  const auto query =
      read_query(turn.request.query(), {"limit", "cursor", "provider_key", "method"});
  if (!query.ok()) {
    turn.refuse(query.error());
    return;
  }
  const auto request = catalog::read_page_request({.limit = query->find("limit"),
                                                   .cursor = query->find("cursor"),
                                                   .provider_key = query->find("provider_key"),
                                                   .method = query->find("method")});
  if (!request.ok()) {
    turn.refuse(request.error());
    return;
  }
  const View view = view_for(turn);
  if (view != nullptr) send_or_refuse(turn, view->page(*request, clock_.now_ms()));
}

void PublicRoutes::capability(Turn& turn, std::string_view id) const {
  if (!takes_no_query(turn)) return;
  const View view = view_for(turn);
  if (view != nullptr) send_or_refuse(turn, view->detail(id, clock_.now_ms()));
}

void PublicRoutes::inventory(Turn& turn) const {
  if (!takes_no_query(turn)) return;
  const View view = view_for(turn);
  if (view != nullptr) send_or_refuse(turn, view->inventory(clock_.now_ms()));
}

void PublicRoutes::well_known(Turn& turn) const {
  if (!takes_no_query(turn)) return;
  const auto document = backend_.document(turn.request.path());
  if (!document.ok()) {
    turn.refuse(document.error());
    return;
  }
  ReplyFields fields;
  fields.add("Content-Type", document->content_type);
  fields.add("Cache-Control", "public, max-age=60");
  turn.send(200, fields, document->body);
}

}  // namespace turnpike::hosts::api
