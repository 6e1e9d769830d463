-- min_reader: 1
-- What the pages of accounts read: what their allocations lost, by time (ledger/usage.h).
CREATE INDEX posting_ended ON posting (account_id, at) WHERE to_book IN ('expired', 'voided');
