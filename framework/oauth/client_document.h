// Client-id metadata documents (draft-ietf-oauth-client-id-metadata-document): the client_id is a
// URL, at which the client publishes its metadata instead of registering. hosts/oauth fetches the
// documents; the rules here are for untrusted text.
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

// Whether an id is the URL of a document, well formed or not: no generated id begins like a URL.
bool is_document_id(std::string_view client_id) noexcept;

// Returns a sentence on why no document is fetched from `url`; nothing: it is allowed. Allowed is
// https at port 443 with a path that has no dot segment; and with `takes_loopback`, http or https
// at any port of this machine, for development.
std::optional<std::string> fault_in_document_url(std::string_view url, bool takes_loopback);

// Whether the document is on this machine. REQUIRES: `url` has no fault.
bool is_document_nearby(std::string_view url);

// Returns the host in lower case, for the throttle of each host. REQUIRES: `url` has no fault.
std::string document_host(std::string_view url);

// The reply from the document's URL.
struct FetchedDocument {
  std::string json;
  std::string cache_control;  // empty: the field was not sent
};

// Reads the document with that id. Errors: oauth.invalid_client_metadata,
// oauth.invalid_redirect_uri.
Result<ClientMetadata, base::Error> read_client_document(std::string_view client_id,
                                                         std::string_view json,
                                                         const RedirectRules& rules);

// Returns how long the document is cached, in ms: the max-age of Cache-Control (RFC 9111 section
// 5.2.2.1) within our own bounds, so that a client's host is not asked all the time, and a document
// is not trusted forever.
std::int64_t document_kept_ms(std::string_view cache_control) noexcept;

}  // namespace turnpike::oauth
