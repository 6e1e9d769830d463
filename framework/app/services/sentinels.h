// Sentinels: what the gateway asks itself, over its own listeners and as a caller would, so that
// its status is what callers meet and not what it believes of itself. They cost nothing: none
// reaches an upstream, a lane's funds or an account.
//
//   healthz          the API host answers
//   catalog          a catalog page of the generation in service
//   key_refused      a key with a wrong checksum is refused with 401
//   x402_challenge   an unpaid call is answered 402 with terms; where something is sold per call
//   mcp_ping         the MCP host answers a ping
//   web_login        the web host shows its page for signing in
//   database         the ledger's database answers
//
// Owned by StatusServices; look() runs on a fiber and waits for its reply.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

#include "app/serving.h"
#include "ledger/escrow_ledger.h"
#include "runtime/deadline.h"
#include "status/look.h"

namespace turnpike::app {

class Sentinels {
 public:
  struct Parts {
    Http& http;
    const ledger::EscrowLedger& ledger;
    Random& random;
    identity::Environment environment;
    // Where they listen, "http://127.0.0.1:8402"; empty: not served, or not for this caller.
    std::string api_url;
    std::string mcp_url;
    std::string web_url;
  };

  explicit Sentinels(Parts parts) : parts_(std::move(parts)) {}

  // The checks that this deployment has, with that program, by name.
  [[nodiscard]] std::vector<std::string> checks(const InService& program) const;
  // REQUIRES: one of them.
  [[nodiscard]] status::Look look(std::string_view check, const InService& program,
                                  runtime::Deadline deadline) const;

 private:
  struct Answer;
  [[nodiscard]] Answer ask(const HttpRequest& request, runtime::Deadline deadline) const;
  [[nodiscard]] status::Look database() const;

  const Parts parts_;
};

// The address of a listener as this machine reaches it: "0.0.0.0:80" is "http://127.0.0.1:80".
std::string own_url(std::string_view bound_address);

}  // namespace turnpike::app
