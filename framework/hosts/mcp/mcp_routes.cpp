#include "hosts/mcp/mcp_routes.h"

namespace turnpike::hosts::mcp {

namespace {

void publish(const McpRooms& rooms, Turn& turn, const Asked&) {
  if (const PublicDocument* found = rooms.discovery.find(PublicHost::mcp, turn.request.path())) {
    turn.reply_to_everyone(
        {.content_type = found->content_type, .body = found->body, .etag = found->etag});
    return;
  }
  turn.refuse({base::ErrorCode::request_not_found, "There is no such document here."});
}

void take_message(const McpRooms& rooms, Turn& turn, Door door) {
  const auto refusal =
      rooms.access.refusal(turn.request.headers(), turn.request.target_authority());
  if (refusal) {
    turn.refuse(*refusal);
  } else {
    rooms.messages.answer(turn, door);
  }
}

constexpr RouteFacts messages(std::string_view path, std::string_view endpoint) {
  return {.method = "POST", .path = path, .endpoint = endpoint, .takes_all = true};
}

// A row of a document on the current state.
constexpr RouteFacts report(std::string_view path, std::string_view endpoint) {
  return {.method = "GET",
          .path = path,
          .endpoint = endpoint,
          .answers_head = true,
          .is_for_every_page = true};
}

constexpr RouteFacts document(std::string_view path) {
  return {.method = "GET",
          .path = path,
          .endpoint = "well_known",
          .answers_head = true,
          .is_for_every_page = true,
          .cache_control = "public, max-age=300",
          .has_etag = true};
}

constexpr Route<McpRooms> routes[] = {
    {.facts = messages("/", "mcp"),
     .take = [](const McpRooms& rooms, Turn& turn) { take_message(rooms, turn, Door::account); }},
    {.facts = messages("/x402", "mcp_x402"),
     .take = [](const McpRooms& rooms, Turn& turn) { take_message(rooms, turn, Door::payment); }},
    {.facts = report("/healthz", "health"),
     .answer = [](const McpRooms&, Turn& turn, const Asked&) { send(turn, liveness_document()); }},
    {.facts = report("/readyz", "readiness"),
     .answer = [](const McpRooms& rooms, Turn& turn,
                  const Asked&) { send(turn, readiness_document(rooms.backend.health())); }},
    {.facts = report("/version", "version"),
     .answer =
         [](const McpRooms& rooms, Turn& turn, const Asked&) {
           send(turn, version_document(rooms.build, rooms.backend.view().get()));
         }},
    {.facts = document("/server-card"), .answer = publish},
    {.facts = document("/.well-known/{document...}"), .answer = publish},
};

}  // namespace

std::span<const Route<McpRooms>> mcp_routes() noexcept { return routes; }

}  // namespace turnpike::hosts::mcp
