#include <turnpike/helpers/private_address.h>
#include <turnpike/plugin.h>

#include "govdata/upstream.h"

namespace turnpike::govdata {
namespace {

class GovdataProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) override {
    auto configuration = read_configuration(binding);
    if (!configuration.ok()) return std::move(configuration).error();
    const ProxySettings& proxy = configuration->proxy;
    if (!proxy.allow_private_addresses && names_private_address(proxy.base_url)) {
      host.report().log(Severity::warning,
                        "upstream " + std::string(binding.upstream_id) + ": " + proxy.base_url +
                            " is this machine or a private network: every call is refused, unless "
                            "`allow_private_addresses: true` is set");
    }
    for (const SourceSettings& source : configuration->sources) {
      if (source.allow_private_addresses || !names_private_address(source.url)) continue;
      host.report().log(Severity::warning,
                        "upstream " + std::string(binding.upstream_id) + ": " + source.name() +
                            " is on this machine or a private network: it is never polled, unless "
                            "`allow_private_addresses: true` is set");
    }
    return make_upstream(*configuration, host);
  }
  // Polling, for upstreams in the mode poll.
  [[nodiscard]] Offers offers() const noexcept override { return {.has_own_work = true}; }
};

}  // namespace
}  // namespace turnpike::govdata

TURNPIKE_PROVIDER("govdata", "1.0.0", blocking,
                  [] { return std::make_unique<turnpike::govdata::GovdataProvider>(); })
