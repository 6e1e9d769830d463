// Recovery codes: single-use codes by which a person who lost every other credential signs in, to
// enrol a new one. A person has eight; new codes invalidate the old ones. Each has 128 random bits,
// so its digest needs no slow hash, and the statement that finds it consumes it.
//
// RecoveryCodes is owned by app/ and safe for concurrent use; it asks the store: call it from the
// blocking pool or a plain Thread. RecoveryCodeStore is the port (storage/ implements it).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/sign_in.h"

namespace turnpike::identity {

// Errors of every function: auth.unavailable, with nothing changed.
class RecoveryCodeStore {
 public:
  virtual ~RecoveryCodeStore() = default;
  // Invalidates the person's codes and renews the session.
  [[nodiscard]] virtual Result<Unit, base::Error> replace(
      const std::vector<crypto::Sha256>& digests, const RenewedSession& session,
      const Actor& actor) = 0;
  // Consumes the code and begins the session. auth.sign_in_failed.
  [[nodiscard]] virtual Result<BegunSession, base::Error> sign_in(std::string_view login,
                                                                  const crypto::Sha256& digest,
                                                                  const NewSession& session,
                                                                  const Actor& actor) = 0;
};

struct CreatedCodes {
  std::vector<std::string> codes;  // never stored, never shown again
  std::string token;               // the session's new token
};

class RecoveryCodes {
 public:
  static constexpr std::size_t count = 8;

  struct Parts {
    RecoveryCodeStore& store;
    Tries& tries;
    Sessions& sessions;
    Random& random;
  };
  explicit RecoveryCodes(Parts parts) : parts_(parts) {}

  [[nodiscard]] Result<CreatedCodes, base::Error> create(const Actor& actor);
  // auth.sign_in_failed, the same for an unknown login; auth.throttled.
  [[nodiscard]] Result<SignedIn, base::Error> sign_in(std::string_view login, std::string_view code,
                                                      const Actor& actor);

 private:
  const Parts parts_;
};

// "7k3q-0m9x-...": 26 digits of Crockford's base32, which has no look-alike letters, in groups that
// are easy to type.
[[nodiscard]] std::string recovery_code_text(const std::array<std::uint8_t, 16>& bits);
// Extracts the digits of a typed code: ignores case, blanks and hyphens, and reads O, I and L as
// the digits that they resemble. Empty: not a recovery code.
[[nodiscard]] std::string read_recovery_code(std::string_view text);

}  // namespace turnpike::identity
