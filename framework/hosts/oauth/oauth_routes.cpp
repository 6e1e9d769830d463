#include "hosts/oauth/oauth_routes.h"

#include <nlohmann/json.hpp>

#include "hosts/form.h"
#include "hosts/page.h"

namespace turnpike::hosts::oauth_server {

namespace {

using base::Error;
using Json = nlohmann::ordered_json;

constexpr std::size_t parameters_max = 32;
constexpr std::uint64_t form_bytes_max = 16'384;

// RFC 7591 section 3.2.1: the reply has all registered metadata, including values that replaced
// requested ones.
std::string registration_json(const oauth::Client& client) {
  Json body = {{"client_id", client.id},
               {"client_id_issued_at", client.created_at_ms / 1'000},
               {"redirect_uris", client.metadata.redirect_uris},
               {"grant_types", Json::array({"authorization_code", "refresh_token"})},
               {"response_types", Json::array({"code"})},
               {"token_endpoint_auth_method", "none"}};
  if (!client.metadata.name.empty()) body["client_name"] = client.metadata.name;
  if (!client.metadata.uri.empty()) body["client_uri"] = client.metadata.uri;
  return body.dump();
}

void add_client(const OauthRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string source = rooms.people.actor_of(turn, nullptr).address;
  const auto client = rooms.people.ask([&] { return rooms.server.add_client(asked.body, source); });
  if (!client.ok()) return (void)turn.refuse(client.error());
  turn.reply({.status = 201, .body = registration_json(*client)});
}

void authorize(const OauthRooms& rooms, Turn& turn, const Asked&) {
  const auto query = read_form(turn.request.query(), parameters_max);
  if (!query.ok()) return (void)turn.refuse(query.error());
  const auto value = [&](std::string_view name) { return query->find(name).value_or(""); };
  const auto learned = rooms.documents.learn(std::string(value("client_id")));
  if (!learned.ok()) return (void)turn.refuse(learned.error());
  const auto next = rooms.people.ask([&] {
    return rooms.server.authorize({.response_type = value("response_type"),
                                   .client_id = value("client_id"),
                                   .redirect_uri = value("redirect_uri"),
                                   .code_challenge = value("code_challenge"),
                                   .code_challenge_method = value("code_challenge_method"),
                                   .state = value("state"),
                                   .resource = value("resource"),
                                   .response_mode = value("response_mode")});
  });
  if (!next.ok()) return (void)turn.refuse(next.error());
  ReplyFields fields;
  fields.add("Location", *next);
  fields.add("Cache-Control", "no-store");
  turn.send(303, fields, {});
}

void exchange(const OauthRooms& rooms, Turn& turn, const Asked& asked) {
  const auto value = [&](std::string_view name) { return asked.form.find(name).value_or(""); };
  const auto tokens = rooms.people.ask([&] {
    return rooms.server.exchange({.grant_type = value("grant_type"),
                                  .client_id = value("client_id"),
                                  .code = value("code"),
                                  .redirect_uri = value("redirect_uri"),
                                  .code_verifier = value("code_verifier"),
                                  .refresh_token = value("refresh_token"),
                                  .resource = value("resource")});
  });
  if (!tokens.ok()) return (void)turn.refuse(tokens.error());
  const std::string body = Json{
      {"access_token", tokens->access},
      {"token_type", "Bearer"},
      {"expires_in", tokens->access_valid_ms / 1'000},
      {"refresh_token",
       tokens->refresh}}.dump();
  turn.reply({.body = body});
}

// RFC 7009 section 2.2: 200 whether or not the token existed.
void revoke(const OauthRooms& rooms, Turn& turn, const Asked& asked) {
  const auto revoked = rooms.people.ask([&] {
    return rooms.server.revoke(asked.form.find("token").value_or(""),
                               asked.form.find("client_id").value_or(""));
  });
  if (!revoked.ok()) return (void)turn.refuse(revoked.error());
  turn.reply({.body = "{}"});
}

constexpr RouteFacts of_clients(std::string_view path, std::string_view endpoint, BodyForm body) {
  return {.method = "POST",
          .path = path,
          .endpoint = endpoint,
          .body = body,
          .body_bytes_max = form_bytes_max,
          .is_for_every_page = true,
          .cache_control = "no-store",
          .refusal_form = as_oauth_error};
}

constexpr Route<OauthRooms> routes[] = {
    {.facts = {.method = "GET",
               .path = "/oauth/authorize",
               .endpoint = "oauth_authorize",
               .takes_any_query = true,
               .page_policy = page_policy,
               .refusal_form = as_page},
     .answer = authorize},
    {.facts = of_clients("/oauth/register", "oauth_register", BodyForm::json),
     .answer = add_client},
    {.facts = of_clients("/oauth/token", "oauth_token", BodyForm::form), .answer = exchange},
    {.facts = of_clients("/oauth/revoke", "oauth_revoke", BodyForm::form), .answer = revoke},
};

}  // namespace

std::span<const Route<OauthRooms>> oauth_routes() noexcept { return routes; }

}  // namespace turnpike::hosts::oauth_server
