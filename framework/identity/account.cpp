#include "identity/account.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

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

std::shared_ptr<const Principal> make_principal(const Principal& principal) {
  static_assert(std::is_trivially_copyable_v<Principal>);
  const std::size_t text_bytes = principal.principal_id.size() + principal.account_id.size();
  // The texts stand in the place of the further ones.
  const std::size_t places = 1 + (text_bytes + sizeof principal - 1) / sizeof principal;
  std::shared_ptr<Principal[]> block = std::make_shared<Principal[]>(places);
  Principal& kept = block[0] = principal;
  char* at = reinterpret_cast<char*>(block.get() + 1);
  for (std::string_view* text : {&kept.principal_id, &kept.account_id}) {
    const char* const from = std::exchange(*text, {at, text->size()}).data();
    at = std::copy_n(from, text->size(), at);
  }
  return {std::move(block), &kept};
}

}  // namespace turnpike::identity
