// The hash chain of usage facts: THE ONLY DEFINITION of a fact's hash.
//
//     fact.hash = lower-case hex of SHA-256(P || B)
//
//   P  32 bytes: the hash of the preceding fact in its stream; zeros before a stream's first fact
//   B  the text "turnpike.fact.1", which names this form; then every column of the row but `hash`,
//      in the order of the table; then the fact's rows of fact_share: their number, and for each,
//      ordered by lease, the lease and the units.
//        text    its length in 4 bytes, most significant first, and its bytes
//        number  8 bytes, most significant first, two's complement
//
// A stream is what one committer writes during one process lifetime: one chain, numbered from 1
// without a gap, in batches; settle_batch.head is the hash of a batch's last fact. The next fact
// therefore reveals a changed, removed or inserted fact, and the batches reveal facts that were cut
// off the end. A signed checkpoint (checkpoint.h) reveals a chain that lost both its end and the
// batches, or whose end was rewritten. Charged and uncharged facts are in the same chain.
//
// A new form gets a new name, which is put in front of `hash`.
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

// One stored row of the table `fact`, without its hash.
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
  std::int64_t lease_id = 0;  // 0: not charged; -1: several leases paid, see its shares
};

// One row of `fact_share`: the part of a fact that one of several leases paid.
struct FactShare {
  std::int64_t lease_id = 0;
  Credits units = 0;
};

// Visits every column, in the order of the table: all code that stores, reads or hashes a row uses
// this list.
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

// The state of a stream: the hash of its last fact and the number of the next one.
struct FactChain {
  std::int64_t stream = 0;
  std::int64_t next_seq = 1;
  crypto::Sha256 head{};
};

// REQUIRES: `shares` are ordered by lease, and empty unless several leases paid. `buffer` is
// scratch space that keeps its capacity from call to call.
crypto::Sha256 fact_hash(const crypto::Sha256& previous, const FactRow& row,
                         std::span<const FactShare> shares, std::string& buffer);

}  // namespace turnpike::ledger
