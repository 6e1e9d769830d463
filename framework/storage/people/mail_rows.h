// Mail and notices as rows, for the stores in whose transactions something happens that people are
// told of.
//
// Private to storage/; used by the Thread that has the transaction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "identity/mail.h"
#include "storage/stores.h"

namespace turnpike::storage {

struct NewMail {
  identity::MailKind kind = identity::MailKind::notice;
  std::string recipient = {};  // or a login, whose address is found when the mail is taken
  std::string login = {};
  std::string person_id = {};
  std::string object_id = {};
  std::string name = {};
  std::string role = {};
  std::string detail = {};
  std::int64_t expires_at_ms = 0;
};
// Returns its id. REQUIRES: mail is sent (Settings::sends_mail).
std::string queue_mail(const Context& context, Transaction& transaction, const NewMail& mail);

// Tells the person by mail, if they have proved an address and mail is sent; else on their page.
void tell_person(const Context& context, Transaction& transaction, std::string_view person_id,
                 identity::Notice notice, std::string_view detail, const identity::Actor& actor);

// Whether the person has proved this address.
bool has_verified_email(Transaction& transaction, std::string_view person_id,
                        std::string_view email);

// Counts a try in its window of time, and says whether it is within `tries_max`.
bool take_try(const Context& context, Transaction& transaction, std::string_view key,
              std::int64_t window_ms, std::int64_t tries_max);

}  // namespace turnpike::storage
