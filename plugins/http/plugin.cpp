#include <turnpike/helpers/private_address.h>
#include <turnpike/plugin.h>

#include "http/configuration.h"
#include "http/upstream.h"

namespace {

class HttpProvider final : public turnpike::Provider {
 public:
  turnpike::Result<std::unique_ptr<turnpike::Upstream>> bind(const turnpike::Binding& binding,
                                                             turnpike::Host& host) override {
    auto configuration = turnpike::http::read_configuration(binding);
    if (!configuration.ok()) return std::move(configuration).error();
    if (!configuration->allow_private_addresses &&
        turnpike::names_private_address(configuration->base_url)) {
      host.report().log(turnpike::Severity::warning,
                        "upstream " + std::string(binding.upstream_id) + ": " +
                            configuration->base_url +
                            " is this machine or a private network: every call is refused, unless "
                            "`allow_private_addresses: true` is set");
    }
    if (configuration->base_url.starts_with("http://") && !configuration->secrets.empty() &&
        !configuration->allow_private_addresses) {
      host.report().log(
          turnpike::Severity::warning,
          "the credential for " + configuration->base_url + " is sent unencrypted; use https");
    }
    return std::unique_ptr<turnpike::Upstream>(
        std::make_unique<turnpike::http::HttpUpstream>(*std::move(configuration), host));
  }
};

}  // namespace

TURNPIKE_PROVIDER("http", "1.0.0", cooperative, [] { return std::make_unique<HttpProvider>(); })
