// What is stored of passwords, and the port through which it is (storage/ implements it). A try is
// judged twice: before the password is hashed, so that who must wait costs no hash, and in the
// transaction that counts it, so of two at once the second is judged by what the first left behind.
// Failures in a row are counted with the browser, where the person has signed in with it before;
// else with the person; and with the login where nobody has a password by it, so that strangers
// learn of no login by its delays.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of all: auth.unavailable, with nothing changed.
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

// After so many failures in a row, only browsers in which the person has signed in before may try
// (NIST SP 800-63B-4, section 3.2.2).
inline constexpr std::int64_t password_failures_max = 100;

// How long the next try waits after so many failures in a row: 1 s after five, then twice as long
// each, 15 minutes at most.
constexpr std::int64_t password_delay_ms(std::int64_t failures) noexcept {
  constexpr std::int64_t free_failures = 5;
  constexpr std::int64_t delay_ms_max = 15 * 60'000;
  if (failures < free_failures) return 0;
  const std::int64_t doublings = std::min<std::int64_t>(failures - free_failures, 20);
  return std::min(std::int64_t{1'000} << doublings, delay_ms_max);
}

// Whose password is tried, and in which browser. One of login and person_id is set.
struct PasswordTry {
  std::string login = {};  // folded
  std::string person_id = {};
  std::optional<crypto::Sha256> device = {};  // of the browser's cookie; nothing: it has none
};

// What the password that came was compared with, and what came of it.
struct ComparedPassword {
  std::string hash;
  bool is_right = false;
  std::string rehashed = {};  // takes the place of the hash; empty: it stays
};

// The browser of a try that succeeded: it is known from now on.
struct KnownDevice {
  crypto::Sha256 digest{};
  std::int64_t valid_ms = 0;
};

struct NewPassword {
  std::string hash;
  std::optional<ComparedPassword> old = {};  // that was asked for
  bool replaces_any = false;                 // although none was
  bool ends_other_sessions = false;
};

// What a person can prove who they are with.
struct Credentials {
  std::int64_t passkeys = 0;
  bool has_password = false;
  std::int64_t recovery_codes = 0;  // that are not used
};

class PasswordStore {
 public:
  virtual ~PasswordStore() = default;

  [[nodiscard]] virtual Result<Credentials, base::Error> credentials(
      std::string_view person_id) = 0;
  // The hash to compare with; empty: there is none. auth.throttled: the try must wait.
  [[nodiscard]] virtual Result<std::string, base::Error> begin_try(const PasswordTry& tried) = 0;

  // Each counts a wrong password, clears what was counted after a right one, and then does its
  // work. auth.throttled, auth.sign_in_failed.
  [[nodiscard]] virtual Result<BegunSession, base::Error> sign_in(
      const PasswordTry& tried, const ComparedPassword& compared, const KnownDevice& device,
      const NewSession& session, const Actor& actor) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> step_up(const PasswordTry& tried,
                                                          const ComparedPassword& compared,
                                                          const KnownDevice& device,
                                                          const RenewedSession& session,
                                                          const Actor& actor) = 0;
  // auth.sign_in_failed, too: there is one, which was not asked for.
  [[nodiscard]] virtual Result<Unit, base::Error> set(const PasswordTry& tried,
                                                      const NewPassword& password,
                                                      const KnownDevice& device,
                                                      const RenewedSession& session,
                                                      const Actor& actor) = 0;

  // Renews the session. False: the person has none. identity.last_credential.
  [[nodiscard]] virtual Result<bool, base::Error> remove(std::string_view person_id,
                                                         const RenewedSession& session,
                                                         const Actor& actor) = 0;
};

}  // namespace turnpike::identity
