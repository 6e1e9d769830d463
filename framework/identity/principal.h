// Principal: the authenticated caller of a request, whatever the credential. Hosts, the exchange
// and lanes see callers in this form alone and derive all permissions from it.
//
// Values, immutable once made; safe on any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/principal.h>

#include "base/enum_set.h"
#include "identity/account.h"

namespace turnpike::identity {

// A permission that principals are granted one by one. None implies another.
enum class Authority : std::uint8_t {
  usage_correct,    // to correct the charge of a call
  status_annotate,  // to annotate the status pages
  console_read,     // to read the pages of the operator console
};
inline constexpr Authority all_authorities[] = {
    Authority::usage_correct, Authority::status_annotate, Authority::console_read};
std::string_view name_of(Authority authority) noexcept;  // "usage.correct"
std::optional<Authority> authority(std::string_view name) noexcept;

using Authorities = base::EnumSet<Authority>;
// "usage.correct"; several are separated by blanks.
std::string text_of(Authorities authorities);

// A person's role in an account; each role includes those before it.
enum class Role : std::uint8_t { member, admin, owner };
std::string_view name_of(Role role) noexcept;
std::optional<Role> role(std::string_view name) noexcept;

// Authentication strength of a session.
enum class Standing : std::uint8_t {
  enrolling,  // begun with a link: the session may only enrol a credential
  signed_in,
  stepped_up,  // the person authenticated again recently
};

struct Principal {
  PrincipalKind kind = PrincipalKind::api_key;
  bool is_capped = false;  // the spending is counted, see ledger/caps.h
  AccountStatus account_status = AccountStatus::active;
  Authorities authorities = {};
  // For a person: `role` is their role in the account `account_id`; nullopt: none.
  Standing standing = Standing::enrolling;
  std::optional<Role> role = {};
  std::string_view id;               // of the key, the person, ...; unique within its kind
  std::string_view account_id = {};  // empty: the principal acts for no account, or for several
  std::string_view session_id = {};  // of a person

  // Logs and usage show it as the key: id of the API key or of the grant. Otherwise empty.
  [[nodiscard]] constexpr std::string_view key_id() const noexcept {
    return kind == PrincipalKind::api_key || kind == PrincipalKind::grant ? id : std::string_view();
  }
};
// Stores the texts beside the principal in one block of memory: a call reads all of them, and they
// are rarely in the cache.
std::shared_ptr<const Principal> make_principal(const Principal& principal);

// A principal's name in documents: "key:<id>".
std::string text_of(const Principal& principal);

}  // namespace turnpike::identity
