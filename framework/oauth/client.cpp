#include "oauth/client.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "crypto/digest.h"
#include "oauth/redirect_uri.h"
#include "text/canonical_json.h"
#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::oauth {
namespace {

using base::Error;
using base::ErrorCode;
using Json = nlohmann::json;

Error bad_metadata(std::string message) {
  return {ErrorCode::oauth_invalid_client_metadata, std::move(message)};
}

Error bad_uris(std::string message) {
  return {ErrorCode::oauth_invalid_redirect_uri, std::move(message)};
}

// Refuses control characters and bidirectional marks (Unicode TR 9), which could make a name look
// like another.
bool is_plain_text(std::string_view text) {
  constexpr std::array<std::string_view, 11> turning = {"\u200E", "\u200F", "\u202A", "\u202B",
                                                        "\u202C", "\u202D", "\u202E", "\u2066",
                                                        "\u2067", "\u2068", "\u2069"};
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  return text::is_utf8(text) && !has_control &&
         std::none_of(turning.begin(), turning.end(),
                      [&](std::string_view mark) { return text.find(mark) != text.npos; });
}

Result<std::string, Error> read_text(const Json& body, const char* name, std::size_t bytes_max) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return std::string();
  const auto* const text = found->get_ptr<const std::string*>();
  if (text == nullptr || text->size() > bytes_max || !is_plain_text(*text)) {
    return bad_metadata(std::string(name) + " must be a text of at most " +
                        std::to_string(bytes_max) + " bytes without control characters.");
  }
  return *text;
}

// Returns the error if an optional list is present and lacks `needed`.
std::optional<Error> fault_in_list(const Json& body, const char* name, std::string_view needed) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return std::nullopt;
  const bool has_it =
      found->is_array() &&
      std::any_of(found->begin(), found->end(), [&](const Json& one) { return one == needed; });
  if (has_it) return std::nullopt;
  return bad_metadata(std::string(name) + " must be a list that has " + std::string(needed) + ".");
}

Result<std::vector<std::string>, Error> read_uris(const Json& body, const RedirectRules& rules) {
  const auto found = body.find("redirect_uris");
  if (found == body.end() || !found->is_array() || found->empty() ||
      found->size() > redirect_uris_max) {
    return bad_uris("redirect_uris must be a list of 1 to " + std::to_string(redirect_uris_max) +
                    " URIs.");
  }
  std::vector<std::string> uris;
  for (const Json& one : *found) {
    const auto* const uri = one.get_ptr<const std::string*>();
    const std::string place = "redirect_uris[" + std::to_string(uris.size()) + "]: ";
    if (uri == nullptr) return bad_uris(place + "it is no text.");
    if (const auto fault = fault_in_redirect_uri(*uri, rules))
      return bad_uris(place + *fault + ".");
    uris.push_back(*uri);
  }
  return uris;
}

}  // namespace

Result<ClientMetadata, Error> read_client_metadata(std::string_view json,
                                                   const RedirectRules& rules) {
  if (json.size() > metadata_bytes_max) return bad_metadata("The metadata is too long.");
  const Json body = text::parse_json(json);
  if (!body.is_object()) return bad_metadata("The metadata must be a JSON object.");
  auto uris = read_uris(body, rules);
  if (!uris.ok()) return std::move(uris).error();
  auto name = read_text(body, "client_name", client_name_bytes_max);
  if (!name.ok()) return std::move(name).error();
  auto uri = read_text(body, "client_uri", redirect_uri_bytes_max);
  if (!uri.ok()) return std::move(uri).error();
  if (!uri->empty() && (!uri->starts_with("https://") || fault_in_redirect_uri(*uri, rules))) {
    uri = std::string();  // left out: it is not shown; RFC 7591 section 2 allows that
  }
  if (auto fault = fault_in_list(body, "grant_types", "authorization_code")) return *fault;
  if (auto fault = fault_in_list(body, "response_types", "code")) return *fault;
  return ClientMetadata{*std::move(name), *std::move(uris), *std::move(uri)};
}

std::string_view name_of(ClientKind kind) noexcept {
  return kind == ClientKind::document ? "document" : "registered";
}

std::string client_id_of(const ClientMetadata& metadata) {
  std::vector<std::string> uris = metadata.redirect_uris;
  std::sort(uris.begin(), uris.end());
  const std::string canonical = Json{metadata.name, uris, metadata.uri}.dump();
  const crypto::Sha256 digest = crypto::sha256(canonical);
  return "cli_" + text::base62(std::span(digest).first(16), 22);
}

}  // namespace turnpike::oauth
