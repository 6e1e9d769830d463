-- SQLite's part; common/0001_schema.sql is run before it. The index of usage is a file of its own
-- on this engine (storage/books/usage_index.h).

-- purpose 0: the node's escrow; 1: settlements whose own lease was lost. A capped key has leases of
-- its own, one for each UTC day (its first millisecond): '' and 0 are the account's. A closed lease
-- keeps as granted what was settled.
CREATE TABLE lease (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
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
);

CREATE UNIQUE INDEX lease_open ON lease (allocation_id, incarnation, purpose, key_id, day)
  WHERE state = 'open';
CREATE INDEX lease_key ON lease (key_id, day) WHERE key_id <> '';
CREATE INDEX lease_account ON lease (account_id) WHERE state = 'open';
CREATE INDEX lease_due ON lease (settle_until) WHERE state = 'open';

-- Every movement of units but charges, which are facts. Append-only.
CREATE TABLE posting (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
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
) WITHOUT ROWID;

-- Charges are posted to the leases after their batch has committed, many at a time
-- (storage/books/charges.h). One row for each committer that may charge: one whose leases are taken from
-- it finds another fence. Batches up to posted_no are in the leases; next_no is the mark of a
-- posting under way.
CREATE TABLE settle_stream (
  stream BIGINT PRIMARY KEY NOT NULL,
  fence BIGINT NOT NULL,
  posted_no BIGINT NOT NULL DEFAULT 0,
  next_no BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;

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
) WITHOUT ROWID;

CREATE TABLE fact_share (
  stream BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  lease_id BIGINT NOT NULL,
  units BIGINT NOT NULL CHECK (units > 0),
  PRIMARY KEY (stream, seq, lease_id)
) WITHOUT ROWID;

CREATE VIEW pending_charge AS
  SELECT s.stream, CAST(c.key AS INTEGER) AS lease_id, c.value AS units, b.no <= s.next_no AS is_due
  FROM settle_stream s CROSS JOIN settle_batch b CROSS JOIN json_each(b.charges) c
  WHERE b.stream = s.stream AND b.no > s.posted_no;

-- Leases with every charge there is.
CREATE VIEW lease_now AS
  SELECT l.id, l.allocation_id, l.account_id, l.key_id, l.day, l.state, l.granted, l.settled
    + CASE WHEN l.state = 'open' THEN (SELECT COALESCE(SUM(p.units), 0) FROM pending_charge p
      WHERE p.lease_id = l.id) ELSE 0 END AS settled
  FROM lease l;

-- What plugins keep (sdk/turnpike/store.h). A version is drawn at random for each change.
CREATE TABLE plugin_record (
  plugin TEXT NOT NULL,
  key TEXT NOT NULL,
  version BIGINT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (plugin, key)
);
