// People as rows, for stores in whose transactions people authenticate or change credentials.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "identity/person.h"
#include "storage/stores.h"

namespace turnpike::storage {

#define PERSON_COLUMNS                                                               \
  "id, name, login, email, email_verified_at, webauthn_handle, status, created_at, " \
  "last_sign_in_at, new_email"
inline constexpr char person_kinds[] = "ttttittiit";

// Reads a row of PERSON_COLUMNS.
identity::Person person_at(const Rows& rows, std::size_t row);
// Decodes the bytes that a column holds as base64url.
std::string stored_bytes(const std::string& text);

// Locks the person's row until the commit, so that they cannot be disabled while signing in. False:
// no such person, or the person is disabled.
bool lock_active_person(Transaction& transaction, std::string_view person_id);

// Inserts a person with that id and the audit event. `account_id`: their first account; may be
// empty. identity.login_taken.
Result<Unit, base::Error> insert_person(const Context& context, Transaction& transaction,
                                        std::string_view id, const identity::NewPerson& wanted,
                                        std::string_view account_id, const identity::Actor& actor);

// Begins a session of an authenticated person. REQUIRES: lock_active_person().
identity::BegunSession begin_as(const Context& context, Transaction& transaction,
                                const std::string& person_id, const identity::NewSession& session,
                                const identity::Actor& actor);

// The number of credentials that the person can sign in with.
std::int64_t credentials_of(Transaction& transaction, std::string_view person_id);

// The refusal of one more passkey or linked identity when the person has as many ways to sign in as
// a person may have. REQUIRES: lock_active_person().
std::optional<base::Error> why_no_more_credentials(Transaction& transaction,
                                                   std::string_view person_id);

// Why the credential that was removed in this transaction may not go: the person would have nothing
// left to sign in with. REQUIRES: lock_active_person().
std::optional<base::Error> why_credential_stays(const Context& context, Transaction& transaction,
                                                std::string_view person_id);

// The error auth.sign_in_failed.
base::Error proved_nobody();

}  // namespace turnpike::storage
