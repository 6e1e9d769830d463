// ByMail: what people do through a mailed link: recover access after they lost their credentials,
// sign up, and verify an e-mail address. An unauthenticated request gets the same answer whether or
// not the person exists.
//
// Owned by app/; safe for concurrent use. Everything asks the store: call it from the blocking pool
// or a plain Thread.
#pragma once

#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/accounts.h"
#include "identity/mail.h"
#include "identity/people.h"
#include "identity/sessions.h"
#include "identity/sign_in.h"
#include "identity/tries.h"

namespace turnpike::identity {

// The people that may be created. closed: only by an operator; invite: also everyone invited; open:
// also everyone who verifies an e-mail address.
enum class Registration : std::uint8_t { closed, invite, open };

class ByMail {
 public:
  struct Parts {
    MailStore& mail;
    Sessions& sessions;
    Tries& tries;
    const People& newcomers;
    Accounts& accounts;
    Registration registration = Registration::invite;
    bool sends_mail = false;
  };
  explicit ByMail(Parts parts) : parts_(parts) {}

  [[nodiscard]] bool sends_mail() const noexcept { return parts_.sends_mail; }
  [[nodiscard]] bool takes_sign_ups() const noexcept {
    return parts_.registration == Registration::open && parts_.sends_mail;
  }
  [[nodiscard]] MailStore& store() const noexcept { return parts_.mail; }

  // Every ask_...() may fail with auth.method_disabled (no mail is sent here) and auth.throttled.

  // request.malformed: the login is malformed.
  [[nodiscard]] Result<Unit, base::Error> ask_recovery(std::string_view login, const Actor& actor);
  // `login` is an e-mail address. request.malformed for the login or the name;
  // auth.registration_closed.
  [[nodiscard]] Result<Unit, base::Error> ask_sign_up(std::string_view login, std::string_view name,
                                                      const Actor& actor);
  // `token` comes from the mailed link. auth.link_ended, auth.registration_closed, auth.throttled.
  [[nodiscard]] Result<SignedIn, base::Error> sign_up(std::string_view token, const Actor& actor);

  // Asks to verify the actor's own address. request.malformed for the address.
  [[nodiscard]] Result<Unit, base::Error> ask_verification(std::string_view email,
                                                           const Actor& actor);
  // Returns the session's new token. auth.link_ended.
  [[nodiscard]] Result<SignedIn, base::Error> verify_email(std::string_view token,
                                                           const Actor& actor);
  [[nodiscard]] Result<SignedIn, base::Error> remove_email(const Actor& actor);

 private:
  [[nodiscard]] Result<Unit, base::Error> judge() const;
  [[nodiscard]] bool is_link(std::string_view token) const noexcept;

  const Parts parts_;
};

// The error auth.registration_closed with its sentence.
[[nodiscard]] base::Error registration_closed();

}  // namespace turnpike::identity
