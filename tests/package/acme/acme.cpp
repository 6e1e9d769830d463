// A provider as an external author writes it: answers with a greeting from its settings.
#include <turnpike/plugin.h>

namespace {

using namespace turnpike;

class AcmeUpstream final : public Upstream {
 public:
  AcmeUpstream(std::string greeting, Host& host) : greeting_(std::move(greeting)), host_(host) {}

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call&) override {
    std::string body = "{\"greeting\":\"" + greeting_ + "\",\"name\":\"";
    if (!request.parameters.empty()) body += request.parameters[0].raw;
    body += "\"}";
    host_.report().count("greetings", 1);
    const HeaderField type{"Content-Type", "application/json"};
    if (sink.head(200, {&type, 1}, body.size())) sink.body(body);
    return Unit{};
  }
  [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
  Done probe(Call&) override { return Unit{}; }

 private:
  const std::string greeting_;
  Host& host_;
};

class AcmeProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host& host) override {
    if (const Done known = binding.settings.only({"greeting"}); !known.ok()) return known.error();
    auto greeting = binding.settings.string("greeting", "hello");
    if (!greeting.ok()) return std::move(greeting).error();
    return std::unique_ptr<Upstream>(std::make_unique<AcmeUpstream>(*std::move(greeting), host));
  }
};

}  // namespace

TURNPIKE_PROVIDER("acme", "0.3.0", cooperative, [] { return std::make_unique<AcmeProvider>(); })
