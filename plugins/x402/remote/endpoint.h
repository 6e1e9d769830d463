// The parts of Settings that describe a remote service: its URL, fixed header fields, and which
// CAIP-2 network a pattern names. Failures say where, have all mistakes where there may be several
// (turnpike/helpers/mistakes.h), and never hold a secret.
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

// A map, or nothing at all: what has other settings below it is told apart from what has none.
bool may_have_fields(const Settings& settings) noexcept;

struct RemoteUrl {
  std::string text;    // without slashes at its end; may hold a secret, so it is not for logs
  std::string origin;  // scheme, host and port: what logs name
  bool lacks_secret = false;
};

// Reads the required URL under `key`: https or http, no user, no fragment. Providers of nodes put
// their keys into paths and queries, so one that `may_be_secret` may have a query and be a secret.
Result<RemoteUrl> read_url(const Settings& settings, std::string_view key, bool may_be_secret);

// Adds the fields of the map `headers` to `into`, replacing those of the same name. Sets
// `lacks_secret` when the secret of one is not available. The names that the gateway or the
// protocol sets are refused.
Done read_headers(const Settings& headers, std::vector<OwnedHeader>& into, bool& lacks_secret);

// Reads `allow_private_addresses` into `into`, and refuses a `url`, which stands under `key`, whose
// host is an address or name of this machine or its network without it: it would never be reached.
// A `url` that could not be read is empty, and is not refused again.
Done read_reach(const Settings& settings, std::string_view key, const RemoteUrl& url, bool& into);

// Whether what is sent there can be read on its way through public networks.
bool is_in_the_clear(const RemoteUrl& url, bool allows_private_addresses) noexcept;

// Reads an integer into `into`, which holds the default.
Done read_number(const Settings& settings, std::string_view key, std::uint32_t& into,
                 std::uint32_t minimum, std::uint32_t maximum);

// Whether `pattern`, a CAIP-2 network or "<namespace>:*", names `network`.
bool names_network(std::string_view pattern, std::string_view network) noexcept;

// <namespace>:<reference>, as in CAIP-2.
bool is_network(std::string_view text) noexcept;

}  // namespace turnpike::x402
