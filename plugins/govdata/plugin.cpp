#include <turnpike/plugin.h>

#include "govdata/upstream.h"

namespace turnpike::govdata {
namespace {

class GovdataProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) override {
    auto configuration = read_configuration(binding);
    if (!configuration.ok()) return std::move(configuration).error();
    return configuration->mode == Mode::embedded ? make_embedded(*configuration, host)
                                                 : make_proxy(*configuration, host);
  }
};

}  // namespace
}  // namespace turnpike::govdata

TURNPIKE_PROVIDER("govdata", "1.0.0", blocking,
                  [] { return std::make_unique<turnpike::govdata::GovdataProvider>(); })
