// Stored password data and its port (storage/ implements it). A try is checked twice:
// before the password is hashed, so that a throttled try costs no hash, and again in the
// transaction that counts it, so that the second of two concurrent tries sees the count of the
// first. Consecutive failures are counted per browser, if the person has signed in with it before;
// else per person; and per login if no person with a password has it, so that delays do not reveal
// which logins exist.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of every function: auth.unavailable, with nothing changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/audit.h"
#include "identity/session.h"

namespace turnpike::identity {

// After so many consecutive failures, only browsers in which the person has signed in before may
// try (NIST SP 800-63B-4, section 3.2.2).
inline constexpr std::int64_t password_failures_max = 100;

// Delay before the next try after so many consecutive failures: 1 s after five, doubled with each
// further failure, at most 15 minutes.
constexpr std::int64_t password_delay_ms(std::int64_t failures) noexcept {
  constexpr std::int64_t free_failures = 5;
  constexpr std::int64_t delay_ms_max = 15 * 60'000;
  if (failures < free_failures) return 0;
  const std::int64_t doublings = std::min<std::int64_t>(failures - free_failures, 20);
  return std::min(std::int64_t{1'000} << doublings, delay_ms_max);
}

// The person or login whose password is tried, and the browser. Exactly one of login and person_id
// is set.
struct PasswordTry {
  std::string login = {};  // folded
  std::string person_id = {};
  std::optional<crypto::Sha256> device = {};  // digest of the browser's cookie; nullopt: no cookie
};

// The stored hash that a password was compared with, and the result.
struct ComparedPassword {
  std::string hash;
  bool is_right = false;
  std::string rehashed = {};  // replaces the hash; empty: no rehash
};

// The browser of a successful try, which is remembered.
struct KnownDevice {
  crypto::Sha256 digest{};
  std::int64_t valid_ms = 0;
};

struct NewPassword {
  std::string hash;
  std::optional<ComparedPassword> old = {};  // result for the current password
  bool replaces_any = false;                 // sets the password without the current one
  bool ends_other_sessions = false;
};

// The credentials that a person has.
struct Credentials {
  std::int64_t passkeys = 0;
  bool has_password = false;
  std::int64_t recovery_codes = 0;  // unused ones
};

class PasswordStore {
 public:
  virtual ~PasswordStore() = default;

  [[nodiscard]] virtual Result<Credentials, base::Error> credentials(
      std::string_view person_id) = 0;
  // Returns the hash to compare with; empty: the person has no password. auth.throttled: the try
  // must wait.
  [[nodiscard]] virtual Result<std::string, base::Error> begin_try(const PasswordTry& tried) = 0;

  // Each function counts a wrong password, or clears the count after a right one and then does its
  // work. auth.throttled, auth.sign_in_failed.
  [[nodiscard]] virtual Result<BegunSession, base::Error> sign_in(
      const PasswordTry& tried, const ComparedPassword& compared, const KnownDevice& device,
      const NewSession& session, const Actor& actor) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> step_up(const PasswordTry& tried,
                                                          const ComparedPassword& compared,
                                                          const KnownDevice& device,
                                                          const RenewedSession& session,
                                                          const Actor& actor) = 0;
  // Also auth.sign_in_failed: the person has a password that `password.old` does not cover.
  [[nodiscard]] virtual Result<Unit, base::Error> set(const PasswordTry& tried,
                                                      const NewPassword& password,
                                                      const KnownDevice& device,
                                                      const RenewedSession& session,
                                                      const Actor& actor) = 0;

  // Renews the session. False: the person has no password. identity.last_credential.
  [[nodiscard]] virtual Result<bool, base::Error> remove(std::string_view person_id,
                                                         const RenewedSession& session,
                                                         const Actor& actor) = 0;
};

}  // namespace turnpike::identity
