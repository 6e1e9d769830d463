-- min_reader: 2
-- The allocations of an account in the order they were issued. The index of usage is a file of its
-- own on this engine (storage/usage_index.h).

-- Pages and sums of usage are read along that index, so settlements need not keep another one.
DROP INDEX fact_account;

CREATE INDEX posting_issued ON posting (account_id, id) WHERE from_book = 'issued';
