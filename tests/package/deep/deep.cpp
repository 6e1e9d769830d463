// A provider with a stack frame of 200 kB: on a fiber, its first call would end the gateway.
#include <turnpike/plugin.h>

#include <cstring>

#ifndef DEEP_EXECUTION
#define DEEP_EXECUTION cooperative
#endif

namespace {

using namespace turnpike;

class Deep final : public Upstream {
 public:
  Done execute(const UpstreamRequest& request, ReplySink& sink, Call&) override {
    char page[200'000];
    std::memset(page, request.query.empty() ? 'x' : request.query.front(), sizeof page);
    if (sink.head(200, {}, sizeof page)) sink.body({page, sizeof page});
    return Unit{};
  }
  [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
  Done probe(Call&) override { return Unit{}; }
};

class DeepProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding&, Host&) override {
    return std::unique_ptr<Upstream>(std::make_unique<Deep>());
  }
};

}  // namespace

TURNPIKE_PROVIDER("deep", "1.0.0", DEEP_EXECUTION, [] { return std::make_unique<DeepProvider>(); })
