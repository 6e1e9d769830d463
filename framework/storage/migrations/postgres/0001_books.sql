-- min_reader: 1
-- Accounts, keys, the books of Credits, the manifest and shared secrets. Money and times are whole
-- numbers (Credits; milliseconds since 1970 UTC), identifiers are text or whole numbers.

CREATE TABLE account (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN
    ('provisioning', 'active', 'provisioning_failed', 'suspended', 'closed')),
  created_at BIGINT NOT NULL
);

CREATE TABLE api_key (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  name TEXT NOT NULL,
  environment TEXT NOT NULL CHECK (environment IN ('development', 'staging', 'production')),
  prefix TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1,
  revoked_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX api_key_account ON api_key (account_id);

-- Numbers are taken by updating the counter, whose row lock orders the commits of their takers: a
-- reader that has seen a number has seen every smaller one.
CREATE TABLE counter (
  name TEXT PRIMARY KEY NOT NULL,
  value BIGINT NOT NULL
);

INSERT INTO counter (name, value) VALUES
  ('identity_change', 0), ('ledger_epoch', 1), ('ledger_time', 0), ('incarnation', 0),
  ('registry_epoch', 1), ('generation', 0), ('manifest', 0);

CREATE TABLE identity_change (
  sequence BIGINT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  digest TEXT NOT NULL
);

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

CREATE TABLE incarnation (
  id BIGINT PRIMARY KEY NOT NULL,
  node TEXT NOT NULL,
  started_at BIGINT NOT NULL
);

-- purpose 0: the node's escrow; 1: settlements whose own lease was lost.
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
  CHECK (settled <= granted)
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX lease_open ON lease (allocation_id, incarnation, purpose)
  WHERE state = 'open';
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

-- One row for each transaction of a committer, written first in it.
CREATE TABLE settle_batch (
  stream BIGINT NOT NULL,
  no BIGINT NOT NULL,
  first_seq BIGINT NOT NULL,
  facts BIGINT NOT NULL,
  head TEXT NOT NULL,
  PRIMARY KEY (stream, no)
);

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

CREATE TABLE generation (
  epoch_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  id TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  compiled_at BIGINT NOT NULL,
  PRIMARY KEY (epoch_id, payload_hash)
);

CREATE TABLE manifest (
  sequence BIGINT PRIMARY KEY NOT NULL,
  epoch_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  installed_at BIGINT NOT NULL
);

CREATE TABLE registry_fact (
  key TEXT PRIMARY KEY NOT NULL,
  digest TEXT NOT NULL
);

CREATE TABLE secret (
  name TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
);

-- One batch of a committer in one round trip. NULL: committed. Otherwise nothing but the batch row
-- stays, and the result names the leases that cannot pay and the messages that were known already.
CREATE FUNCTION settle_v1(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_lease_count BIGINT,
  p_facts JSON, p_leases JSON, p_shares JSON) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  done BIGINT;
BEGIN
  INSERT INTO settle_batch (stream, no, first_seq, facts, head)
    VALUES (p_stream, p_no, p_first_seq, p_count, '');
  BEGIN
    INSERT INTO fact (stream, seq, message_id, request_id, client_request_id, account_id,
        api_key_id, occurred_at, route_id, route_revision, method, lane, credit_cost,
        credits_charged, price_version, generation, outcome_reason, upstream_status, upstream_ms,
        lease_id)
      SELECT p_stream, q, m, r, c, a, k, t, o, v, d, n, x, u, p, g, w, s, f, l
        FROM json_to_recordset(p_facts) AS j(q BIGINT, m TEXT, r TEXT, c TEXT, a TEXT, k TEXT,
          t BIGINT, o TEXT, v BIGINT, d TEXT, n TEXT, x BIGINT, u BIGINT, p BIGINT, g TEXT,
          w TEXT, s BIGINT, f BIGINT, l BIGINT)
      ON CONFLICT (message_id) DO NOTHING;
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done <> p_count THEN
      RAISE EXCEPTION USING ERRCODE = 'TP001', MESSAGE = 'repeated message';
    END IF;
    UPDATE lease SET settled = settled + j.u
      FROM json_to_recordset(p_leases) AS j(l BIGINT, e BIGINT, u BIGINT)
      WHERE lease.id = j.l AND lease.epoch = j.e AND lease.state = 'open'
        AND lease.settled + j.u <= lease.granted;
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done <> p_lease_count THEN
      RAISE EXCEPTION USING ERRCODE = 'TP001', MESSAGE = 'lost lease';
    END IF;
    IF p_shares IS NOT NULL THEN
      INSERT INTO fact_share (stream, seq, lease_id, units)
        SELECT p_stream, q, l, u FROM json_to_recordset(p_shares) AS j(q BIGINT, l BIGINT, u BIGINT);
    END IF;
    RETURN NULL;
  EXCEPTION WHEN SQLSTATE 'TP001' THEN
    UPDATE settle_batch SET facts = 0 WHERE stream = p_stream AND no = p_no;
    RETURN json_build_object(
      'repeated', (SELECT COALESCE(json_agg(json_build_array(j.q, fact.credits_charged)), '[]')
        FROM json_to_recordset(p_facts) AS j(q BIGINT, m TEXT)
        JOIN fact ON fact.message_id = j.m),
      'lost', (SELECT COALESCE(json_agg(j.l), '[]')
        FROM json_to_recordset(p_leases) AS j(l BIGINT, e BIGINT, u BIGINT)
        WHERE NOT EXISTS (SELECT 1 FROM lease WHERE lease.id = j.l AND lease.epoch = j.e
          AND lease.state = 'open' AND lease.settled + j.u <= lease.granted)));
  END;
END
$$;
