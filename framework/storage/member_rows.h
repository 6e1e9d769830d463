// Memberships as rows, for the stores whose changes make somebody a member.
//
// Private to storage/; used by the Thread that has the transaction.
#pragma once

#include <string_view>

#include "identity/members.h"
#include "storage/stores.h"

namespace turnpike::storage {

// identity.already_member.
Result<Unit, base::Error> add_member(const Context& context, Transaction& transaction,
                                     const identity::NewMembership& membership,
                                     std::string_view person_id, const identity::Actor& actor);

// Uses the invitation up for that person. auth.link_ended, account.absent, account.closed.
Result<identity::NewMembership, base::Error> use_invitation(const Context& context,
                                                            Transaction& transaction,
                                                            const crypto::Sha256& digest,
                                                            std::string_view person_id);

}  // namespace turnpike::storage
