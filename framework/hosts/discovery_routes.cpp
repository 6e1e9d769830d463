#include "hosts/discovery_routes.h"

#include <utility>

namespace turnpike::hosts {

namespace {

constexpr std::int64_t render_timeout_ms = 30'000;

constexpr RouteFacts document(std::string_view path) {
  return {.method = "GET",
          .path = path,
          .endpoint = "well_known",
          .answers_head = true,
          .is_for_every_page = true,
          .cache_control = "public, max-age=300",
          .has_etag = true};
}

constexpr Route<DiscoveryRooms> published(std::string_view path) {
  return {.facts = document(path),
          .answer = [](const DiscoveryRooms& rooms, Turn& turn, const Asked&) {
            rooms.publish(turn);
          }};
}

constexpr Route<DiscoveryRooms> routes[] = {
    published(api_catalog_path),
    published("/.well-known/ai-catalog.json"),
    published("/.well-known/ard.json"),
    published("/.well-known/mcp.json"),
    published("/.well-known/mcp/server-card.json"),
    published("/.well-known/mcp-registry-auth"),
    published(agent_capabilities_schema_path),
    {.facts = document(agent_capabilities_path),
     .answer = [](const DiscoveryRooms& rooms, Turn& turn, const Asked&) {
       rooms.agent_capabilities(turn);
     }},
};

}  // namespace

std::span<const Route<DiscoveryRooms>> discovery_routes() noexcept { return routes; }

DiscoveryRooms::DiscoveryRooms(Backend& backend, const Discovery& discovery,
                               runtime::BlockingPool& pool)
    : backend_(backend),
      discovery_(discovery),
      pool_(pool),
      pool_user_(pool.add_user("agent_cards", 1, 64)) {}

void DiscoveryRooms::publish(Turn& turn) const {
  const PublicDocument* const found = discovery_.find(PublicHost::web, turn.request.path());
  if (found == nullptr) {
    turn.refuse({base::ErrorCode::request_not_found, "There is no such document here."});
    return;
  }
  ReplyFields fields;
  if (!found->link.empty()) fields.add("Link", found->link);
  turn.reply_to_everyone(
      {.content_type = found->content_type, .body = found->body, .etag = found->etag}, fields);
}

void DiscoveryRooms::agent_capabilities(Turn& turn) const {
  const auto view = backend_.view();
  base::Error error;
  if (view == nullptr) {
    error.code = base::ErrorCode::registry_unavailable;
    error.message = "No valid registry is installed on this gateway.";
    error.retry_after_seconds = 5;
    turn.refuse(error);
    return;
  }
  catalog::Document cards = view->kept_agent_cards();
  if (cards == nullptr && view->has_many_operations()) {
    auto rendered = pool_.call(
        pool_user_, [view] { return view->render_agent_cards(); },
        runtime::Deadline::after_ms(render_timeout_ms));
    cards = rendered.value.value_or(nullptr);
  } else if (cards == nullptr) {
    cards = view->render_agent_cards();
  }
  if (cards == nullptr) {
    error.code = base::ErrorCode::gateway_overloaded;
    error.message = "The document could not be made now.";
    error.retry_after_seconds = 1;
    turn.refuse(error);
    return;
  }
  ReplyFields none;
  turn.reply_to_everyone({.body = cards->body, .etag = cards->etag}, none);
}

}  // namespace turnpike::hosts
