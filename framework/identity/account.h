// Accounts and API keys, and the ports through which they are stored (storage/ implements them) and
// authenticated. Values; ports are called from the blocking pool or a plain Thread and may block.
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
  std::string owner = {};  // subject it belongs to; empty: not known
};

enum class Environment : std::uint8_t { development, staging, production };
std::string_view name_of(Environment environment) noexcept;     // "development"
std::string_view token_part(Environment environment) noexcept;  // "dev", "stg", "prd"
std::optional<Environment> environment(std::string_view name) noexcept;

// Credits a key may spend in a UTC day and a UTC month; nothing: no cap.
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
  std::optional<std::int64_t> expires_at_ms;  // nothing: it never does
};

}  // namespace turnpike::identity
