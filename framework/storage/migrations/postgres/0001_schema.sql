-- PostgreSQL's part; common/0001_schema.sql is run before it. functions.sql has the functions.

-- purpose 0: the node's escrow; 1: settlements whose own lease was lost. A capped key has leases of
-- its own, one for each UTC day (its first millisecond): '' and 0 are the account's. A closed lease
-- keeps as granted what was settled.
CREATE TABLE lease (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  allocation_id TEXT NOT NULL REFERENCES allocation (id),
  account_id TEXT NOT NULL,
  incarnation BIGINT NOT NULL,
  purpose BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
  granted BIGINT NOT NULL,
  settled BIGINT NOT NULL DEFAULT 0 CHECK (settled >= 0),
  hold_until BIGINT NOT NULL,
  settle_until BIGINT NOT NULL,
  key_id TEXT NOT NULL DEFAULT '',
  day BIGINT NOT NULL DEFAULT 0,
  CHECK (settled <= granted)
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX lease_open ON lease (allocation_id, incarnation, purpose, key_id, day)
  WHERE state = 'open';
CREATE INDEX lease_key ON lease (key_id, day) WHERE key_id <> '';
CREATE INDEX lease_account ON lease (account_id) WHERE state = 'open';
CREATE INDEX lease_due ON lease (settle_until) WHERE state = 'open';

-- Every movement of units but charges, which are facts. Append-only.
CREATE TABLE posting (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at BIGINT NOT NULL,
  account_id TEXT NOT NULL,
  allocation_id TEXT NOT NULL,
  lease_id BIGINT NOT NULL,
  from_book TEXT NOT NULL,
  to_book TEXT NOT NULL,
  units BIGINT NOT NULL CHECK (units > 0)
);

-- The allocations of an account in the order they were issued.
CREATE INDEX posting_issued ON posting (account_id, id) WHERE from_book = 'issued';

-- One row for each transaction of a committer, written first in it. charges: what it takes from
-- which leases, {"lease":units,...}.
CREATE TABLE settle_batch (
  stream BIGINT NOT NULL,
  no BIGINT NOT NULL,
  first_seq BIGINT NOT NULL,
  facts BIGINT NOT NULL,
  head TEXT NOT NULL,
  charges TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (stream, no)
);

-- Charges are posted to the leases after their batch has committed, many at a time
-- (storage/books/charges.h). One row for each committer that may charge: one whose leases are taken from
-- it finds another fence. Batches up to posted_no are in the leases; next_no is the mark of a
-- posting under way. A batch locks the row FOR KEY SHARE, which waits for no posting; the fence is
-- in a unique index, so whoever moves it locks the batch out.
CREATE TABLE settle_stream (
  stream BIGINT PRIMARY KEY NOT NULL,
  fence BIGINT NOT NULL,
  posted_no BIGINT NOT NULL DEFAULT 0,
  next_no BIGINT NOT NULL DEFAULT 0,
  UNIQUE (stream, fence)
) WITH (fillfactor = 50);

-- One row for each paid call, charged or not. Append-only. lease_id is 0 where nothing was charged,
-- -1 where several leases paid: fact_share then has one row for each.
CREATE TABLE fact (
  stream BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  message_id TEXT NOT NULL UNIQUE,
  request_id TEXT NOT NULL,
  client_request_id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  api_key_id TEXT NOT NULL,
  occurred_at BIGINT NOT NULL,
  route_id TEXT NOT NULL,
  route_revision BIGINT NOT NULL,
  method TEXT NOT NULL,
  lane TEXT NOT NULL,
  credit_cost BIGINT NOT NULL,
  credits_charged BIGINT NOT NULL CHECK (credits_charged >= 0),
  price_version BIGINT NOT NULL,
  generation TEXT NOT NULL,
  outcome_reason TEXT NOT NULL,
  upstream_status BIGINT NOT NULL,
  upstream_ms BIGINT NOT NULL,
  lease_id BIGINT NOT NULL,
  hash TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (stream, seq)
);

CREATE TABLE fact_share (
  stream BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  lease_id BIGINT NOT NULL,
  units BIGINT NOT NULL CHECK (units > 0),
  PRIMARY KEY (stream, seq, lease_id)
);

-- ORDER BY with LIMIT leaves the planner nothing but the primary key.
CREATE VIEW pending_charge AS
  SELECT s.stream, c.key::BIGINT AS lease_id, c.value::BIGINT AS units, b.no <= s.next_no AS is_due
  FROM settle_stream s
  CROSS JOIN LATERAL (SELECT no, charges FROM settle_batch WHERE settle_batch.stream = s.stream
    AND settle_batch.no > s.posted_no ORDER BY settle_batch.no LIMIT 1000000) b
  CROSS JOIN LATERAL json_each_text(b.charges::JSON) c;

-- Leases with every charge there is.
CREATE VIEW lease_now AS
  SELECT l.id, l.allocation_id, l.account_id, l.key_id, l.day, l.state, l.granted, l.settled
    + CASE WHEN l.state = 'open' THEN (SELECT COALESCE(SUM(p.units), 0) FROM pending_charge p
      WHERE p.lease_id = l.id) ELSE 0 END::BIGINT AS settled
  FROM lease l;

-- What plugins keep (sdk/turnpike/store.h). A version is drawn at random for each change.
CREATE TABLE plugin_record (
  plugin TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  value BYTEA NOT NULL,
  PRIMARY KEY (plugin, key)
);

-- One row for each session that writes records: the number of its last group, and the positions of
-- the applies in it that conflicted. Whoever lost the answer to a group fences the session, which
-- waits until the group has come to its end: one that comes later changes nothing.
CREATE TABLE record_stream (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  no BIGINT NOT NULL DEFAULT 0,
  conflicts TEXT NOT NULL DEFAULT '',
  is_fenced BOOLEAN NOT NULL DEFAULT FALSE,
  used_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- The index of usage (ledger/usage.h): made from the facts, off the commit path, and never a source
-- of anything. usage_head has the last position given; its row lock lets one node at a time give
-- positions.
CREATE TABLE usage_head (
  position BIGINT NOT NULL
);

INSERT INTO usage_head (position) VALUES (0);

-- How far each stream is indexed, and how far the transaction under way takes it.
CREATE TABLE usage_mark (
  stream BIGINT PRIMARY KEY NOT NULL,
  seq BIGINT NOT NULL,
  next_seq BIGINT NOT NULL,
  message_id TEXT NOT NULL
);

-- The positions are those of the transactions that added to the sums, other accounts' included. Its
-- rows are updated all the time, and no index tells.
CREATE TABLE usage_hour (
  account_id TEXT NOT NULL,
  hour BIGINT NOT NULL,
  route_id TEXT NOT NULL,
  method TEXT NOT NULL,
  api_key_id TEXT NOT NULL,
  requests BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  released BIGINT NOT NULL,
  credits BIGINT NOT NULL,
  first_position BIGINT NOT NULL,
  last_position BIGINT NOT NULL,
  PRIMARY KEY (account_id, hour, route_id, method, api_key_id)
) WITH (fillfactor = 50);

-- The facts of an account from first_position to last_position, 16 bytes each: stream and seq. At
-- most 100, so that a run stays inside its row.
CREATE TABLE usage_run (
  account_id TEXT NOT NULL,
  first_position BIGINT NOT NULL,
  last_position BIGINT NOT NULL,
  places BYTEA NOT NULL,
  PRIMARY KEY (account_id, first_position)
);
