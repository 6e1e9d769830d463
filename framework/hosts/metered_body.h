// MeteredBody: reads the body of one request and takes its share of a ByteBudget as the bytes
// arrive. When the open part of the budget is full, a caller with a valid API key takes from the
// reserved part; the key is looked up only then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/limits.h"
#include "hosts/byte_budget.h"
#include "identity/authenticator.h"
#include "identity/bearer.h"
#include "wire/server.h"

namespace turnpike::hosts {

class MeteredBody final : public wire::BodyMeter {
 public:
  // All arguments outlive the object.
  MeteredBody(ByteBudget& budget, wire::Request& request, identity::Authenticator& authenticator)
      : share_(budget, request.peer_network()), request_(request), authenticator_(authenticator) {}

  [[nodiscard]] Result<std::string_view, base::Error> read(std::uint64_t bytes_max) noexcept {
    return request_.read_body(bytes_max, this);
  }

  [[nodiscard]] bool admit(std::uint64_t bytes) noexcept override {
    return share_.grow(bytes) || (is_known() && share_.grow_kept(*account_, bytes));
  }

  // Whether the sender has a valid API key.
  [[nodiscard]] bool is_known() noexcept {
    if (!has_looked_) account_ = look_up();
    has_looked_ = true;
    return account_.has_value();
  }

 private:
  // Returns the account of the key as a number; nothing without a valid key, or when keys cannot be
  // read now.
  [[nodiscard]] std::optional<std::uint64_t> look_up() noexcept {
    const identity::Bearer bearer = identity::read_bearer(request_.headers());
    if (bearer.form != identity::Authorization::bearer) return std::nullopt;
    try {
      const auto principal = authenticator_.authenticate(
          bearer.token, runtime::Deadline::after_ms(base::limits::authentication_timeout_ms),
          identity::Accepts::api_keys_and_access_tokens);
      if (!principal.ok()) return std::nullopt;
      if ((*principal)->account_status != identity::AccountStatus::active) return std::nullopt;
      return std::hash<std::string_view>()((*principal)->account_id);
    } catch (...) {  // out of memory
      return std::nullopt;
    }
  }

  ByteBudget::Share share_;
  wire::Request& request_;
  identity::Authenticator& authenticator_;
  bool has_looked_ = false;
  std::optional<std::uint64_t> account_;
};

}  // namespace turnpike::hosts
