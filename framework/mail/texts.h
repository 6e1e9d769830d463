// The texts of mails: plain, short, without pictures or tracking. Each names the sender and tells
// readers who did not ask for the mail what to do. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>

#include "identity/mail.h"
#include "mail/letter.h"

namespace turnpike::mail {

// The site's public name and URL.
struct Site {
  std::string name;
  std::string web_url;  // of the web host, the target of links
};

// `token`: of the link, if the mail has one; it is in the fragment, behind "#".
[[nodiscard]] Letter letter_of(const identity::TakenMail& mail, std::string_view token,
                               const Site& site);

// Defuses a name that its owner chose, so that no mail program turns it into a link: people must
// not be able to send links to others in the name of the site.
[[nodiscard]] std::string harmless(std::string_view name);

}  // namespace turnpike::mail
