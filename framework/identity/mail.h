// Mail to people and the links in it: the outbox, and the port through which it is stored (storage/
// implements it). A mail is written in the transaction of the change that it reports, so there is
// neither without the other. A stored mail says which link to make and holds no token: the token is
// made when the mail is sent, and its digest is stored in the transaction that takes the mail. A
// node leases the mail that it takes, so mail of a killed node is taken by another: delivery is at
// least once, with rare duplicates.
//
// The owner of an address is looked up when a mail is taken. An unauthenticated request therefore
// does the same work, in the same time, whether or not the person exists.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of every function: auth.unavailable, with nothing changed.
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

// Changes of a person's credentials that the person is told of, as an attacker may have made them.
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
// Such as "A passkey was added", without a full stop.
std::string_view sentence_of(Notice notice) noexcept;

struct UnseenNotice {
  std::string id;
  Notice notice = Notice::passkey_added;
  std::string detail;   // name of a passkey, or a new address; may be empty
  std::string address;  // address of the client that made the change
  std::int64_t at_ms = 0;
};

enum class MailOutcome : std::uint8_t { waiting, sent, given_up, nobody };
std::string_view name_of(MailOutcome outcome) noexcept;
std::optional<MailOutcome> mail_outcome(std::string_view name) noexcept;

// A mail in the outbox.
struct Mail {
  std::string id;  // "eml_..."
  MailKind kind = MailKind::notice;
  std::string recipient;
  // Contents of the text. An invitation: account, role and inviter. A notice: its name, the
  // client's address and the subject of the change. Any other mail: empty.
  std::string name;
  std::string role;
  std::string detail;
  std::int64_t created_at_ms = 0;
  std::int64_t due_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // not sent after this time
  std::int64_t tries = 0;  // including the current one
  MailOutcome outcome = MailOutcome::waiting;
  std::string problem;  // reason why the last try failed
};

// A mail that is leased for sending.
struct TakenMail {
  Mail mail;
  bool has_link = false;        // the given digest was stored for its link
  bool is_known_login = false;  // sign-up: the address belongs to a person already
};

struct MailCounts {
  std::int64_t waiting = 0;
  std::int64_t given_up = 0;
};

// A person who signed up, with their new account.
struct SignedUp {
  BegunSession begun;
  Account account;
};

class MailStore {
 public:
  // Lifetimes of the links, and how often a mail may be requested.
  static constexpr std::int64_t recovery_ms = 10 * 60'000;
  static constexpr std::int64_t confirmation_ms = 60 * 60'000;
  static constexpr std::int64_t asked_an_hour_max = 3;  // per login, and per person
  static constexpr std::int64_t asked_a_minute_max = 20;  // per client address

  virtual ~MailStore() = default;

  // ---- requests of people. auth.throttled depends on the actor's address alone; a login that was
  // requested too often gets no mail, and the answer does not reveal that.
  [[nodiscard]] virtual Result<Unit, base::Error> ask_recovery(std::string_view login,
                                                               const Actor& actor) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> ask_sign_up(std::string_view email,
                                                              std::string_view name,
                                                              const Actor& actor) = 0;
  // Consumes the link and creates the person with the address as login, a provisioning account of
  // theirs, their membership and their session. auth.link_ended, identity.login_taken.
  [[nodiscard]] virtual Result<SignedUp, base::Error> sign_up(const crypto::Sha256& link,
                                                              std::string_view webauthn_handle,
                                                              const NewSession& session,
                                                              const Actor& actor) = 0;
  // Stores the address as unverified; the verified address stays until the new one is verified.
  // auth.throttled.
  [[nodiscard]] virtual Result<Unit, base::Error> ask_verification(std::string_view email,
                                                                   const Actor& actor) = 0;
  // Consumes the actor's link and renews their session. auth.link_ended.
  [[nodiscard]] virtual Result<Unit, base::Error> verify_email(const crypto::Sha256& link,
                                                               const RenewedSession& session,
                                                               const Actor& actor) = 0;
  // Removes the actor's verified and unverified address and renews their session.
  [[nodiscard]] virtual Result<Unit, base::Error> remove_email(const RenewedSession& session,
                                                               const Actor& actor) = 0;

  // ---- notices that the person's page shows. Oldest first, 50 at most.
  [[nodiscard]] virtual Result<std::vector<UnseenNotice>, base::Error> notices(
      std::string_view person_id) = 0;
  // Marks all notices up to `until_ms` as seen.
  [[nodiscard]] virtual Result<Unit, base::Error> see_notices(std::string_view person_id,
                                                              std::int64_t until_ms) = 0;

  // ---- the outbox
  // Leases the next mail that is due for `lease_ms`; nullopt: none is due. Mail without a recipient
  // and mail that has expired is ended on the way. `link` is stored if the mail has a link.
  [[nodiscard]] virtual Result<std::optional<TakenMail>, base::Error> take(
      const crypto::Sha256& link, std::int64_t lease_ms) = 0;
  // The next two change nothing when another node has taken the mail since.
  [[nodiscard]] virtual Result<Unit, base::Error> sent(const Mail& mail) = 0;
  // Retries after `delay_ms`; nullopt: gives up.
  [[nodiscard]] virtual Result<Unit, base::Error> failed(const Mail& mail, std::string_view problem,
                                                         std::optional<std::int64_t> delay_ms) = 0;
  [[nodiscard]] virtual Result<MailCounts, base::Error> counts() = 0;
  // Mail that waits or was given up, oldest first; with `all`, also mail that ended otherwise.
  [[nodiscard]] virtual Result<std::vector<Mail>, base::Error> list(bool all) = 0;
  // Makes a mail that waits or was given up due now, with one day until it expires; an empty id
  // selects all such mail. Returns their number.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> retry(std::string_view id,
                                                                const Actor& actor) = 0;
};

}  // namespace turnpike::identity
