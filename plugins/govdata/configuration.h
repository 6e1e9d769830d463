// The provider's settings. Read once by bind(), which refuses unknown keys. Plain values; any
// Thread may read them.
#pragma once

#include <string>

#include <turnpike/provider.h>

#include "govdata/live/settings.h"
#include "govdata/serve/service.h"

namespace turnpike::govdata {

// `poll` is `embedded` with a store that is updated from live sources.
enum class Mode : std::uint8_t { embedded, poll, proxy, proxy_v2 };

struct ProxySettings {
  std::string base_url;   // without a trailing slash
  std::string api_token;  // a secret; empty: not available now
  std::string user_agent;
  bool allow_private_addresses = false;
  std::uint32_t connect_timeout_ms = 3000;
  bool probe_sends_token = false;  // from the registry: Binding::probe_uses_credential
};

struct Configuration {
  Mode mode = Mode::embedded;
  ServiceOptions service;
  std::vector<bool> stale_blocks;       // by index in Binding::operations
  std::vector<SourceSettings> sources;  // for poll
  ProxySettings proxy;
};

Result<Configuration> read_configuration(const Binding& binding);

}  // namespace turnpike::govdata
