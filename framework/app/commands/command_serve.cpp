// serve: runs the gateway as a Poco server application: SIGTERM and SIGINT stop it, SIGHUP reloads
// it.
#include <Poco/Util/ServerApplication.h>

#include <csignal>
#include <iostream>
#include <optional>

#include "app/commands/command_line.h"
#include "app/gateway.h"
#include "runtime/fault.h"
#include "runtime/signals.h"

namespace turnpike::app {
namespace {

class ServerProcess final : public Poco::Util::ServerApplication {
 public:
  ServerProcess(Config config, RefusedStart refused_start, const CommonOptions& options)
      : config_(std::move(config)), refused_start_(refused_start), options_(options) {}

 protected:
  int main(const std::vector<std::string>&) override {
    runtime::name_fatal_signals();
    // Made before any thread starts, so that threads inherit the blocked signals.
    runtime::SignalSource signals({SIGTERM, SIGINT, SIGHUP});
    Gateway gateway(config_);
    const auto started = gateway.start(refused_start_);
    if (!started.ok()) {
      gateway.stop();
      return print_failure(options_, started.error());
    }
    const auto ended_by = wait_for_end(signals, runtime::Deadline::never(), &gateway);
    const auto unready_ms =
        gateway.begin_stop(gateway.fatal().value_or(ended_by == SIGINT ? "SIGINT" : "SIGTERM"));
    // Load balancers stop sending meanwhile; a second signal skips the wait.
    wait_for_end(signals, runtime::Deadline::after_ms(unready_ms), nullptr);
    const bool whole = gateway.stop();
    if (const auto reason = gateway.fatal()) return print_failure(options_, *reason);
    return whole ? exit_done : exit_failed;
  }

 private:
  // Returns the signal that ends the process; none: the deadline passed. SIGHUP reloads `gateway`,
  // if any.
  static std::optional<int> wait_for_end(runtime::SignalSource& signals, runtime::Deadline deadline,
                                         Gateway* gateway) {
    for (;;) {
      const auto signal = signals.wait(deadline);
      if (signal != SIGHUP) return signal;
      if (gateway != nullptr) gateway->request_reload();
    }
  }

  const Config config_;
  const RefusedStart refused_start_;
  const CommonOptions& options_;
};

}  // namespace

int run_serve(const CommonOptions& options, bool strict_registry) {
  auto config = load_config(options);
  if (!config) return exit_failed;
  const auto refused_start =
      strict_registry ? RefusedStart::serve_nothing : RefusedStart::serve_last_installed;
  ServerProcess process(*std::move(config), refused_start, options);
  return process.run(std::vector<std::string>{"turnpike"});
}

}  // namespace turnpike::app
