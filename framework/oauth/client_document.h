// Client-id metadata documents (draft-ietf-oauth-client-id-metadata-document): a client_id that is
// a URL, where a client says who it is instead of registering. Who fetches the document stands
// above, in hosts/oauth; here are the rules, for text that strangers wrote.
//
// Pure functions and values; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "oauth/client.h"

namespace turnpike::oauth {

inline constexpr std::size_t document_bytes_max = 5'120;
inline constexpr std::size_t document_url_bytes_max = 1'024;
inline constexpr std::int64_t document_kept_ms_min = 5 * 60'000ll;
inline constexpr std::int64_t document_kept_ms_max = 24 * 3'600'000ll;

// Whether an id is one of a document, well formed or not: no id that we make begins as those do.
bool is_document_id(std::string_view client_id) noexcept;

// Why no document is taken from there, as a sentence; nothing: one may be. Allowed is https at port
// 443 with a path that has no dot segment; and where `takes_loopback`, http or https at any port of
// this machine, for development.
std::optional<std::string> fault_in_document_url(std::string_view url, bool takes_loopback);

// Whether it lies on this machine. REQUIRES: `url` has no fault.
bool is_document_nearby(std::string_view url);

// Its host in lower case, for counting what is fetched from one. REQUIRES: as above.
std::string document_host(std::string_view url);

// What came from the URL.
struct FetchedDocument {
  std::string json;
  std::string cache_control;  // empty: the field was not sent
};

// Reads the document of that id. Error: oauth.invalid_client_metadata, oauth.invalid_redirect_uri.
Result<ClientMetadata, base::Error> read_client_document(std::string_view client_id,
                                                         std::string_view json,
                                                         const RedirectRules& rules);

// How long it is believed without another look, ms: the max-age of Cache-Control (RFC 9111 section
// 5.2.2.1) within our own bounds, which keep a client's host from being asked all the time, and a
// document from being believed for good.
std::int64_t document_kept_ms(std::string_view cache_control) noexcept;

}  // namespace turnpike::oauth
