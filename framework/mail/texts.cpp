#include "mail/texts.h"

#include "text/words.h"

namespace turnpike::mail {
namespace {

using identity::MailKind;

struct Words {
  std::string subject;
  std::string text;
};

std::string link_to(const Site& site, std::string_view path, std::string_view token) {
  std::string link = "  " + site.web_url + std::string(path);
  if (!token.empty()) link.append("#").append(token);
  return link + "\n";
}

Words invitation(const identity::Mail& mail, std::string_view token, const Site& site) {
  const std::string who = mail.detail.empty() ? site.name : "\"" + harmless(mail.detail) + "\"";
  return {"An invitation to " + site.name,
          who + " invites you to the billing account \"" + harmless(mail.name) + "\" on " +
              site.name + ", as " + mail.role +
              ".\n\nTo accept, open this link and press its button. It works once, until " +
              text::minute_text(mail.expires_at_ms) + ":\n\n" +
              link_to(site, "/invitation", token) +
              "\nYou do not know what this is? Then do nothing: nothing happens without the "
              "link.\n"};
}

Words recovery(std::string_view token, const Site& site) {
  return {"Sign in to " + site.name + " again",
          "Somebody, most likely you, asked for a way back in to " + site.name +
              ".\n\nOpen this link and press its button. It works once, for 10 minutes, and lets "
              "you add a passkey:\n\n" +
              link_to(site, "/login/link", token) +
              "\nYou did not ask for it? Then do nothing, and give the link to nobody: it lets "
              "whoever has it in.\n"};
}

Words verification(std::string_view token, const Site& site) {
  return {"Confirm your e-mail address for " + site.name,
          "Somebody, most likely you, named this address as theirs on " + site.name +
              ".\n\nTo confirm it, open this link in a browser in which you are signed in, and "
              "press its button. It works once, for an hour:\n\n" +
              link_to(site, "/account/email/verify", token) +
              "\nYou did not do that? Then do nothing: the address is not used.\n"};
}

Words sign_up(bool is_known, std::string_view token, const Site& site) {
  const std::string who = "Somebody, most likely you, wants to sign up on " + site.name +
                          " with this address.\n\n";
  if (is_known) {
    return {"You have a login on " + site.name,
            who + "It is the login of somebody there already. Sign in here:\n\n" +
                link_to(site, "/login", "") +
                "\nYou lost what you sign in with? That page leads to a recovery by mail.\nYou did "
                "not do that? Then do nothing: nothing was changed.\n"};
  }
  return {"Confirm your sign-up on " + site.name,
          who + "To do so, open this link and press its button. It works once, for an hour:\n\n" +
              link_to(site, "/sign-up/confirm", token) +
              "\nYou did not do that? Then do nothing: nobody is signed up without the link.\n"};
}

Words notice(const identity::Mail& mail, const Site& site) {
  const auto known = identity::notice(mail.name);
  const std::string what(known ? identity::sentence_of(*known) : "Your sign-in was changed");
  std::string about = what;
  if (!mail.detail.empty()) about += " (\"" + harmless(mail.detail) + "\")";
  if (!mail.role.empty()) about += ", from the address " + mail.role;
  return {what + " on " + site.name,
          about + ", at " + text::minute_text(mail.created_at_ms) +
              ".\n\nThat was you? Then there is nothing to do.\n\nIt was not? Then sign in, remove "
              "what is not yours, and end all other sessions:\n\n" +
              link_to(site, "/account", "") +
              "\nIf you cannot sign in any more, ask whoever runs " + site.name + ".\n"};
}

Words words_of(const identity::TakenMail& taken, std::string_view token, const Site& site) {
  switch (taken.mail.kind) {
    case MailKind::invitation:
      return invitation(taken.mail, token, site);
    case MailKind::recovery:
      return recovery(token, site);
    case MailKind::verify_email:
      return verification(token, site);
    case MailKind::sign_up:
      return sign_up(taken.is_known_login, token, site);
    case MailKind::notice:
      break;
  }
  return notice(taken.mail, site);
}

bool is_of_word(std::string_view name, std::size_t at) noexcept {
  return at < name.size() && name[at] != ' ';
}

}  // namespace

Letter letter_of(const identity::TakenMail& mail, std::string_view token, const Site& site) {
  Words words = words_of(mail, mail.has_link ? token : std::string_view(), site);
  words.text += "\n-- \n" + site.name + ", " + site.web_url +
                "\nNobody reads answers to this mail.\n";
  return {mail.mail.id, mail.mail.recipient, std::move(words.subject), std::move(words.text)};
}

std::string harmless(std::string_view name) {
  constexpr std::size_t bytes_max = 80;
  std::string out;
  for (std::size_t at = 0; at < name.size(); ++at) {
    // Does not cut within a character.
    if (out.size() >= bytes_max && (static_cast<unsigned char>(name[at]) & 0xC0) != 0x80) {
      return out + "...";
    }
    const char c = name[at];
    const bool is_joint = c == '.' && is_of_word(name, at + 1);
    const bool is_of_links = c == ':' || c == '/' || c == '@' || c == '\\' || c == '"';
    out += is_joint || is_of_links || static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace turnpike::mail
