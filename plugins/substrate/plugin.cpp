#include <turnpike/plugin.h>

#include "substrate/configuration.h"
#include "substrate/upstream.h"

namespace turnpike::substrate {
namespace {

void warn_of_clear_text(const Configuration& configuration, std::string_view upstream_id,
                        Host& host) {
  for (const ChainSettings& chain : configuration.chains) {
    for (const EndpointSettings& endpoint : chain.endpoints) {
      if (!endpoint.url.starts_with("http://") || chain.allows_private_addresses) continue;
      host.report().log(Severity::warning,
                        "upstream " + std::string(upstream_id) + ": the endpoint " + endpoint.key +
                            " is asked over plain http: whoever is on the way can change what "
                            "it says");
    }
  }
}

class SubstrateProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) override {
    auto configuration = read_configuration(binding);
    if (!configuration.ok()) return std::move(configuration).error();
    warn_of_clear_text(*configuration, binding.upstream_id, host);
    return make_upstream(*std::move(configuration), host);
  }
};

}  // namespace
}  // namespace turnpike::substrate

TURNPIKE_PROVIDER("substrate", "1.0.0", cooperative,
                  [] { return std::make_unique<turnpike::substrate::SubstrateProvider>(); })
