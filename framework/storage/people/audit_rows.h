// Audit events as rows, and the judgement of who may change what in an account, for the stores that
// write them in the transaction of a change.
//
// Private to storage/; used by the Thread that has the transaction.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "identity/audit.h"
#include "identity/principal.h"
#include "storage/stores.h"

namespace turnpike::storage {

// `event` has the rest; number and time are given here.
void write_audit(const Context& context, Transaction& transaction,
                 const identity::AuditEvent& event);

// The role of a person in an account; nothing: they are no member.
std::optional<identity::Role> role_in(Transaction& transaction, std::string_view account_id,
                                      std::string_view person_id);

// Why the actor may not do what needs this role in the account; nothing: they may. Whoever is no
// person has the right from elsewhere.
std::optional<base::Error> why_not_allowed(Transaction& transaction, std::string_view account_id,
                                           const identity::Actor& actor, identity::Role needed);

}  // namespace turnpike::storage
