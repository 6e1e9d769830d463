// The texts of mails: plain, short, without pictures or anything that tells whether they were read.
// Each says who sends it and what to do when the reader did not ask for it. Pure functions; any
// Thread.
#pragma once

#include <string>
#include <string_view>

#include "identity/mail.h"
#include "mail/letter.h"

namespace turnpike::mail {

// The site as people know it.
struct Site {
  std::string name;
  std::string web_url;  // of the web host, whose pages the links lead to
};

// `token`: of the link, where the mail has one; it stands behind the "#".
[[nodiscard]] Letter letter_of(const identity::TakenMail& mail, std::string_view token,
                               const Site& site);

// A name that somebody chose for themselves, so that no mail program makes a link of it: strangers
// must not write to others in the name of the site.
[[nodiscard]] std::string harmless(std::string_view name);

}  // namespace turnpike::mail
