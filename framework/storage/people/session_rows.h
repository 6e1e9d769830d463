// Sessions as rows, for the stores whose changes begin, renew or end one.
//
// Private to storage/; used by the Thread that has the transaction.
#pragma once

#include <optional>
#include <string_view>

#include "identity/session.h"
#include "storage/stores.h"

namespace turnpike::storage {

// REQUIRES: the person exists and may sign in. Ends their oldest sessions beyond the most that one
// may have.
identity::Session begin_session(const Context& context, Transaction& transaction,
                                std::string_view person_id, const identity::NewSession& session,
                                const identity::Actor& actor);

// False: the person has no such session that goes on.
bool renew_session(const Context& context, Transaction& transaction, std::string_view person_id,
                   const identity::RenewedSession& session);

// Ends all of the person's but that one; returns how many.
std::int64_t end_sessions(const Context& context, Transaction& transaction,
                          std::string_view person_id, std::string_view kept_session_id);

// Uses the ceremony up; an error: it was.
std::optional<base::Error> use_ceremony(Transaction& transaction,
                                        const identity::UsedCeremony& ceremony);

}  // namespace turnpike::storage
