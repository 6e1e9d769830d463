-- min_reader: 6
-- Escrow shared by several nodes: spend caps of keys, leases that count towards them, and recalls
-- of units that another node has reserved. Contracting: the unique index of leases changes.

-- Credits a key may spend in a UTC day and a UTC month; -1: no cap.
ALTER TABLE api_key ADD COLUMN cap_per_day BIGINT NOT NULL DEFAULT -1;
ALTER TABLE api_key ADD COLUMN cap_per_month BIGINT NOT NULL DEFAULT -1;

-- A capped key has leases of its own, one for each UTC day (its first millisecond): '' and 0 are
-- the account's. A closed lease keeps as granted what was settled.
ALTER TABLE lease ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN day BIGINT NOT NULL DEFAULT 0;

UPDATE lease SET granted = settled WHERE state = 'closed';

DROP INDEX lease_open;
CREATE UNIQUE INDEX lease_open ON lease (allocation_id, incarnation, purpose, key_id, day)
  WHERE state = 'open';
CREATE INDEX lease_key ON lease (key_id, day) WHERE key_id <> '';

-- What a capped key's leases of that day or month have been granted.
CREATE TABLE key_window (
  key_id TEXT NOT NULL,
  span TEXT NOT NULL CHECK (span IN ('day', 'month')),
  starts_at BIGINT NOT NULL,
  taken BIGINT NOT NULL CHECK (taken >= 0),
  PRIMARY KEY (key_id, span, starts_at)
);

-- Until then every node returns what it does not hold of the account, but for the one that asks
-- (its incarnation and key; 0 and '': nobody's).
CREATE TABLE recall (
  account_id TEXT NOT NULL,
  incarnation BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (account_id, incarnation, key_id)
);

CREATE INDEX recall_until ON recall (until_ms);
CREATE INDEX allocation_voiding ON allocation (id) WHERE state = 'voiding';
