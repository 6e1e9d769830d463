// Passwords: the rules by which people choose, change and prove one. A password alone signs a
// person in and counts as a fresh proof, so it is long, and weighed before it is taken; nothing is
// said about which characters it has, and it does not age. Wrong ones make the next try wait, for
// nobody for more than a quarter of an hour; other ways to sign in never wait for it.
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

// A session that a password began or renewed, and what its browser is known by from now on.
struct PasswordSession {
  SignedIn signed_in;
  std::string device;  // for the cookie of one browser alone
};

struct PasswordWish {
  // Nothing: the person did not say it. It is asked for where there is one, but not of a session
  // that may only enrol: its person may have forgotten it.
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
    std::string site_name = {};  // which no password should be made of
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

  // Hashes nothing, so any share of the pool will do.
  [[nodiscard]] Result<Credentials, base::Error> credentials(std::string_view person_id) {
    return parts_.store.credentials(person_id);
  }

  // `device` of each: the value of the browser's cookie, or anything else where it has none. Errors
  // of all: auth.method_disabled, auth.overloaded.

  // auth.sign_in_failed, the same for a login that nobody has, and after the same time;
  // auth.throttled.
  [[nodiscard]] Result<PasswordSession, base::Error> sign_in(std::string_view login,
                                                             const std::string& password,
                                                             std::string_view device,
                                                             const Actor& actor);
  // The same person again. auth.sign_in_failed, auth.throttled.
  [[nodiscard]] Result<PasswordSession, base::Error> step_up(const std::string& password,
                                                             std::string_view device,
                                                             const Actor& actor);
  // `standing`: of the session, enrolling or stepped up; one that enrols stands for the password
  // from now on. identity.password_rejected: why, and what would be right. request.body_rejected:
  // the current one is asked for. auth.sign_in_failed, auth.throttled.
  [[nodiscard]] Result<PasswordSession, base::Error> set(const PasswordWish& wish,
                                                         Standing standing,
                                                         std::string_view device,
                                                         const Actor& actor);
  // The token that the session has from now on. Where passwords are off, too. request.not_found,
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

// The ways in which a person with these can prove anew who they are: "passkey", "password".
[[nodiscard]] std::vector<std::string_view> step_up_methods(const Credentials& credentials,
                                                            const Passwords& passwords);

}  // namespace turnpike::identity
