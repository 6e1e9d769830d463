#include "hosts/api/public_routes.h"

#include <utility>

namespace turnpike::hosts::api {

namespace {

constexpr std::int64_t render_timeout_ms = 30'000;

void send_document(Turn& turn, const catalog::Document& document) {
  turn.reply({.body = document->body, .etag = document->etag});
}

void send_or_refuse(Turn& turn, const Result<catalog::Document, base::Error>& document) {
  if (document.ok()) {
    send_document(turn, *document);
  } else {
    turn.refuse(document.error());
  }
}

}  // namespace

PublicRoutes::PublicRoutes(Backend& backend, PluginPaths& plugin_paths, const Discovery& discovery,
                           runtime::BlockingPool& pool, const Clock& clock, BuildInfo build,
                           ReferencePage reference)
    : backend_(backend),
      plugin_paths_(plugin_paths),
      discovery_(discovery),
      pool_(pool),
      pool_user_(pool.add_user("openapi", 1, 64)),
      clock_(clock),
      build_(std::move(build)),
      reference_(std::move(reference)) {}

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

void PublicRoutes::health(Turn& turn) const { send(turn, liveness_document()); }

void PublicRoutes::readiness(Turn& turn) const {
  send(turn, readiness_document(backend_.health()));
}

void PublicRoutes::version(Turn& turn) const {
  send(turn, version_document(build_, backend_.view().get()));
}

void PublicRoutes::openapi(Turn& turn) const {
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
  turn.reply({.content_type = found->content_type, .body = found->body, .etag = found->etag},
             fields);
}

void PublicRoutes::capabilities(Turn& turn, const NamedValues& query) const {
  const auto request = catalog::read_page_request({.limit = query.find("limit"),
                                                   .cursor = query.find("cursor"),
                                                   .provider_key = query.find("provider_key"),
                                                   .method = query.find("method"),
                                                   .q = query.find("q")});
  if (!request.ok()) {
    turn.refuse(request.error());
    return;
  }
  const View view = view_for(turn);
  if (view != nullptr) send_or_refuse(turn, view->page(*request, clock_.now_ms()));
}

void PublicRoutes::capability(Turn& turn, std::string_view id) const {
  const View view = view_for(turn);
  if (view != nullptr) send_or_refuse(turn, view->detail(id, clock_.now_ms()));
}

void PublicRoutes::inventory(Turn& turn) const {
  const View view = view_for(turn);
  if (view != nullptr) send_or_refuse(turn, view->inventory(clock_.now_ms()));
}

void PublicRoutes::well_known(Turn& turn) const {
  const std::string_view path = turn.request.path();
  if (const PublicDocument* own = discovery_.find(PublicHost::api, path)) {
    turn.reply_to_everyone(
        {.content_type = own->content_type, .body = own->body, .etag = own->etag});
    return;
  }
  const auto document = plugin_paths_.document(path);
  if (!document.ok()) {
    turn.refuse(document.error());
    return;
  }
  // A plugin's document states what is valid now, such as its receipt signing keys.
  turn.reply_to_everyone({.content_type = document->content_type,
                          .body = document->body,
                          .cache_control = "public, max-age=60"});
}

}  // namespace turnpike::hosts::api
