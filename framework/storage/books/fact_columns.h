// The columns of facts and of their shares, as the settlement writes and the audit reads them.
//
// SQL text, common to both engines. Private to storage/.
#pragma once

// The columns in the order of ledger::each_column(), then the hash.
#define FACT_COLUMNS                                                                    \
  "stream, seq, message_id, request_id, client_request_id, account_id, api_key_id,"     \
  " occurred_at, route_id, route_revision, method, lane, credit_cost, credits_charged," \
  " price_version, generation, outcome_reason, upstream_status, upstream_ms, lease_id, hash"
// The columns of one lease's share, if several leases paid.
#define SHARE_COLUMNS "stream, seq, lease_id, units"
