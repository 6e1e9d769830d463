// The provider's settings, read strictly and once per bind(): what is not understood is refused by
// name. Plain values; safe on any Thread.
#pragma once

#include <string>

#include <turnpike/provider.h>

#include "govdata/live/settings.h"
#include "govdata/serve/service.h"

namespace turnpike::govdata {

// poll is embedded, with a store that is kept up from live sources.
enum class Mode : std::uint8_t { embedded, poll, proxy, proxy_v2 };

struct ProxySettings {
  std::string base_url;   // without a trailing slash
  std::string api_token;  // secret; empty: not available now
  std::string user_agent;
  bool allow_private_addresses = false;
  std::uint32_t connect_timeout_ms = 3000;
  bool probe_sends_token = false;  // as the registry says, see Binding
};

struct Configuration {
  Mode mode = Mode::embedded;
  ServiceOptions service;
  std::vector<bool> stale_blocks;       // by operation of the binding
  std::vector<SourceSettings> sources;  // poll
  ProxySettings proxy;
};

Result<Configuration> read_configuration(const Binding& binding);

}  // namespace turnpike::govdata
