// Passwords: the rules for choosing, changing and proving a password. A password alone signs a
// person in and counts as a step-up, so it must be long and is rated before it is accepted; there
// are no rules on its characters, and it does not expire. Wrong passwords delay the next try by at
// most a quarter of an hour; other ways to sign in are not delayed.
//
// Owned by app/; safe for concurrent use. Hashes and asks the store: call it from a share of the
// blocking pool that bounds how many hashes run at once, or a plain Thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/password_hash.h"
#include "identity/password_store.h"
#include "identity/person.h"
#include "identity/sign_in.h"

namespace turnpike::identity {

// A session that a password began or renewed, and the cookie value that identifies the browser
// later.
struct PasswordSession {
  SignedIn signed_in;
  std::string device;  // secret, for this browser's cookie only
};

struct PasswordWish {
  // nullopt: not given. Required if the person has a password, except in a session that may only
  // enrol: its person may have forgotten the password.
  std::optional<std::string> current = {};
  std::string wanted;
  bool ends_other_sessions = false;
};

class Passwords {
 public:
  static constexpr std::int64_t device_ms = 365 * 24 * 3'600'000ll;

  struct Settings {
    bool is_enabled = false;
    std::size_t bytes_min = 15;
    crypto::PasswordCost cost = {};
    std::string site_name = {};  // counts as easy to guess within a password
  };
  struct Parts {
    PasswordStore& store;
    PeopleStore& people;
    Tries& tries;
    Sessions& sessions;
    Random& random;
  };
  Passwords(Parts parts, Settings settings);

  [[nodiscard]] bool are_enabled() const noexcept { return settings_.is_enabled; }
  [[nodiscard]] std::size_t bytes_min() const noexcept { return settings_.bytes_min; }

  // Does not hash, so any share of the pool may call it.
  [[nodiscard]] Result<Credentials, base::Error> credentials(std::string_view person_id) {
    return parts_.store.credentials(person_id);
  }

  // `device` of each function: the value of the browser's cookie, or any other text if it has none.
  // Errors of every function: auth.method_disabled, auth.overloaded.

  // auth.sign_in_failed, with the same text and after the same time for an unknown login;
  // auth.throttled.
  [[nodiscard]] Result<PasswordSession, base::Error> sign_in(std::string_view login,
                                                             const std::string& password,
                                                             std::string_view device,
                                                             const Actor& actor);
  // Proves the signed-in person again. auth.sign_in_failed, auth.throttled.
  [[nodiscard]] Result<PasswordSession, base::Error> step_up(const std::string& password,
                                                             std::string_view device,
                                                             const Actor& actor);
  // `standing` of the session: enrolling or stepped up; an enrolling session takes the password's
  // method and strength. identity.password_rejected: says why, and what would be accepted.
  // request.body_rejected: the current password is missing. auth.sign_in_failed, auth.throttled.
  [[nodiscard]] Result<PasswordSession, base::Error> set(const PasswordWish& wish,
                                                         Standing standing,
                                                         std::string_view device,
                                                         const Actor& actor);
  // Returns the session's new token. Allowed even where passwords are disabled. request.not_found,
  // identity.last_credential.
  [[nodiscard]] Result<std::string, base::Error> remove(const Actor& actor);

 private:
  struct Device {
    std::string text;
    crypto::Sha256 digest{};
  };
  [[nodiscard]] static std::optional<crypto::Sha256> known(std::string_view device);
  [[nodiscard]] Device device_for(std::string_view device) const;
  [[nodiscard]] Result<ComparedPassword, base::Error> compare(const PasswordTry& tried,
                                                              const std::string& password) const;
  [[nodiscard]] Result<std::string, base::Error> hash(const std::string& password) const;
  [[nodiscard]] std::optional<base::Error> why_rejected(const std::string& password,
                                                        const Person& person) const;
  [[nodiscard]] Result<std::optional<ComparedPassword>, base::Error> compare_current(
      const PasswordWish& wish, Standing standing, const PasswordTry& tried,
      const Actor& actor) const;

  const Parts parts_;
  const Settings settings_;
  const std::string hash_of_nobody_;
};

// The methods by which a person with these credentials can step up: "passkey", "password".
[[nodiscard]] std::vector<std::string_view> step_up_methods(const Credentials& credentials,
                                                            const Passwords& passwords);

}  // namespace turnpike::identity
