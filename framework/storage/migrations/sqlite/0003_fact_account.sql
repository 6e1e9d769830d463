-- min_reader: 2
-- An account's facts, by ledger sequence: pages and sums of usage read along it.
CREATE INDEX fact_account ON fact (account_id, stream, seq);
