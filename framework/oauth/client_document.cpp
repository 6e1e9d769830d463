#include "oauth/client_document.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "oauth/redirect_uri.h"
#include "text/json_text.h"

namespace turnpike::oauth {
namespace {

using Document = nlohmann::json;

constexpr std::string_view https_begin = "https://";
constexpr std::string_view http_begin = "http://";
constexpr std::string_view max_age = "max-age=";
constexpr std::string_view our_method = "none";

base::Error bad_document(std::string what) {
  return {base::ErrorCode::oauth_invalid_client_metadata,
          "The document at the client_id " + std::move(what) + "."};
}

// Returns the URL behind the scheme. REQUIRES: `url` is a document's id.
std::string_view authority_and_rest(std::string_view url) noexcept {
  return url.substr(url.find("//") + 2);
}

std::string_view authority_of(std::string_view url) noexcept {
  const std::string_view rest = authority_and_rest(url);
  return rest.substr(0, rest.find_first_of("/?"));
}

// Returns the length of the host; colons within the brackets of an IPv6 address do not end it.
std::size_t host_size(std::string_view authority) noexcept {
  return std::min(authority.find(':', authority.rfind(']') + 1), authority.size());
}

// RFC 3986 section 3.3; a dot may be percent-encoded (section 6.2.2.2).
bool is_dot_segment(std::string_view segment) noexcept {
  int dots = 0;
  while (!segment.empty()) {
    const bool is_escape = segment.size() >= 3 && segment[0] == '%' && segment[1] == '2' &&
                           (segment[2] == 'e' || segment[2] == 'E');
    if (segment[0] != '.' && !is_escape) return false;
    segment.remove_prefix(is_escape ? 3 : 1);
    ++dots;
  }
  return dots == 1 || dots == 2;
}

bool has_dot_segment(std::string_view path) noexcept {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (is_dot_segment(path.substr(0, end))) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

// Whether the document declares a public client, which needs no secret.
bool does_without_secret(const Document& body) {
  const auto own = body.find("token_endpoint_auth_method");
  if (own != body.end() && *own == our_method) return true;
  const auto others = body.find("token_endpoint_auth_methods_supported");
  return others != body.end() && others->is_array() &&
         std::any_of(others->begin(), others->end(),
                     [](const Document& one) { return one == our_method; });
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Compares without regard to case. REQUIRES: `expected` is in lower case.
bool same_but_case(std::string_view text, std::string_view expected) noexcept {
  return std::equal(text.begin(), text.end(), expected.begin(), expected.end(),
                    [](char one, char two) { return lower(one) == two; });
}

}  // namespace

bool is_document_id(std::string_view client_id) noexcept {
  return client_id.starts_with(https_begin) || client_id.starts_with(http_begin);
}

std::optional<std::string> fault_in_document_url(std::string_view url, bool takes_loopback) {
  // http is accepted on loopback only; user information and fragments never.
  if (url.size() > document_url_bytes_max || !is_document_id(url)) {
    return "it is no https URL of at most " + std::to_string(document_url_bytes_max) + " bytes";
  }
  if (auto fault = fault_in_redirect_uri(url, {})) return fault;
  const bool is_nearby = is_document_nearby(url);
  if (is_nearby && !takes_loopback) return "it lies on this machine";
  const std::string_view authority = authority_of(url);
  const std::string_view port = authority.substr(host_size(authority));
  if (!is_nearby && !port.empty() && port != ":443") return "its port is not 443";
  const std::string_view rest = authority_and_rest(url).substr(authority.size());
  const std::string_view path = rest.substr(0, rest.find('?'));
  if (path.size() < 2) return "it has no path";
  if (has_dot_segment(path)) return "its path has a segment . or ..";
  return std::nullopt;
}

bool is_document_nearby(std::string_view url) {
  const std::string_view rest = authority_and_rest(url);
  // The same three loopback names as for redirect URIs.
  return !fault_in_redirect_uri(std::string(http_begin).append(rest), {});
}

std::string document_host(std::string_view url) {
  const std::string_view authority = authority_of(url);
  std::string host(authority.substr(0, host_size(authority)));
  std::transform(host.begin(), host.end(), host.begin(), lower);
  return host;
}

Result<ClientMetadata, base::Error> read_client_document(std::string_view client_id,
                                                         std::string_view json,
                                                         const RedirectRules& rules) {
  if (json.size() > document_bytes_max) return bad_document("is too long");
  const Document body = text::parse_json(json);
  if (!body.is_object()) return bad_document("is no JSON object");
  const auto id = body.find("client_id");
  if (id == body.end() || *id != client_id) return bad_document("is of another client_id");
  if (body.contains("client_secret") || body.contains("client_secret_expires_at")) {
    return bad_document("holds a secret, which is none there");
  }
  if (!does_without_secret(body)) {
    return bad_document(
        "must have none as its token_endpoint_auth_method, or among its "
        "token_endpoint_auth_methods_supported");
  }
  return read_client_metadata(json, rules);
}

std::int64_t document_kept_ms(std::string_view cache_control) noexcept {
  std::int64_t kept_s = 0;
  while (!cache_control.empty()) {
    const std::size_t end = std::min(cache_control.find(','), cache_control.size());
    std::string_view part = cache_control.substr(0, end);
    cache_control.remove_prefix(std::min(end + 1, cache_control.size()));
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    part = part.substr(0, part.find_last_not_of(" \t") + 1);
    if (same_but_case(part, "no-store") || same_but_case(part, "no-cache")) {
      return document_kept_ms_min;
    }
    if (!same_but_case(part.substr(0, max_age.size()), max_age)) continue;
    part.remove_prefix(max_age.size());
    if (part.starts_with('"')) part.remove_prefix(1);
    const auto read = std::from_chars(part.data(), part.data() + part.size(), kept_s);
    // The number overflows: the document is kept for the longest time allowed.
    if (read.ec == std::errc::result_out_of_range) kept_s = document_kept_ms_max;
  }
  kept_s = std::clamp<std::int64_t>(kept_s, 0, document_kept_ms_max / 1'000);
  return std::max(kept_s * 1'000, document_kept_ms_min);
}

}  // namespace turnpike::oauth
