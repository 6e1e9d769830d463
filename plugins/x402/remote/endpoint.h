// Reads the parts of Settings that describe a remote service: its URL, its fixed header fields, and
// which CAIP-2 network a pattern names. Failures say where, list all mistakes where there may be
// several (turnpike/helpers/mistakes.h), and never contain a secret.
//
// Read once, by bind(). Plain functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>
#include <turnpike/result.h>
#include <turnpike/settings.h>

namespace turnpike::x402 {

// True for a map and for nothing at all, both of which may be read for members.
bool may_have_fields(const Settings& settings) noexcept;

struct RemoteUrl {
  std::string text;    // without slashes at its end; may hold a secret, so do not log it
  std::string origin;  // scheme, host and port, for logs
  bool lacks_secret = false;
};

// Reads the required URL under `key`: https or http, no user, no fragment. Node providers put their
// keys into paths and queries, so a URL that `may_be_secret` may have a query and be a secret.
Result<RemoteUrl> read_url(const Settings& settings, std::string_view key, bool may_be_secret);

// Adds the fields of the map `headers` to `into`, replacing fields of the same name. Sets
// `lacks_secret` if the secret of a field is not available. Refuses names that the gateway or the
// protocol sets.
Done read_headers(const Settings& headers, std::vector<OwnedHeader>& into, bool& lacks_secret);

// Reads `allow_private_addresses` into `into`. If it is false, refuses a `url` (the one under
// `key`) whose host is an address or name of this machine or its network, because it would never be
// reached. A `url` that could not be read is empty and is not refused again.
Done read_reach(const Settings& settings, std::string_view key, const RemoteUrl& url, bool& into);

// Whether others can read what is sent there on its way through public networks.
bool is_in_the_clear(const RemoteUrl& url, bool allows_private_addresses) noexcept;

// Reads an integer into `into`, which holds the default.
Done read_number(const Settings& settings, std::string_view key, std::uint32_t& into,
                 std::uint32_t minimum, std::uint32_t maximum);

// Whether `pattern`, a CAIP-2 network or "<namespace>:*", names `network`.
bool names_network(std::string_view pattern, std::string_view network) noexcept;

// <namespace>:<reference>, as in CAIP-2.
bool is_network(std::string_view text) noexcept;

}  // namespace turnpike::x402
