// PluginIntake: requests to the paths that plugins declare below /v1/plugins/ (turnpike/offers.h),
// such as the notices of a payment processor. The gateway reads the whole request, within the
// plugin's bound, and sends the plugin's answer. The plugin itself authenticates the sender. A
// gateway credential in such a request is not passed to the plugin.
//
// Owned by the API host; receive() on the fibers of all loop Threads, stop() on any Thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "hosts/byte_budget.h"
#include "hosts/plugin_paths.h"
#include "hosts/turn.h"
#include "runtime/in_flight.h"

namespace turnpike::hosts::api {

class PluginIntake {
 public:
  static constexpr std::uint32_t at_once_max = 64;  // concurrent requests of one plugin

  // `bodies`: the budget of all requests to the host.
  PluginIntake(PluginPaths& plugin_paths, identity::Authenticator& authenticator,
               ByteBudget& bodies)
      : plugin_paths_(plugin_paths), authenticator_(authenticator), bodies_(bodies) {}

  void receive(Turn& turn);
  // Cancels the requests that plugins work on: the gateway stops.
  void stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

 private:
  void answer(Turn& turn, const Intake& intake, Method method, std::string_view body);
  runtime::InFlight& in_flight_of(std::string_view plugin);

  PluginPaths& plugin_paths_;
  identity::Authenticator& authenticator_;
  ByteBudget& bodies_;
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::map<std::string, runtime::InFlight, std::less<>> in_flight_;  // by name of the plugin
};

}  // namespace turnpike::hosts::api
