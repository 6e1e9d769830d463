#include "x402/offers/did.h"

#include <algorithm>
#include <vector>

#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

// Whether the text stands for itself in a did:web name: DID Core's idchar without the percent sign.
bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

// Rounds the times outwards to the whole seconds of a signature.
std::string life_members(const PublishedKey& key) {
  std::string members = R"("iat":)" + std::to_string(key.created_ms / 1000);
  if (key.retired_ms) members += R"(,"exp":)" + std::to_string((*key.retired_ms + 999) / 1000);
  return members;
}

std::optional<std::int64_t> read_time(JsonValue member) {
  const auto seconds = member.natural();
  if (!seconds || *seconds >> 62 != 0) return std::nullopt;
  return static_cast<std::int64_t>(*seconds);
}

}  // namespace

std::string DidWeb::kid(std::string_view fragment) const {
  return id + '#' + std::string(fragment);
}

Result<DidWeb, std::string> did_web(std::string_view public_origin) {
  const auto wrong = [&](std::string_view why) {
    return "the public origin " + std::string(public_origin) +
           " has no did:web name: " + std::string(why);
  };
  const bool is_https = public_origin.starts_with("https://");
  if (!is_https && !public_origin.starts_with("http://")) {
    return wrong("it must begin with https://, or http:// for a lab");
  }
  std::string_view rest = public_origin.substr(is_https ? 8 : 7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  const std::size_t colon = std::min(authority.find(':'), authority.size());
  const std::string host = lower(authority.substr(0, colon));
  if (!is_plain(host)) return wrong("its host must be a name or an IPv4 address");
  DidWeb did;
  did.id = "did:web:" + host;
  did.is_fetchable = is_https || host == "localhost" || host == "127.0.0.1";
  if (colon < authority.size()) {
    const auto port = parse_uint64(authority.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return wrong("its port is no number up to 65535");
    did.id += "%3A" + std::to_string(*port);
  }
  did.document_path = slash == rest.size() ? "/.well-known/did.json"
                                           : std::string(rest.substr(slash)) + "/did.json";
  for (std::string_view path = rest.substr(slash); !path.empty();) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    if (!is_plain(segment)) {
      return wrong("the segments of its path may have letters, digits and . - _ only");
    }
    did.id.append(":").append(segment);
    path.remove_prefix(segment.size());
  }
  return did;
}

std::string did_document(const DidWeb& did, std::span<const PublishedKey> keys) {
  std::string methods, asserted;
  std::vector<std::string_view> listed;
  for (const PublishedKey& key : keys) {
    if (std::find(listed.begin(), listed.end(), key.fragment) != listed.end()) continue;
    listed.push_back(key.fragment);
    const std::string id = '"' + did.kid(key.fragment) + '"';
    methods += (methods.empty() ? R"({"id":)" : R"(,{"id":)") + id +
               R"(,"type":"JsonWebKey2020","controller":")" + did.id + R"(","publicKeyJwk":{)" +
               jwk_members(key.key) + ',' + life_members(key) + "}}";
    if (!key.retired_ms) asserted += (asserted.empty() ? "" : ",") + id;
  }
  return R"({"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/suites/jws-2020/v1"],)"
         R"("id":")" +
         did.id + R"(","verificationMethod":[)" + methods + R"(],"assertionMethod":[)" + asserted +
         "]}";
}

std::string to_json(const PublishedKey& key) {
  std::string json = '{' + jwk_members(key.key) + R"(,"kid":")" + key.fragment +
                     R"(","created_ms":)" + std::to_string(key.created_ms);
  if (key.retired_ms) json += R"(,"retired_ms":)" + std::to_string(*key.retired_ms);
  return json + '}';
}

std::optional<PublishedKey> published_key_of_json(std::string_view text) {
  const auto json = JsonText::parse(std::string(text));
  if (!json.ok()) return std::nullopt;
  const JsonValue root = json->root();
  const auto key = public_key_of_jwk(root);
  const auto created_ms = read_time(root["created_ms"]);
  const auto retired_ms = read_time(root["retired_ms"]);
  const std::string fragment = root["kid"].string();
  if (!key.ok() || !created_ms || !is_plain(fragment) ||
      (!root["retired_ms"].is_missing() && !retired_ms)) {
    return std::nullopt;
  }
  return PublishedKey{fragment, *key, *created_ms, retired_ms};
}

Result<KeyOfDocument, std::string> find_key(const JsonText& document, std::string_view kid) {
  const std::string did(kid.substr(0, kid.find('#')));
  if (did.size() == kid.size()) return "the signature's kid " + did + " names no key: it lacks a #";
  const std::string id = document.root()["id"].string();
  if (id != did) {
    return "the document is of " + (id.empty() ? "nobody" : id) + ", the signature of " + did;
  }
  for (const auto [name, method] : document.root()["verificationMethod"]) {
    // DID Core section 3.2.2 allows a document to shorten its own ids.
    const std::string own = method["id"].string();
    if (own != kid && did + own != kid) continue;
    auto key = public_key_of_jwk(method["publicKeyJwk"]);
    if (!key.ok()) return std::string(kid) + ": " + key.error();
    const JsonValue jwk = method["publicKeyJwk"];
    KeyOfDocument found{*key, read_time(jwk["iat"]), read_time(jwk["exp"]), false};
    for (const auto [position, asserted] : document.root()["assertionMethod"]) {
      found.is_asserted |= asserted.equals(own) || asserted.equals(kid);
    }
    return found;
  }
  return "the document lists no key " + std::string(kid);
}

}  // namespace turnpike::x402
