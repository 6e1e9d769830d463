-- PostgreSQL's part; common/0008_dashboard.sql is run before it.

-- Where the facts of calls are that their callers named. SQLite has it beside the index of usage
-- (storage/books/usage_index.cpp).
CREATE TABLE usage_client (
  account_id TEXT NOT NULL,
  client_request_id TEXT NOT NULL,
  stream BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (account_id, client_request_id, stream, seq)
);

-- The index is made again, with that in it. Facts that a build from before this indexes beside us
-- are in no usage_client.
TRUNCATE usage_mark, usage_run, usage_hour;
