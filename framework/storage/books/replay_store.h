// The replay table (ledger/replay.h), as the ports of the ledger share it: the store itself, what a
// SQLite settlement writes of it, and the removal of what is older than 24 hours.
//
// Free functions inside a write transaction; they throw StoreError. Private to storage/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ledger/store.h"
#include "storage/stores.h"

namespace turnpike::storage {

std::unique_ptr<ledger::ReplayStore> make_replay_store(const Context& context,
                                                       std::int64_t incarnation);

// How the table holds a reply: base64url, since its bytes are the upstream's and neither engine's
// text takes every byte. Headers are lines, name and value in turns.
struct ReplyColumns {
  std::string state;
  std::int64_t status = 0;
  std::string headers;
  std::string body;
};
ReplyColumns columns_of(const ledger::ReplyToKeep& reply);

// The step from claimed to charged. False: the claim is no longer that call's.
bool keep_charged_reply(Transaction& transaction, const ledger::ReplyToKeep& reply);

// Whether keep_charged_reply() would find the claim.
bool owns_claim(Connection& connection, const ledger::ReplyToKeep& reply);

// Removes some of the rows that are too old; how many.
std::uint32_t forget_old_replies(Transaction& transaction, std::int64_t now_ms);

}  // namespace turnpike::storage
