// Sentinels: requests that the gateway sends to itself, through its own listeners like a caller, so
// that its status shows what callers experience. They cost nothing: none reaches an upstream, a
// lane's funds or an account.
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
#include "ledger/escrow/escrow_ledger.h"
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
    // URLs of the listeners, "http://127.0.0.1:8402"; empty: not served, or closed to this caller.
    std::string api_url;
    std::string mcp_url;
    std::string web_url;
  };

  explicit Sentinels(Parts parts) : parts_(std::move(parts)) {}

  // Returns the names of the checks that this deployment has with that program.
  [[nodiscard]] std::vector<std::string> checks(const InService& program) const;
  // REQUIRES: `check` is one of checks().
  [[nodiscard]] status::Look look(std::string_view check, const InService& program,
                                  runtime::Deadline deadline) const;

 private:
  struct Answer;
  [[nodiscard]] Answer ask(const HttpRequest& request, runtime::Deadline deadline) const;
  [[nodiscard]] status::Look database() const;

  const Parts parts_;
};

// Returns the URL of a listener on this machine: "0.0.0.0:80" is "http://127.0.0.1:80".
std::string own_url(std::string_view bound_address);

}  // namespace turnpike::app
