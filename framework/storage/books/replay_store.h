// The replay table (ledger/replay.h), shared by the ledger's ports: the store, the part that a
// SQLite settlement writes, and the removal of rows older than 24 hours.
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

// A stored reply. Bodies are base64url, since upstreams send any bytes and neither engine's text
// accepts all of them. Headers are lines, with name and value alternating.
struct ReplyColumns {
  std::string state;
  std::int64_t status = 0;
  std::string headers;
  std::string body;
};
ReplyColumns reply_columns_of(const ledger::ReplyToKeep& reply);

// Changes the state from claimed to charged. False: the claim no longer belongs to that call.
bool keep_charged_reply(Transaction& transaction, const ledger::ReplyToKeep& reply);

// True if keep_charged_reply() would find the claim.
bool owns_claim(Connection& connection, const ledger::ReplyToKeep& reply);

// Deletes some of the rows that are past their retention; returns their number.
std::uint32_t forget_old_replies(Transaction& transaction, std::int64_t now_ms);

}  // namespace turnpike::storage
