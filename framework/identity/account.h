// Accounts, API keys and the environments that both belong to, as values. Safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace turnpike::identity {

enum class AccountStatus : std::uint8_t {
  provisioning,
  active,
  provisioning_failed,
  suspended,
  closed
};
std::string_view name_of(AccountStatus status) noexcept;
std::optional<AccountStatus> account_status(std::string_view name) noexcept;

struct Account {
  std::string id;
  std::string name;
  AccountStatus status = AccountStatus::provisioning;
  std::int64_t created_at_ms = 0;
  std::string owner = {};  // id of the owning subject; empty: unknown
};

enum class Environment : std::uint8_t { development, staging, production };
std::string_view name_of(Environment environment) noexcept;     // "development"
std::string_view token_part(Environment environment) noexcept;  // "dev", "stg", "prd"
std::optional<Environment> environment(std::string_view name) noexcept;

// Credits that a key may spend per UTC day and per UTC month; nullopt: no cap.
struct SpendCaps {
  std::optional<std::int64_t> per_day;
  std::optional<std::int64_t> per_month;
  [[nodiscard]] bool any() const noexcept { return per_day || per_month; }
};

struct ApiKey {
  std::string id;
  std::string account_id;
  std::string name;
  Environment environment = Environment::development;
  std::string prefix;  // first 24 characters of the token
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms;
  std::optional<std::int64_t> revoked_at_ms;
  SpendCaps caps;
  std::optional<std::int64_t> expires_at_ms;  // nullopt: never
};

}  // namespace turnpike::identity
