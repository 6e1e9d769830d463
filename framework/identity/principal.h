// Principal: who speaks in a request, whichever credential said so. Hosts, the exchange and lanes
// know callers in this form alone, and what a caller may do is read from it.
//
// Values, immutable once made; any Thread.
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

// Something that not every principal may do. None implies another.
enum class Authority : std::uint8_t {
  usage_correct,    // to correct what a call was charged
  status_annotate,  // to say words on the status
  console_read,     // to read the pages of the operator console
};
inline constexpr Authority all_authorities[] = {
    Authority::usage_correct, Authority::status_annotate, Authority::console_read};
std::string_view name_of(Authority authority) noexcept;  // "usage.correct"
std::optional<Authority> authority(std::string_view name) noexcept;

using Authorities = base::EnumSet<Authority>;
// "usage.correct", with blanks between several.
std::string text_of(Authorities authorities);

// What a person may do in an account; each role includes those before it.
enum class Role : std::uint8_t { member, admin, owner };
std::string_view name_of(Role role) noexcept;
std::optional<Role> role(std::string_view name) noexcept;

// How far a session is believed.
enum class Standing : std::uint8_t {
  enrolling,  // begun with a link: it may only enrol a credential
  signed_in,
  stepped_up,  // the person has just proved again who they are
};

struct Principal {
  PrincipalKind kind = PrincipalKind::api_key;
  bool is_capped = false;  // its spending is counted, see ledger/caps.h
  AccountStatus account_status = AccountStatus::active;
  Authorities authorities = {};
  // Of a person. Their role is that in the account of `account_id`; nothing: they have none there.
  Standing standing = Standing::enrolling;
  std::optional<Role> role = {};
  std::string_view id;               // of the key, the person, ...; unique within its kind
  std::string_view account_id = {};  // empty: it speaks for none, or for several
  std::string_view session_id = {};  // of a person

  // What logs and usage show in the place of a key: the key, or the grant. Otherwise empty.
  [[nodiscard]] constexpr std::string_view key_id() const noexcept {
    return kind == PrincipalKind::api_key || kind == PrincipalKind::grant ? id : std::string_view();
  }
};
// Keeps the texts beside the principal, in one block: a call reads them all, from memory that no
// other call has touched of late.
std::shared_ptr<const Principal> make_principal(const Principal& principal);

// The name of a principal in documents: "key:<id>".
std::string text_of(const Principal& principal);

}  // namespace turnpike::identity
