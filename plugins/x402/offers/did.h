// The service's identity for offers and receipts: the did:web of its public origin (W3C did:web
// method) and the document that lists its keys (docs/protocols.md, "Offers and receipts"). Readers
// find a key by the whole `kid` of a signature, so ids are full URLs. Retired keys stay in
// verificationMethod and leave assertionMethod. The JWK's `iat` and `exp` (OpenID Federation 1.0
// section 8.7) say when a key began and ceased to sign, so that a receipt can be judged as of its
// issuedAt.
//
// Values and pure functions; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "x402/offers/keys.h"

namespace turnpike::x402 {

inline constexpr std::string_view did_content_type = "application/did+json";

struct DidWeb {
  std::string id;             // did:web:gateway.example%3A8443; segments of a path after colons
  std::string document_path;  // on the origin's host: /.well-known/did.json or /<path>/did.json
  // Readers fetch by https, and by http only from localhost and 127.0.0.1.
  bool is_fetchable = false;

  [[nodiscard]] std::string kid(std::string_view fragment) const;
};

// The error is a sentence about the origin.
[[nodiscard]] Result<DidWeb, std::string> did_web(std::string_view public_origin);

// Returns the document of `did` with all keys of all nodes in the given order. A fragment that
// comes again is left out.
[[nodiscard]] std::string did_document(const DidWeb& did, std::span<const PublishedKey> keys);

// Write a published key for the store that nodes share, and read it back.
[[nodiscard]] std::string to_json(const PublishedKey& key);
[[nodiscard]] std::optional<PublishedKey> published_key_of_json(std::string_view text);

// What a document says about one key.
struct KeyOfDocument {
  PublicKey key;
  std::optional<std::int64_t> created_s;
  std::optional<std::int64_t> retired_s;
  bool is_asserted = false;  // listed in assertionMethod: it signs today
};

// Finds the key that `kid` names in the document of its DID. The error is a sentence.
[[nodiscard]] Result<KeyOfDocument, std::string> find_key(const JsonText& document,
                                                          std::string_view kid);

}  // namespace turnpike::x402
