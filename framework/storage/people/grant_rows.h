// Grants of OAuth clients as rows, for the stores whose changes end some.
//
// Private to storage/; used by the Thread that has the transaction.
#pragma once

#include <string_view>

#include "storage/stores.h"

namespace turnpike::storage {

// Ends the grants of a person in an account, or in all where `account_id` is empty, and tells every
// node. `reason`: a word, for the operator.
void end_grants_of(const Context& context, Transaction& transaction, std::string_view person_id,
                   std::string_view account_id, std::string_view reason);

}  // namespace turnpike::storage
