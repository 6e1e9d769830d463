// Mail to people, and what is proved by it: the outbox, and the port through which it is stored
// (storage/ implements it). A mail is written in the transaction of the change that it tells of, so
// there is neither without the other. It says which link to make and holds no token: the token is
// made when the mail is sent, and its digest stored in the transaction that takes the mail. A node
// has a mail that it took for a while only, so a killed one's are taken by another: a mail comes
// once or, now and then, twice.
//
// Who an address belongs to is looked up when a mail is taken. So a request of a stranger does the
// same whoever exists, and takes the same time.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of all: auth.unavailable, with nothing changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/account.h"
#include "identity/audit.h"
#include "identity/person.h"
#include "identity/session.h"

namespace turnpike::identity {

enum class MailKind : std::uint8_t { invitation, recovery, verify_email, sign_up, notice };
std::string_view name_of(MailKind kind) noexcept;
std::optional<MailKind> mail_kind(std::string_view name) noexcept;

// What a person is told of their credentials, as each may be somebody else's doing.
enum class Notice : std::uint8_t {
  passkey_added,
  passkey_removed,
  password_set,
  password_removed,
  recovery_codes_made,
  recovery_code_used,
  identity_linked,
  identity_unlinked,
  link_used,
  recovery_used,
  email_changed,
};
std::string_view name_of(Notice notice) noexcept;  // "passkey_added"
std::optional<Notice> notice(std::string_view name) noexcept;
// "A passkey was added", without a full stop.
std::string_view sentence_of(Notice notice) noexcept;

struct UnseenNotice {
  std::string id;
  Notice notice = Notice::passkey_added;
  std::string detail;   // the name of a passkey, or a new address; may be empty
  std::string address;  // from where it was done
  std::int64_t at_ms = 0;
};

enum class MailOutcome : std::uint8_t { waiting, sent, given_up, nobody };
std::string_view name_of(MailOutcome outcome) noexcept;
std::optional<MailOutcome> mail_outcome(std::string_view name) noexcept;

// A mail as the outbox has it.
struct Mail {
  std::string id;  // "eml_..."
  MailKind kind = MailKind::notice;
  std::string recipient;
  // What the text shows: of an invitation the account, the role and who invites; of a notice its
  // name, the address from where it was done, and what it is about; else nothing.
  std::string name;
  std::string role;
  std::string detail;
  std::int64_t created_at_ms = 0;
  std::int64_t due_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // later it is of no use
  std::int64_t tries = 0;  // this one included
  MailOutcome outcome = MailOutcome::waiting;
  std::string problem;  // of the last try that failed
};

// One that is to be sent now.
struct TakenMail {
  Mail mail;
  bool has_link = false;        // the digest that was given is that of its link
  bool is_known_login = false;  // of a sign-up: the address has a person already
};

struct MailCounts {
  std::int64_t waiting = 0;
  std::int64_t given_up = 0;
};

// A person who signed up, with the account that is theirs.
struct SignedUp {
  BegunSession begun;
  Account account;
};

class MailStore {
 public:
  // How long what a mail brings can be used, and how often one may ask for it.
  static constexpr std::int64_t recovery_ms = 10 * 60'000;
  static constexpr std::int64_t confirmation_ms = 60 * 60'000;
  static constexpr std::int64_t asked_an_hour_max = 3;  // of one login, and of one person
  static constexpr std::int64_t asked_a_minute_max = 20;  // by one source

  virtual ~MailStore() = default;

  // ---- what people ask for. auth.throttled: by the actor's address alone; a login that was asked
  // for too often gets no mail, which the answer does not tell.
  [[nodiscard]] virtual Result<Unit, base::Error> ask_recovery(std::string_view login,
                                                               const Actor& actor) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> ask_sign_up(std::string_view email,
                                                              std::string_view name,
                                                              const Actor& actor) = 0;
  // Uses the link up: the person, with the address as login, an account of theirs that is
  // provisioning, their membership and session. auth.link_ended, identity.login_taken.
  [[nodiscard]] virtual Result<SignedUp, base::Error> sign_up(const crypto::Sha256& link,
                                                              std::string_view webauthn_handle,
                                                              const NewSession& session,
                                                              const Actor& actor) = 0;
  // Keeps the address as the one to prove, and what was proved before. auth.throttled.
  [[nodiscard]] virtual Result<Unit, base::Error> ask_verification(std::string_view email,
                                                                   const Actor& actor) = 0;
  // Uses the link up, which is the actor's own, and renews their session. auth.link_ended.
  [[nodiscard]] virtual Result<Unit, base::Error> verify_email(const crypto::Sha256& link,
                                                               const RenewedSession& session,
                                                               const Actor& actor) = 0;
  // Both addresses of the actor go. Renews their session.
  [[nodiscard]] virtual Result<Unit, base::Error> remove_email(const RenewedSession& session,
                                                               const Actor& actor) = 0;

  // ---- what people are told on their page. Oldest first, 50 at most.
  [[nodiscard]] virtual Result<std::vector<UnseenNotice>, base::Error> notices(
      std::string_view person_id) = 0;
  // All of them that came until then.
  [[nodiscard]] virtual Result<Unit, base::Error> see_notices(std::string_view person_id,
                                                              std::int64_t until_ms) = 0;

  // ---- the outbox
  // The next mail that is due, for `lease_ms`; nothing: there is none. What is for nobody, or too
  // late, ends on the way. `link` is stored where the mail has one.
  [[nodiscard]] virtual Result<std::optional<TakenMail>, base::Error> take(
      const crypto::Sha256& link, std::int64_t lease_ms) = 0;
  // These change nothing when somebody else took the mail meanwhile.
  [[nodiscard]] virtual Result<Unit, base::Error> sent(const Mail& mail) = 0;
  // To be tried again after `delay_ms`; nothing: given up.
  [[nodiscard]] virtual Result<Unit, base::Error> failed(const Mail& mail, std::string_view problem,
                                                         std::optional<std::int64_t> delay_ms) = 0;
  [[nodiscard]] virtual Result<MailCounts, base::Error> counts() = 0;
  // What waits and what was given up, oldest first; with `all`, what ended otherwise, too.
  [[nodiscard]] virtual Result<std::vector<Mail>, base::Error> list(bool all) = 0;
  // Makes one that waits or was given up due now, with a day to go; all with an empty id. Returns
  // how many.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> retry(std::string_view id,
                                                                const Actor& actor) = 0;
};

}  // namespace turnpike::identity
