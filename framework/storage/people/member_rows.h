// Memberships as rows, for stores whose changes add members.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "identity/members.h"
#include "storage/stores.h"

namespace turnpike::storage {

// identity.already_member.
Result<Unit, base::Error> add_member(const Context& context, Transaction& transaction,
                                     const identity::NewMembership& membership,
                                     std::string_view person_id, const identity::Actor& actor);

struct UsedInvitation {
  identity::NewMembership membership;
  std::string email;        // invited address; empty: anyone with the link may accept
  bool is_of_mail = false;  // the link was mailed to that address, which proves it
};
// Consumes the invitation for that person. auth.link_ended, account.absent, account.closed.
Result<UsedInvitation, base::Error> use_invitation(const Context& context, Transaction& transaction,
                                                   const crypto::Sha256& digest,
                                                   std::string_view person_id);

// account.forbidden: where mail is sent, an invitation for an address requires that the person has
// verified that address.
std::optional<base::Error> why_for_another(const Context& context, const UsedInvitation& used,
                                           bool is_verified);

}  // namespace turnpike::storage
