// Sessions as rows, for stores whose changes begin, renew or end one.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <optional>
#include <string_view>

#include "identity/session.h"
#include "storage/stores.h"

namespace turnpike::storage {

// REQUIRES: the person exists and may sign in. Ends their oldest sessions beyond the maximum
// number.
identity::Session begin_session(const Context& context, Transaction& transaction,
                                std::string_view person_id, const identity::NewSession& session,
                                const identity::Actor& actor);

// False: the person has no such active session.
bool renew_session(const Context& context, Transaction& transaction, std::string_view person_id,
                   const identity::RenewedSession& session);

// Ends all of the person's sessions except `kept_session_id`; returns their number.
std::int64_t end_sessions(const Context& context, Transaction& transaction,
                          std::string_view person_id, std::string_view kept_session_id);

// Consumes the ceremony; error: it was used already.
std::optional<base::Error> use_ceremony(Transaction& transaction,
                                        const identity::UsedCeremony& ceremony);

}  // namespace turnpike::storage
