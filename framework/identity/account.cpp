#include "identity/account.h"

#include <array>

namespace turnpike::identity {
namespace {

constexpr std::array<std::string_view, 5> status_names{
    "provisioning", "active", "provisioning_failed", "suspended", "closed"};
constexpr std::array<std::string_view, 3> environment_names{"development", "staging", "production"};
constexpr std::array<std::string_view, 3> token_parts{"dev", "stg", "prd"};

}  // namespace

std::string_view name_of(AccountStatus status) noexcept {
  return status_names[static_cast<std::size_t>(status)];
}

std::optional<AccountStatus> account_status(std::string_view name) noexcept {
  for (std::size_t at = 0; at < status_names.size(); ++at) {
    if (status_names[at] == name) return static_cast<AccountStatus>(at);
  }
  return std::nullopt;
}

std::string_view name_of(Environment environment) noexcept {
  return environment_names[static_cast<std::size_t>(environment)];
}

std::string_view token_part(Environment environment) noexcept {
  return token_parts[static_cast<std::size_t>(environment)];
}

std::optional<Environment> environment(std::string_view name) noexcept {
  for (const Environment each :
       {Environment::development, Environment::staging, Environment::production}) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

}  // namespace turnpike::identity
