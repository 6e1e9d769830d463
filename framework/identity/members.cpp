#include "identity/members.h"

namespace turnpike::identity {

std::optional<base::Error> role_refusal(std::optional<Role> role, Role needed) {
  if (!role) {
    return base::Error{base::ErrorCode::account_forbidden,
                       "You are not a member of this billing account."};
  }
  if (*role >= needed) return std::nullopt;
  return base::Error{base::ErrorCode::auth_role_missing,
                     "This needs the role " + std::string(name_of(needed)) +
                         " in the billing account; yours is " + std::string(name_of(*role)) + "."};
}

}  // namespace turnpike::identity
