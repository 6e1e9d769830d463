// The MCP host with the official conformance suite's own tools, resources and prompts in place of
// the service's; it prints where it listens and ends with its standard input.
// usage: suite_server [LIFETIME_MS]     of what a tool remembers between its rounds (60000)
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/sources.h"
#include "hosts/discovery.h"
#include "hosts/mcp/mcp_host.h"
#include "mcp/suite_features.h"
#include "runtime/runtime.h"
#include "wire/server.h"

namespace {

using namespace turnpike;
using base::ErrorCode;

// There is nothing to sell here.
class NoBackend final : public hosts::Backend {
 public:
  exchange::Served serve(const exchange::Invocation&, exchange::ReplyWriter& writer) override {
    exchange::Served served;
    served.ending = exchange::Ending::refused;
    served.error = ErrorCode::registry_unavailable;
    writer.refuse({ErrorCode::registry_unavailable, "There is no registry."}, {});
    return served;
  }
  std::shared_ptr<const catalog::View> view() override { return nullptr; }
  hosts::Health health() override { return {}; }
};

class NoAuthenticator final : public identity::Authenticator {
 public:
  Result<std::shared_ptr<const identity::Principal>, base::Error> authenticate(
      std::string_view, runtime::Deadline, identity::Accepts) override {
    return base::Error{ErrorCode::auth_credential_invalid, "No key is known here."};
  }
};

class NoAccessLog final : public hosts::AccessLog {
 public:
  const hosts::Endpoint& endpoint(std::string_view) override { return none_; }
  void write(const hosts::AccessRecord&) noexcept override {}

 private:
  const hosts::Endpoint none_;
};

int run(std::int64_t lifetime_ms) {
  base::SystemClock clock;
  base::SystemRandom random;
  const auto log = base::make_silent_log();
  runtime::RuntimeOptions options;
  options.loops = 2;
  runtime::Runtime runtime(options);
  auto server = wire::make_server(runtime, {}, *log);
  const auto bound = server->reserve("mcp", "127.0.0.1:0");
  if (!bound.ok()) {
    std::cerr << bound.error() << '\n';
    return EXIT_FAILURE;
  }
  const std::string url = "http://" + bound->address;

  NoBackend backend;
  NoAuthenticator authenticator;
  NoAccessLog access_log;
  const tests::RequestState state(clock, std::string(32, 'k'), lifetime_ms);
  const tests::SuiteFeatures suite(state);
  const hosts::mcp::Executions executions({.backend = backend,
                                           .authenticator = authenticator,
                                           .build = {},
                                           .api_url = url,
                                           .payment_url = url + "/x402",
                                           .resource_metadata = "",
                                           .reply_bytes_max = 1024});
  const hosts::Discovery discovery({.urls = {.mcp = url}, .release = "0.0.0"});
  hosts::mcp::McpHost host(
      {backend, discovery, suite.features(), executions, runtime, clock, random, access_log},
      {.access = {.base_url = url, .bound_address = bound->address},
       .build = {"0.0.0", "unknown", "test"}});
  const auto started = server->start({{.name = "mcp", .address = "127.0.0.1:0", .handler = &host}});
  if (!started.ok()) {
    std::cerr << started.error() << '\n';
    return EXIT_FAILURE;
  }
  std::cout << R"({"event":"ready","url":")" << url << "/\"}\n" << std::flush;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  server->drain(std::chrono::milliseconds(1'000));
  server.reset();  // its connections live on the loops
  runtime.stop(runtime::Deadline::after_ms(1'000), runtime::Deadline::after_ms(5'000));
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) {
  return run(count > 1 ? std::strtoll(arguments[1], nullptr, 10) : 60'000);
}
