// Mail and notices as rows, for stores that queue them in the transaction of a change.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "identity/mail.h"
#include "storage/stores.h"

namespace turnpike::storage {

struct NewMail {
  identity::MailKind kind = identity::MailKind::notice;
  std::string recipient = {};  // or empty: looked up by the login when taken
  std::string login = {};
  std::string person_id = {};
  std::string object_id = {};
  std::string name = {};
  std::string role = {};
  std::string detail = {};
  std::int64_t expires_at_ms = 0;
};
// Returns the mail's id. REQUIRES: mail is sent (Settings::sends_mail).
std::string queue_mail(const Context& context, Transaction& transaction, const NewMail& mail);

// Notifies the person by mail, if mail is sent and they have a verified address; else on their
// page.
void tell_person(const Context& context, Transaction& transaction, std::string_view person_id,
                 identity::Notice notice, std::string_view detail, const identity::Actor& actor);

// True if the person has verified this address.
bool has_verified_email(Transaction& transaction, std::string_view person_id,
                        std::string_view email);

// Counts a try in its window and returns whether it is within `tries_max`.
bool take_try(const Context& context, Transaction& transaction, std::string_view key,
              std::int64_t window_ms, std::int64_t tries_max);

}  // namespace turnpike::storage
