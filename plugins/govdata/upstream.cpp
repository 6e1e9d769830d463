#include "govdata/upstream.h"

namespace turnpike::govdata {

std::unique_ptr<Upstream> make_upstream(const Configuration& configuration, Host& host) {
  switch (configuration.mode) {
    case Mode::embedded:
    case Mode::poll:
      return make_embedded(configuration, host);
    case Mode::proxy:
      return make_proxy(configuration, host);
    case Mode::proxy_v2:
      return make_proxy_v2(configuration, host);
  }
  return nullptr;
}

}  // namespace turnpike::govdata
