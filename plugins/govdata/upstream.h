// The upstreams of the provider: the embedded store, a remote service with the same paths, and a
// remote service with the paths of version 2. Made by bind(), owned by the host. Any Thread of the
// host's pool may call them concurrently.
#pragma once

#include <memory>

#include "govdata/configuration.h"

namespace turnpike::govdata {

std::unique_ptr<Upstream> make_embedded(const Configuration& configuration, Host& host);
std::unique_ptr<Upstream> make_proxy(const Configuration& configuration, Host& host);
std::unique_ptr<Upstream> make_proxy_v2(const Configuration& configuration, Host& host);
// Makes the upstream for the configuration's mode.
std::unique_ptr<Upstream> make_upstream(const Configuration& configuration, Host& host);

}  // namespace turnpike::govdata
