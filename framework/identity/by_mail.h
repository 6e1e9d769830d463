// ByMail: what people do by mail: come in again after they lost what they sign in with, sign up,
// and prove that an address is theirs. Requests of strangers are answered alike, whoever exists.
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

// Who may become a person: nobody but by an operator, whoever is invited, or everybody who proves
// an e-mail address.
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

  // Errors of all that ask for a mail: auth.method_disabled where none is sent, auth.throttled.

  // request.malformed for the login.
  [[nodiscard]] Result<Unit, base::Error> ask_recovery(std::string_view login, const Actor& actor);
  // The login is an e-mail address. request.malformed for it or the name; auth.registration_closed.
  [[nodiscard]] Result<Unit, base::Error> ask_sign_up(std::string_view login, std::string_view name,
                                                      const Actor& actor);
  // With the link of that mail. auth.link_ended, auth.registration_closed, auth.throttled.
  [[nodiscard]] Result<SignedIn, base::Error> sign_up(std::string_view token, const Actor& actor);

  // Of the actor's own address. request.malformed for it.
  [[nodiscard]] Result<Unit, base::Error> ask_verification(std::string_view email,
                                                           const Actor& actor);
  // The token that the session has from now on. auth.link_ended.
  [[nodiscard]] Result<SignedIn, base::Error> verify_email(std::string_view token,
                                                           const Actor& actor);
  [[nodiscard]] Result<SignedIn, base::Error> remove_email(const Actor& actor);

 private:
  [[nodiscard]] Result<Unit, base::Error> judge() const;
  [[nodiscard]] bool is_link(std::string_view token) const noexcept;

  const Parts parts_;
};

// auth.registration_closed.
[[nodiscard]] base::Error registration_closed();

}  // namespace turnpike::identity
