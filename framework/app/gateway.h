// Gateway: the composition root: the one place that names the concrete classes of all layers,
// constructs them in order and destroys them in reverse order (framework/README.md, Start and
// stop). Made, started and stopped by main()'s Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "app/config/config.h"
#include "app/generations.h"
#include "hosts/discovery.h"
#include "hosts/oauth/oauth_routes.h"
#include "hosts/route.h"
#include "wire/server.h"

namespace turnpike::app {

class Gateway {
 public:
  explicit Gateway(Config config);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Starts everything up to the listeners, each of which prints its line on standard output. The
  // error tells the operator what is wrong and what to do. If `refused_start` is serve_nothing, a
  // refused registry is an error, too.
  Result<Unit, std::string> start(RefusedStart refused_start);
  // Queues a reload on the control server's Thread: binding a plugin may wait, but this call does
  // not.
  void request_reload();
  // Called before stop(): /readyz answers 503 from now on, while the listeners stay open and calls
  // are served. Returns how long load balancers should get to stop sending, in ms.
  std::uint32_t begin_stop(std::string_view why);
  // Lets calls end for `drain_timeout_ms`, then ends everything; returns whether no call was cut.
  // Arms a LastResort, which ends the process `give_up_timeout_ms` after the drain, wherever it
  // hangs by then, including the destructor. Half of that time is for plugins to return. If one
  // does not, no object that it may still use can be destroyed: the ledger is stopped, and the
  // process exits from here.
  bool stop();
  // A sentence once the process cannot continue (the store can no longer be trusted).
  [[nodiscard]] std::optional<std::string> fatal() const;

 private:
  struct Parts;
  Result<Unit, std::string> open_stores();
  Result<Unit, std::string> start_runtime();
  Result<Unit, std::string> open_free_counts();
  Result<Unit, std::string> load_plugins();
  Result<Unit, std::string> open_commerce();
  Result<Unit, std::string> make_program_parts();
  void make_mcp_features();
  Result<Unit, std::string> bind_hosts();
  Result<Unit, std::string> open_people();
  Result<Unit, std::string> open_status();
  Result<Unit, std::string> reserve(const std::string& host, const std::string& listen,
                                    std::string& address, std::string& url);
  [[nodiscard]] hosts::DiscoverySettings discovery_settings() const;
  [[nodiscard]] std::string resource_metadata() const;
  [[nodiscard]] std::optional<hosts::oauth_server::OauthRooms> oauth_rooms();
  void open_public_pages();
  [[nodiscard]] std::vector<hosts::BoundRoute> web_routes() const;
  Result<Unit, std::string> make_hosts();
  void make_operator_host();
  Result<Unit, std::string> listen();
  Reloaded reload();
  std::string answer_control(const std::string& line);
  std::string answer_log_level(const std::string& level);
  void report_start(const std::vector<wire::ListenerAddress>& listeners);
  bool end_work(runtime::Deadline give_up);
  [[noreturn]] void give_up();

  const Config config_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace turnpike::app
