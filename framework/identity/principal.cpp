#include "identity/principal.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace turnpike::identity {

std::string_view name_of(Authority authority) noexcept {
  switch (authority) {
    case Authority::usage_correct:
      return "usage.correct";
    case Authority::status_annotate:
      return "status.annotate";
    case Authority::console_read:
      return "console.read";
  }
  return "";
}

std::optional<Authority> authority(std::string_view name) noexcept {
  for (const Authority each : all_authorities) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

std::string_view name_of(Role role) noexcept {
  constexpr std::string_view names[] = {"member", "admin", "owner"};
  return names[static_cast<std::size_t>(role)];
}

std::optional<Role> role(std::string_view name) noexcept {
  for (const Role each : {Role::member, Role::admin, Role::owner}) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

std::string text_of(Authorities authorities) {
  std::string text;
  for (const Authority each : all_authorities) {
    if (authorities.has(each)) text.append(text.empty() ? "" : " ").append(name_of(each));
  }
  return text;
}

std::shared_ptr<const Principal> make_principal(const Principal& principal) {
  static_assert(std::is_trivially_copyable_v<Principal>);
  const std::size_t text_bytes =
      principal.id.size() + principal.account_id.size() + principal.session_id.size();
  // The texts occupy the storage of the array elements after the first.
  const std::size_t places = 1 + (text_bytes + sizeof principal - 1) / sizeof principal;
  std::shared_ptr<Principal[]> block = std::make_shared<Principal[]>(places);
  Principal& kept = block[0] = principal;
  char* at = reinterpret_cast<char*>(block.get() + 1);
  for (std::string_view* text : {&kept.id, &kept.account_id, &kept.session_id}) {
    const char* const from = std::exchange(*text, {at, text->size()}).data();
    at = std::copy_n(from, text->size(), at);
  }
  return {std::move(block), &kept};
}

std::string text_of(const Principal& principal) {
  std::string text(name_of(principal.kind));
  return text.append(":").append(principal.id);
}

}  // namespace turnpike::identity
