// The machine-readable documents of the web host: the list of APIs and their descriptions (RFC
// 9727), the address of the MCP host, and the capabilities that can be called now, for programs
// that choose by themselves. The composition root binds these rows (web/web_host.h).
//
// Rows are constants; the rooms are owned by app/ and outlive the host. Called on the fibers of all
// loop Threads.
#pragma once

#include <span>

#include "hosts/backend.h"
#include "hosts/discovery.h"
#include "hosts/route.h"
#include "runtime/pool.h"

namespace turnpike::hosts {

class DiscoveryRooms {
 public:
  // All parts outlive the rooms.
  DiscoveryRooms(Backend& backend, const Discovery& discovery, runtime::BlockingPool& pool);

  // Sends the document at the path of the request; 404 where its subject is not configured.
  void publish(Turn& turn) const;
  // 503 registry.unavailable without a program, gateway.overloaded when the document cannot be made
  // now.
  void agent_capabilities(Turn& turn) const;

 private:
  Backend& backend_;
  const Discovery& discovery_;
  runtime::BlockingPool& pool_;
  runtime::PoolUser pool_user_;
};

std::span<const Route<DiscoveryRooms>> discovery_routes() noexcept;

}  // namespace turnpike::hosts
