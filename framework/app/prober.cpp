#include "app/prober.h"

#include "exchange/live_call.h"

namespace turnpike::app {
namespace {

constexpr std::int64_t probe_timeout_ms = 3'000;

}  // namespace

Prober::Prober(runtime::Runtime& runtime, const Serving& serving, exchange::CallReports& reports,
               std::uint32_t interval_ms)
    : serving_(serving), reports_(reports), interval_ms_(interval_ms) {
  fiber_ = runtime.loops().front()->spawn([this] { run(); }, runtime::FiberKind::background);
}

Prober::~Prober() {
  cancel();
  (void)has_ended(runtime::Deadline::never());
}

void Prober::run() {
  runtime::Fiber::current()->set_name("prober");
  while (runtime::sleep_until(runtime::Deadline::after_ms(interval_ms_)) ==
         runtime::Wake::deadline) {
    probe_all();
  }
  ended_.set();
}

void Prober::probe_all() {
  const auto program = serving_.current();
  if (program == nullptr) return;
  const exchange::Service& service = *program->service;
  const registry::Program& installed = service.program();
  for (std::uint32_t at = 0; at < installed.upstreams().size(); ++at) {
    exchange::LiveCall call("", runtime::Deadline::after_ms(probe_timeout_ms), nullptr);
    const Done done = service.upstream(at).upstream->probe(call);
    if (runtime::cancelled()) return;
    const registry::Upstream& upstream = installed.upstreams()[at];
    reports_.of(installed.providers()[upstream.provider].key, upstream.id)
        .probed(done, runtime::now_ns());
  }
}

}  // namespace turnpike::app
