// Configuration: the checked settings of one HTTP upstream, as README.md lists them. An unknown key
// is an error whose message suggests the nearest known key. Messages never contain a secret.
//
// Made by bind(), owned by the Upstream. Immutable; any Thread may read it.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <turnpike/message.h>
#include <turnpike/provider.h>
#include <turnpike/result.h>

#include "http/breaker.h"
#include "http/path_template.h"

namespace turnpike::http {

// Statuses from 500 to 599 that mean that the upstream fails regardless of the request.
class FailureStatuses {
 public:
  static constexpr int lowest = 500;
  static constexpr int highest = 599;

  void add(int status) { statuses_.set(static_cast<std::size_t>(status - lowest)); }
  [[nodiscard]] bool has(int status) const noexcept {
    return status >= lowest && status <= highest &&
           statuses_[static_cast<std::size_t>(status - lowest)];
  }

 private:
  std::bitset<highest - lowest + 1> statuses_;
};

struct Configuration {
  std::string upstream_id;
  std::string base_url;                     // without a trailing slash
  std::vector<OwnedHeader> headers;         // fixed headers, User-Agent and the credential's header
  std::vector<OwnedHeader> public_headers;  // those of `headers` that hold no secret
  std::string credential_parameter;         // name of the query parameter; empty: none
  std::string credential_query;             // "name=value", encoded
  std::vector<std::string> secrets;         // as sent; removed from reply headers and failures
  bool lacks_credential = false;

  std::uint32_t connect_timeout_ms = 3'000;
  std::uint32_t total_timeout_ms = 0;  // 0: only the call's deadline applies
  std::uint32_t connections_max = 0;   // 0: the gateway's limit
  bool allow_private_addresses = false;

  std::uint32_t attempts_max = 2;
  std::uint32_t backoff_ms = 50;
  std::uint32_t retry_budget_percent = 10;

  BreakerTerms breaker;

  std::string probe_path = "/";
  int probe_status = 0;  // 0: any below 500 except 401 to 403 and 429
  bool probe_has_credential = false;  // from the registry: Binding::probe_uses_credential

  enum class Retry : std::uint8_t {
    unsent,  // retry a GET that the upstream has certainly not seen
    safe,    // retry any call, even one that the upstream may have seen
    never,
  };
  struct Operation {
    std::string name;  // "GET /v1/gateway/acme/items/{id}"
    PathTemplate path;
    Retry retry = Retry::unsent;
    FailureStatuses failure_statuses;
  };
  std::vector<Operation> operations;
};

// A Failure lists all mistakes (turnpike/helpers/mistakes.h). Mistakes in a route's settings are
// listed under its operation.
Result<Configuration> read_configuration(const Binding& binding);

}  // namespace turnpike::http
