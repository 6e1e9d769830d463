// Letters: nothing in a name, a subject or an address makes a header field of its own.
#include "mail/letter.h"

#include <gtest/gtest.h>

#include <sstream>

#include "mail/texts.h"

namespace turnpike::mail {
namespace {

const Sender sender{"Turnpike", "noreply@example.com"};

Letter letter_with(const std::string& to, const std::string& subject) {
  return {"eml_1", to, subject, "text\n"};
}

std::string message_of(const std::string& subject) {
  return as_message(letter_with("ann@example.org", subject), sender, 1'800'000'000'000);
}

TEST(Letters, AddressesThatAreMoreThanOneAreRefused) {
  for (const char* address :
       {"", "ann", "@example.org", "ann@", "ann@example.org\r\nBcc: eve@example.org",
        "ann@example.org,eve@example.org", "ann@example.org>", "<ann@example.org",
        "a b@example.org",
        "ann@example.org\n", "ann@ex\tample.org", "\"ann eve\"@example.org", "ann@example.org;eve",
        "ann@[192.0.2.1]", "ann(eve)@example.org", "j\xC3\xBCrgen@example.org", "a@b@c"}) {
    EXPECT_TRUE(fault_in_letter(letter_with(address, "subject"))) << address;
  }
  EXPECT_FALSE(fault_in_letter(letter_with("ann.o'neil+x@sub.example.org", "subject")));
}

TEST(Letters, ASubjectWithControlCharactersIsRefused) {
  for (const char* subject : {"a\r\nBcc: eve@example.org", "a\nb", "a\rb", "a\x01", "a\x7F"}) {
    EXPECT_TRUE(fault_in_letter(letter_with("ann@example.org", subject)));
  }
}

TEST(Letters, HeadersAreWrittenAsTheyAre) {
  const std::string message = message_of("Sign in");
  EXPECT_NE(message.find("From: Turnpike <noreply@example.com>\r\nTo: <ann@example.org>\r\n"
                         "Subject: Sign in\r\nDate: Fri, 15 Jan 2027 08:00:00 +0000\r\n"
                         "Message-ID: <eml_1@example.com>\r\n"),
            std::string::npos)
      << message;
}

TEST(Letters, NamesAreEncodedInWordsThatBeginWithWholeCharacters) {
  EXPECT_EQ(as_header_text("M\xC3\xBCller"), "=?UTF-8?Q?M=C3=BCller?=");
  EXPECT_EQ(as_header_text("=?UTF-8?Q?Eve?="), "=?UTF-8?Q?=3D=3FUTF=2D8=3FQ=3FEve=3F=3D?=");
  std::string many;
  for (int at = 0; at < 60; ++at) many += "\xE2\x82\xAC";  // euro signs
  std::istringstream lines(as_header_text(many));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(' ')) line.erase(0, 1);
    EXPECT_LE(line.size(), 75u);
    EXPECT_TRUE(line.starts_with("=?UTF-8?Q?=E2=82=AC")) << line;
    EXPECT_TRUE(line.ends_with("=AC?=")) << line;
  }
  const Sender odd{"A, <eve@example.org>", "noreply@example.com"};
  const std::string message = as_message(letter_with("ann@example.org", "s"), odd, 0);
  EXPECT_EQ(message.find("eve@example.org"), std::string::npos) << message;
}

TEST(Letters, TextsAreQuotedPrintable) {  // RFC 2045 section 6.7
  EXPECT_EQ(as_quoted_printable("a=b\n"), "a=3Db\r\n");
  EXPECT_EQ(as_quoted_printable("blank \nend"), "blank=20\r\nend");
  EXPECT_EQ(as_quoted_printable("\xC3\xBC\r\n"), "=C3=BC=0D\r\n");
  std::istringstream lines(as_quoted_printable(std::string(500, '=') + "\n"));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 77u);  // and CR
}

TEST(Texts, ANameCannotBecomeALink) {
  EXPECT_EQ(harmless("Acme Inc."), "Acme Inc.");
  EXPECT_EQ(harmless("J. Smith"), "J. Smith");
  EXPECT_EQ(harmless("win at https://evil.example/now"), "win at https   evil example now");
  EXPECT_EQ(harmless("mail eve@evil.example"), "mail eve evil example");
  EXPECT_EQ(harmless(std::string(200, 'x')).size(), 83u);
}

TEST(Texts, EveryMailSaysWhoSendsItAndWhatToDoWithoutAsking) {
  for (const auto kind :
       {identity::MailKind::invitation, identity::MailKind::recovery,
        identity::MailKind::verify_email, identity::MailKind::sign_up}) {
    identity::TakenMail taken;
    taken.mail.kind = kind;
    taken.mail.id = "eml_1";
    taken.mail.recipient = "ann@example.org";
    taken.has_link = true;
    const Letter letter = letter_of(taken, "TOKEN", {"Gate", "https://gate.example"});
    EXPECT_NE(letter.text.find("#TOKEN\n"), std::string::npos) << letter.text;
    EXPECT_NE(letter.text.find("? Then do nothing"), std::string::npos) << letter.text;
    EXPECT_NE(letter.text.find("Gate, https://gate.example"), std::string::npos);
    EXPECT_EQ(letter.text.find("TOKEN?"), std::string::npos);
  }
  identity::TakenMail notice;
  notice.mail.kind = identity::MailKind::notice;
  notice.mail.name = "passkey_added";
  notice.mail.detail = "Laptop";
  notice.mail.role = "192.0.2.1";
  const Letter letter = letter_of(notice, "TOKEN", {"Gate", "https://gate.example"});
  EXPECT_EQ(letter.subject, "A passkey was added on Gate");
  EXPECT_NE(letter.text.find("A passkey was added (\"Laptop\"), from the address 192.0.2.1"),
            std::string::npos)
      << letter.text;
  EXPECT_EQ(letter.text.find("TOKEN"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::mail
