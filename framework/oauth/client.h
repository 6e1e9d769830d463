// Clients of the authorization server: programs that ask people for access to an account. All are
// public clients: they have no secret, and prove by PKCE and their redirect URI that a code is
// theirs.
//
// Values; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::oauth {

inline constexpr std::size_t metadata_bytes_max = 16'384;
inline constexpr std::size_t redirect_uris_max = 10;
inline constexpr std::size_t client_name_bytes_max = 200;

// A client's own metadata, unverified.
struct ClientMetadata {
  std::string name;  // display name; empty: none
  std::vector<std::string> redirect_uris;
  std::string uri = {};  // home page, https; empty: none
};

enum class ClientKind : std::uint8_t { registered, document };
std::string_view name_of(ClientKind kind) noexcept;

struct Client {
  std::string id;  // "cli_...", or the URL of its document (client_document.h)
  ClientMetadata metadata;
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms = {};  // last decision of a person about it
  bool is_blocked = false;
  ClientKind kind = ClientKind::registered;
  bool is_stale = false;  // its document must be fetched again before a person is asked
};

// Allowed private-use schemes of native programs, besides those with a dot in their name, which RFC
// 8252 section 7.1 asks for.
struct RedirectRules {
  std::vector<std::string> private_schemes = {"cursor", "vscode", "vscode-insiders", "windsurf"};
};

// Reads the body of a registration (RFC 7591 section 2). Errors: oauth.invalid_redirect_uri,
// oauth.invalid_client_metadata.
Result<ClientMetadata, base::Error> read_client_metadata(std::string_view json,
                                                         const RedirectRules& rules);

// Returns "cli_" and 22 base62 characters of a digest of the metadata, so that a client which
// registers at each start remains one client.
std::string client_id_of(const ClientMetadata& metadata);

}  // namespace turnpike::oauth
