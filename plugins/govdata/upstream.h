// The upstreams of the provider: the embedded store, a real service behind the same paths, and one
// behind paths of a later version.
// Made by bind(), owned by the host, called from any Thread of its pool at once.
#pragma once

#include <memory>

#include "govdata/configuration.h"

namespace turnpike::govdata {

std::unique_ptr<Upstream> make_embedded(const Configuration& configuration, Host& host);
std::unique_ptr<Upstream> make_proxy(const Configuration& configuration, Host& host);
std::unique_ptr<Upstream> make_proxy_v2(const Configuration& configuration, Host& host);
// By its mode.
std::unique_ptr<Upstream> make_upstream(const Configuration& configuration, Host& host);

}  // namespace turnpike::govdata
