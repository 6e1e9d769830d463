// Audit events as rows, and the check of who may change what in an account, for stores that write
// an event in the transaction of the change.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "identity/audit.h"
#include "identity/principal.h"
#include "storage/stores.h"

namespace turnpike::storage {

// Sequence and time are assigned here; `event` has the other values.
void write_audit(const Context& context, Transaction& transaction,
                 const identity::AuditEvent& event);

// The person's role in the account; nullopt: not a member.
std::optional<identity::Role> role_in(Transaction& transaction, std::string_view account_id,
                                      std::string_view person_id);

// The reason why the actor may not act where `needed` is required; nullopt: allowed. Actors that
// are not people are authorized elsewhere.
std::optional<base::Error> why_not_allowed(Transaction& transaction, std::string_view account_id,
                                           const identity::Actor& actor, identity::Role needed);

}  // namespace turnpike::storage
