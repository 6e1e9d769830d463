-- min_reader: 1
-- The tables that are the same on both engines: accounts, keys, allocations of Credits, installed
-- programs. Money and times are whole numbers (Credits; milliseconds since 1970 UTC), identifiers
-- are text or whole numbers. The file of this name in the engine's folder, which is run after this
-- one, has the tables that the engine stores in its own way.

-- owner: whom the account belongs to, where that is known.
CREATE TABLE account (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN
    ('provisioning', 'active', 'provisioning_failed', 'suspended', 'closed')),
  created_at BIGINT NOT NULL,
  owner TEXT NOT NULL DEFAULT ''
);

CREATE INDEX account_status ON account (status);

-- The caps are Credits that the key may spend in a UTC day and a UTC month; -1: no cap.
CREATE TABLE api_key (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  name TEXT NOT NULL,
  environment TEXT NOT NULL CHECK (environment IN ('development', 'staging', 'production')),
  prefix TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1,
  revoked_at BIGINT NOT NULL DEFAULT -1,
  cap_per_day BIGINT NOT NULL DEFAULT -1,
  cap_per_month BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX api_key_account ON api_key (account_id);

-- The starter grants that were claimed: one for each owner, however many accounts.
CREATE TABLE starter_claim (
  owner TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id)
);

CREATE TABLE identity_change (
  sequence BIGINT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  digest TEXT NOT NULL
);

-- authorities: names, divided by blanks; a name that a build does not know allows nothing there.
CREATE TABLE operator_credential (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  environment TEXT NOT NULL CHECK (environment IN ('development', 'staging', 'production')),
  prefix TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  authorities TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1,
  revoked_at BIGINT NOT NULL DEFAULT -1
);

-- Numbers are taken by updating the counter, whose row lock orders the commits of their takers: a
-- reader that has seen a number has seen every smaller one.
CREATE TABLE counter (
  name TEXT PRIMARY KEY NOT NULL,
  value BIGINT NOT NULL
);

-- `free_term` is the term of the one gateway that counts free requests here, `free_time` the latest
-- time by its clock.
INSERT INTO counter (name, value) VALUES
  ('identity_change', 0), ('ledger_epoch', 1), ('ledger_time', 0), ('incarnation', 0),
  ('registry_epoch', 1), ('generation', 0), ('manifest', 0),
  ('free_term', 0), ('free_time', 0);

CREATE TABLE allocation (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  origin TEXT NOT NULL CHECK (origin IN
    ('starter_grant', 'purchase', 'auto_top_up', 'operator_grant', 'correction')),
  units BIGINT NOT NULL CHECK (units > 0),
  remaining BIGINT NOT NULL CHECK (remaining >= 0),
  expired BIGINT NOT NULL DEFAULT 0 CHECK (expired >= 0),
  voided BIGINT NOT NULL DEFAULT 0 CHECK (voided >= 0),
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'voiding', 'voided')),
  created_at BIGINT NOT NULL,
  effective_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE INDEX allocation_account ON allocation (account_id, expires_at);
CREATE UNIQUE INDEX allocation_starter ON allocation (account_id) WHERE origin = 'starter_grant';
CREATE INDEX allocation_due ON allocation (expires_at) WHERE remaining > 0;
CREATE INDEX allocation_voiding ON allocation (id) WHERE state = 'voiding';

CREATE TABLE incarnation (
  id BIGINT PRIMARY KEY NOT NULL,
  node TEXT NOT NULL,
  started_at BIGINT NOT NULL
);

-- What a capped key's leases of that day or month have been granted.
CREATE TABLE key_window (
  key_id TEXT NOT NULL,
  span TEXT NOT NULL CHECK (span IN ('day', 'month')),
  starts_at BIGINT NOT NULL,
  taken BIGINT NOT NULL CHECK (taken >= 0),
  PRIMARY KEY (key_id, span, starts_at)
);

-- Until until_ms every node returns the units of the account that no call of its own holds, except
-- the node that asks (its incarnation and key; 0 and '': nobody's).
CREATE TABLE recall (
  account_id TEXT NOT NULL,
  incarnation BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (account_id, incarnation, key_id)
);

CREATE INDEX recall_until ON recall (until_ms);

-- Append-only. Each names the fact it corrects by its message, and the allocation that carries the
-- units. A key of the service's own holds a blank, which no operator's can.
CREATE TABLE correction (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'void')),
  units BIGINT NOT NULL CHECK (units > 0),
  reason TEXT NOT NULL,
  reference TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  allocation_id TEXT NOT NULL UNIQUE,
  operator_id TEXT NOT NULL,
  recorded_at BIGINT NOT NULL,
  UNIQUE (account_id, idempotency_key)
);

CREATE INDEX correction_message ON correction (message_id);

-- Idempotency-Keys (ledger/replay.h): who has claimed one, and the reply of the call once it is
-- charged. Digests are hex; headers and body are base64url, since a reply may hold any byte.
CREATE TABLE replay (
  key_digest TEXT PRIMARY KEY NOT NULL,
  request_digest TEXT NOT NULL,
  request_id TEXT NOT NULL,
  incarnation BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('claimed', 'stored', 'too_large')),
  claimed_until BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  status BIGINT NOT NULL DEFAULT 0,
  headers TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT ''
);

CREATE INDEX replay_expiry ON replay (expires_at);

-- Requests granted to `:free` variants, for each account and bucket: at least what was granted. A
-- row says nothing any more from ends_at on.
CREATE TABLE free_count (
  account_id TEXT NOT NULL,
  bucket TEXT NOT NULL,
  window_start BIGINT NOT NULL,
  window_used BIGINT NOT NULL,
  quota_start BIGINT NOT NULL,
  quota_used BIGINT NOT NULL,
  cumulative BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, bucket)
);

CREATE INDEX free_count_end ON free_count (ends_at);

CREATE TABLE generation (
  epoch_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  id TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  compiled_at BIGINT NOT NULL,
  PRIMARY KEY (epoch_id, payload_hash)
);

-- The files of a program, as JSON: [[name below the registry's directory, text], ...]. Kept for the
-- newest generations.
CREATE TABLE generation_files (
  epoch_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  files TEXT NOT NULL,
  PRIMARY KEY (epoch_id, payload_hash)
);

-- rolled_back_from: the program that the files held when another one was installed in its place;
-- empty: the installed program is that of the files.
CREATE TABLE manifest (
  sequence BIGINT PRIMARY KEY NOT NULL,
  epoch_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  installed_at BIGINT NOT NULL,
  rolled_back_from TEXT NOT NULL DEFAULT ''
);

-- definition: canonical JSON of what the digest is of.
CREATE TABLE registry_fact (
  key TEXT PRIMARY KEY NOT NULL,
  digest TEXT NOT NULL,
  definition TEXT NOT NULL DEFAULT ''
);

CREATE TABLE secret (
  name TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
);
