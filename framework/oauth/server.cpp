#include "oauth/server.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "crypto/digest.h"
#include "crypto/sealed_text.h"
#include "crypto/signed_text.h"
#include "identity/token.h"
#include "oauth/redirect_uri.h"
#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::oauth {
namespace {

using base::Error;
using base::ErrorCode;
using identity::TokenKind;
using Ordered = nlohmann::ordered_json;

constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t hour_ms = 60 * minute_ms;
constexpr std::size_t state_bytes_max = 1'024;
constexpr std::size_t challenge_bytes = 43;  // base64url of SHA-256, RFC 7636 section 4.2
constexpr std::string_view request_context = "oauth request";
constexpr std::string_view successor_context = "oauth refresh successor";

struct NewToken {
  std::string text;
  crypto::Sha256 digest{};
};

NewToken new_token(identity::Environment environment, Random& random, TokenKind kind) {
  NewToken token{identity::make_token(environment, random, kind), {}};
  token.digest = crypto::sha256(token.text);
  return token;
}

bool is_unreserved(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

// The code_verifier of RFC 7636 section 4.1.
bool is_verifier(std::string_view text) noexcept {
  return text.size() >= 43 && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), is_unreserved);
}

bool is_challenge(std::string_view text) noexcept {
  return text.size() == challenge_bytes && std::all_of(text.begin(), text.end(), [](char c) {
           return is_unreserved(c) && c != '.' && c != '~';
         });
}

std::string challenge_of(std::string_view verifier) {
  const crypto::Sha256 digest = crypto::sha256(verifier);
  return text::base64url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// RFC 6749 appendix A.5: state is visible ASCII and blanks.
bool is_state(std::string_view text) noexcept {
  return text.size() <= state_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7E; });
}

Error ended_request() {
  return {ErrorCode::oauth_request_ended,
          "This request for access took too long or is not of this gateway. Begin again in the "
          "program that sent you here."};
}

Error unknown_client() {
  return {ErrorCode::oauth_invalid_client,
          "There is no client with this client_id: register it (again)."};
}

Error missing(std::string_view name) {
  return {ErrorCode::oauth_invalid_request, "The parameter " + std::string(name) + " is missing."};
}

struct Unfit {
  ErrorCode code;
  std::string_view description;
};

// Returns a mistake in the request that the client can fix.
std::optional<Unfit> problem_of(const AuthorizeParameters& asked, bool is_ours) noexcept {
  if (asked.response_type.empty()) {
    return Unfit{ErrorCode::oauth_invalid_request, "response_type is missing"};
  }
  if (asked.response_type != "code") {
    return Unfit{ErrorCode::oauth_unsupported_response_type, "response_type must be code"};
  }
  if (!asked.response_mode.empty() && asked.response_mode != "query") {
    return Unfit{ErrorCode::oauth_invalid_request, "response_mode must be query"};
  }
  if (asked.code_challenge_method != "S256" || !is_challenge(asked.code_challenge)) {
    return Unfit{ErrorCode::oauth_invalid_request,
                 "code_challenge with code_challenge_method S256 is required"};
  }
  if (!is_ours) {
    return Unfit{ErrorCode::oauth_invalid_target, "resource is not the URL of this MCP server"};
  }
  return std::nullopt;
}

}  // namespace

Result<Client, Error> Server::add_client(std::string_view json, std::string_view source) {
  if (!settings_.takes_registrations) {
    return Error{ErrorCode::auth_method_disabled, "Clients do not register themselves here."};
  }
  auto metadata = read_client_metadata(json, settings_.redirects);
  if (!metadata.ok()) return std::move(metadata).error();
  const std::string id = client_id_of(*metadata);
  auto known = parts_.grants.find_client(id);
  if (!known.ok()) return std::move(known).error();
  if (known->has_value()) return **std::move(known);
  auto counted = count(
      {{"oauth.register:" + std::string(source), hour_ms, registrations_of_source_max},
       {"oauth.register", minute_ms, registrations_max}},
      "Too many new clients are registering: wait.");
  if (!counted.ok()) return std::move(counted).error();
  Client client;
  client.id = id;
  client.metadata = *std::move(metadata);
  return parts_.grants.add_client(client);
}

// Counts a try against all ceilings; if one of them is reached, none is counted.
Result<Unit, Error> Server::count(std::initializer_list<Ceiling> ceilings,
                                  std::string_view refusal) {
  for (const Ceiling& one : ceilings) {
    const auto wait_seconds = parts_.audit.throttled(one.key, one.window_ms, one.tries_max);
    if (!wait_seconds.ok()) return wait_seconds.error();
    if (*wait_seconds > 0) {
      return Error{ErrorCode::auth_throttled, std::string(refusal), *wait_seconds};
    }
  }
  for (const Ceiling& one : ceilings) {
    if (auto counted = parts_.audit.count_try(one.key, one.window_ms); !counted.ok()) {
      return std::move(counted).error();
    }
  }
  return Unit{};
}

Result<bool, Error> Server::wants_document(std::string_view client_id) {
  if (!settings_.takes_documents || !is_document_id(client_id)) return false;
  const bool takes_loopback = settings_.environment == identity::Environment::development;
  if (const auto fault = fault_in_document_url(client_id, takes_loopback)) {
    return Error{ErrorCode::oauth_invalid_request,
                 "No document is fetched from this client_id: " + *fault + "."};
  }
  const auto known = parts_.grants.find_client(client_id);
  if (!known.ok()) return known.error();
  if (known->has_value() && (!(*known)->is_stale || (*known)->is_blocked)) return false;
  auto counted = count(
      {{"oauth.document:" + document_host(client_id), minute_ms, fetches_of_host_max},
       {"oauth.document", minute_ms, fetches_max}},
      "Too many documents of clients are being fetched: wait.");
  if (!counted.ok()) return std::move(counted).error();
  return true;
}

Result<Unit, Error> Server::keep_document(std::string_view client_id,
                                          const FetchedDocument& document) {
  const auto metadata = read_client_document(client_id, document.json, settings_.redirects);
  if (!metadata.ok()) return metadata.error();
  return parts_.grants.keep_document(client_id, *metadata,
                                     document_kept_ms(document.cache_control));
}

Result<Client, Error> Server::find_client(std::string_view client_id) {
  auto client = parts_.grants.find_client(client_id);
  if (!client.ok()) return std::move(client).error();
  if (!client->has_value() || (*client)->is_blocked) return unknown_client();
  return **std::move(client);
}

// An unknown client gets no redirect, so the person sees the error.
Result<Client, Error> Server::find_asking_client(std::string_view client_id) {
  auto client = find_client(client_id);
  const bool is_taken = client.ok() && !client->is_stale &&
                        (settings_.takes_documents || client->kind != ClientKind::document);
  if (is_taken || (!client.ok() && client.error().code != ErrorCode::oauth_invalid_client)) {
    return client;
  }
  return Error{ErrorCode::oauth_invalid_request, unknown_client().message};
}

bool Server::is_our_resource(std::string_view resource) const noexcept {
  if (resource.empty()) return true;
  if (resource.ends_with('/')) resource.remove_suffix(1);
  return resource == settings_.issuer;
}

Result<std::string, Error> Server::authorize(const AuthorizeParameters& asked) {
  if (asked.client_id.empty()) return missing("client_id");
  if (asked.redirect_uri.empty()) return missing("redirect_uri");
  const auto client = find_asking_client(asked.client_id);
  if (!client.ok()) return client.error();
  const auto& registered = client->metadata.redirect_uris;
  // The rules may have become stricter since the registration.
  const bool is_registered =
      !fault_in_redirect_uri(asked.redirect_uri, settings_.redirects) &&
      std::any_of(registered.begin(), registered.end(), [&](const std::string& uri) {
        return matches_redirect_uri(uri, asked.redirect_uri);
      });
  if (!is_registered) {
    return Error{ErrorCode::oauth_invalid_redirect_uri,
                 "The client did not register the redirect_uri that it asks to be answered at."};
  }
  if (!is_state(asked.state)) {
    return Error{ErrorCode::oauth_invalid_request,
                 "state must be at most 1024 visible ASCII characters and blanks."};
  }
  if (const auto unfit = problem_of(asked, is_our_resource(asked.resource))) {
    return refusal_url(asked, unfit->code, unfit->description);
  }
  return settings_.consent_url + "?request=" + request_text(asked);
}

std::string Server::refusal_url(const AuthorizeParameters& asked, ErrorCode code,
                                std::string_view description) const {
  return RedirectAnswer(asked.redirect_uri)
      .add("error", base::oauth_word(code))
      .add("error_description", description)
      .add("state", asked.state)
      .add("iss", settings_.issuer)
      .text();
}

std::string Server::request_text(const AuthorizeParameters& asked) {
  std::array<std::uint8_t, 16> bytes{};
  parts_.random.fill(bytes);
  const Ordered facts = {{"id", text::base62(bytes, 22)},
                         {"until", parts_.clock.now_ms() + settings_.lifetimes.request_ms},
                         {"client", asked.client_id},
                         {"to", asked.redirect_uri},
                         {"state", asked.state},
                         {"challenge", asked.code_challenge}};
  return crypto::sign_text(facts.dump(), request_context, settings_.request_key);
}

Result<PendingRequest, Error> Server::read_request(std::string_view text) {
  const auto facts = crypto::verified_text(text, request_context, settings_.request_key);
  if (!facts) return ended_request();
  const auto json = text::parse_json(*facts);  // signed by us, so it is valid JSON
  PendingRequest request;
  request.id = "oauth." + json.at("id").get<std::string>();
  request.expires_at_ms = json.at("until").get<std::int64_t>();
  request.redirect_uri = json.at("to").get<std::string>();
  request.state = json.at("state").get<std::string>();
  request.challenge = json.at("challenge").get<std::string>();
  if (request.expires_at_ms <= parts_.clock.now_ms()) return ended_request();
  auto client = find_client(json.at("client").get<std::string>());
  if (!client.ok()) return std::move(client).error();
  request.client = *std::move(client);
  return request;
}

Result<std::string, Error> Server::approve(const PendingRequest& request,
                                           std::string_view account_id,
                                           const identity::SpendCaps& caps,
                                           const identity::Actor& actor) {
  const NewToken code = new_token(settings_.environment, parts_.random, TokenKind::code);
  const auto grant = parts_.grants.approve({request.id, request.expires_at_ms},
                                           {.client_id = request.client.id,
                                            .redirect_uri = request.redirect_uri,
                                            .person_id = actor.person_id,
                                            .account_id = std::string(account_id),
                                            .caps = caps,
                                            .valid_ms = settings_.lifetimes.grant_ms,
                                            .code = code.digest,
                                            .challenge = request.challenge,
                                            .code_valid_ms = settings_.lifetimes.code_ms},
                                           actor);
  if (!grant.ok()) return grant.error();
  return RedirectAnswer(request.redirect_uri)
      .add("code", code.text)
      .add("state", request.state)
      .add("iss", settings_.issuer)
      .text();
}

Result<std::string, Error> Server::deny(const PendingRequest& request,
                                        const identity::Actor& actor) {
  const auto denied =
      parts_.grants.deny({request.id, request.expires_at_ms}, request.client.id, actor);
  if (!denied.ok()) return denied.error();
  AuthorizeParameters asked{};
  asked.redirect_uri = request.redirect_uri;
  asked.state = request.state;
  return refusal_url(asked, ErrorCode::oauth_access_denied, "the person said no");
}

Result<Tokens, Error> Server::exchange(const TokenParameters& asked) {
  if (asked.grant_type.empty()) return missing("grant_type");
  const bool is_code = asked.grant_type == "authorization_code";
  if (!is_code && asked.grant_type != "refresh_token") {
    return Error{ErrorCode::oauth_unsupported_grant_type,
                 "grant_type must be authorization_code or refresh_token."};
  }
  if (asked.client_id.empty()) return missing("client_id");
  if (!is_our_resource(asked.resource)) {
    return Error{ErrorCode::oauth_invalid_target, "resource is not the URL of this MCP server."};
  }
  const auto client = find_client(asked.client_id);
  if (!client.ok()) return client.error();
  return is_code ? exchange_code(asked) : exchange_refresh(asked);
}

Result<Tokens, Error> Server::exchange_code(const TokenParameters& asked) {
  if (asked.code.empty()) return missing("code");
  if (asked.code_verifier.empty()) return missing("code_verifier");
  if (!is_verifier(asked.code_verifier)) {
    return Error{ErrorCode::oauth_invalid_request,
                 "code_verifier is 43 to 128 letters, digits, or one of - . _ ~."};
  }
  const NewToken access = new_token(settings_.environment, parts_.random, TokenKind::access);
  const NewToken refresh = new_token(settings_.environment, parts_.random, TokenKind::refresh);
  const std::string challenge = challenge_of(asked.code_verifier);
  CodeUse use{crypto::sha256(asked.code), asked.client_id, std::nullopt, challenge};
  if (!asked.redirect_uri.empty()) use.redirect_uri = asked.redirect_uri;
  const auto valid_ms =
      parts_.grants.redeem(use, {access.digest, settings_.lifetimes.access_ms, refresh.digest,
                                 settings_.lifetimes.refresh_idle_ms});
  if (!valid_ms.ok()) return valid_ms.error();
  return Tokens{access.text, refresh.text, *valid_ms};
}

// A client that lost the reply to a refresh, or refreshes in two processes at once, gets the same
// successor again. The successor is sealed with the old token, which is not stored anywhere.
Result<Tokens, Error> Server::exchange_refresh(const TokenParameters& asked) {
  if (asked.refresh_token.empty()) return missing("refresh_token");
  const NewToken access = new_token(settings_.environment, parts_.random, TokenKind::access);
  const NewToken refresh = new_token(settings_.environment, parts_.random, TokenKind::refresh);
  const std::string sealed =
      crypto::seal(refresh.text, asked.refresh_token, successor_context, parts_.random);
  const auto refreshed =
      parts_.grants.refresh({crypto::sha256(asked.refresh_token), asked.client_id, sealed},
                            {access.digest, settings_.lifetimes.access_ms, refresh.digest,
                             settings_.lifetimes.refresh_idle_ms});
  if (!refreshed.ok()) return refreshed.error();
  if (refreshed->sealed_successor.empty()) {
    return Tokens{access.text, refresh.text, refreshed->access_valid_ms};
  }
  auto successor =
      crypto::unseal(refreshed->sealed_successor, asked.refresh_token, successor_context);
  if (!successor) return Error{ErrorCode::gateway_internal, "A stored token cannot be read."};
  return Tokens{access.text, *std::move(successor), refreshed->access_valid_ms};
}

Result<Unit, Error> Server::revoke(std::string_view token, std::string_view client_id) {
  if (token.empty()) return missing("token");
  if (client_id.empty()) return missing("client_id");
  const auto client = find_client(client_id);
  if (!client.ok()) return client.error();
  return parts_.grants.revoke_token(crypto::sha256(token), client_id);
}

std::string Server::metadata_json() const {
  const std::string& issuer = settings_.issuer;
  Ordered body = {{"issuer", issuer},
                  {"authorization_endpoint", issuer + "/oauth/authorize"},
                  {"token_endpoint", issuer + "/oauth/token"}};
  if (settings_.takes_registrations) body["registration_endpoint"] = issuer + "/oauth/register";
  body["revocation_endpoint"] = issuer + "/oauth/revoke";
  body["response_types_supported"] = {"code"};
  body["response_modes_supported"] = {"query"};
  body["grant_types_supported"] = {"authorization_code", "refresh_token"};
  body["token_endpoint_auth_methods_supported"] = {"none"};
  body["revocation_endpoint_auth_methods_supported"] = {"none"};
  body["code_challenge_methods_supported"] = {"S256"};
  body["authorization_response_iss_parameter_supported"] = true;
  if (settings_.takes_documents) body["client_id_metadata_document_supported"] = true;
  body["protected_resources"] = {issuer};
  return body.dump();
}

}  // namespace turnpike::oauth
