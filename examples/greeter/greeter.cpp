#include <turnpike/plugin.h>

class Greeting final : public turnpike::Upstream {
 public:
  turnpike::Done execute(const turnpike::UpstreamRequest& request, turnpike::ReplySink& sink,
                         turnpike::Call&) override {
    const turnpike::HeaderField type{"Content-Type", "application/json"};
    if (sink.head(200, {&type, 1}, std::nullopt)) sink.body(R"({"hello":"world"})");
    return turnpike::Unit{};
  }
  turnpike::State state(std::uint32_t) const noexcept override { return {}; }
  turnpike::Done probe(turnpike::Call&) override { return turnpike::Unit{}; }
};

class Greeter final : public turnpike::Provider {
 public:
  turnpike::Result<std::unique_ptr<turnpike::Upstream>> bind(const turnpike::Binding&,
                                                             turnpike::Host&) override {
    return std::unique_ptr<turnpike::Upstream>(std::make_unique<Greeting>());
  }
};

TURNPIKE_PROVIDER("greeter", "1.0.0", cooperative, [] { return std::make_unique<Greeter>(); })
