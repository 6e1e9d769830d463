// The hash chain of usage facts: THE ONE DEFINITION of what a fact's hash is.
//
//     fact.hash = lower-case hex of SHA-256(P || B)
//
//   P  32 bytes: the hash of the fact before it in its stream; zeros before a stream's first
//   B  the text "turnpike.fact.1", which names this form; then every column of the row but `hash`,
//      in the order of the table; then the rows of fact_share that belong to it: their number, and
//      for each, ordered by lease, the lease and the units.
//        text    its length in 4 bytes, most significant first, and its bytes
//        number  8 bytes, most significant first, two's complement
//
// A stream is what one committer writes in one life: one chain, numbered from 1 without a gap, in
// batches; settle_batch.head is the hash of a batch's last fact. So the next fact reveals a fact
// that was changed, removed or inserted, and the batches reveal facts that were cut off the end. A
// signed checkpoint (checkpoint.h) reveals a chain of which both were cut off, or whose rest was
// written anew. Charged and uncharged facts stand in the same chain.
//
// A new form gets a new name and is told apart by it in front of `hash`.
//
// Pure values and functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "crypto/digest.h"
#include "ledger/books.h"

namespace turnpike::ledger {

// One row of the table `fact` as it is stored, without its hash.
struct FactRow {
  std::int64_t stream = 0;
  std::int64_t seq = 0;
  std::string_view message_id;
  std::string_view request_id;
  std::string_view client_request_id;
  std::string_view account_id;
  std::string_view api_key_id;
  std::int64_t occurred_at = 0;
  std::string_view route_id;
  std::int64_t route_revision = 0;
  std::string_view method;
  std::string_view lane;
  std::int64_t credit_cost = 0;
  Credits credits_charged = 0;
  std::int64_t price_version = 0;
  std::string_view generation;
  std::string_view outcome_reason;
  std::int64_t upstream_status = 0;
  std::int64_t upstream_ms = 0;
  std::int64_t lease_id = 0;  // 0: nothing was charged; -1: several leases paid, see its shares
};

// One row of `fact_share`: what one of several leases paid for a fact.
struct FactShare {
  std::int64_t lease_id = 0;
  Credits units = 0;
};

// Every column, in the order of the table: all code that stores, reads or hashes a row uses this
// list.
template <class Row, class Visit>
void each_column(Row& row, Visit&& visit) {
  visit(row.stream);
  visit(row.seq);
  visit(row.message_id);
  visit(row.request_id);
  visit(row.client_request_id);
  visit(row.account_id);
  visit(row.api_key_id);
  visit(row.occurred_at);
  visit(row.route_id);
  visit(row.route_revision);
  visit(row.method);
  visit(row.lane);
  visit(row.credit_cost);
  visit(row.credits_charged);
  visit(row.price_version);
  visit(row.generation);
  visit(row.outcome_reason);
  visit(row.upstream_status);
  visit(row.upstream_ms);
  visit(row.lease_id);
}

// Where a stream stands: the hash of its last fact and the number of the next.
struct FactChain {
  std::int64_t stream = 0;
  std::int64_t next_seq = 1;
  crypto::Sha256 head{};
};

// REQUIRES: `shares` are ordered by lease, and empty unless several leases paid. `buffer` is
// scratch that keeps its capacity from call to call.
crypto::Sha256 fact_hash(const crypto::Sha256& previous, const FactRow& row,
                         std::span<const FactShare> shares, std::string& buffer);

}  // namespace turnpike::ledger
