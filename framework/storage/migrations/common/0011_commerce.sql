-- min_reader: 1
-- Buying Credits (commerce/purchase.h): terms, purchases, refunds. Amounts are in the smallest part
-- of the currency. Times: -1 is never.

INSERT INTO counter (name, value) VALUES ('offer_terms', 1), ('purchase', 0);

-- Revisions never change but for their end. processor: empty, each one sells by them.
CREATE TABLE offer_terms (
  revision BIGINT PRIMARY KEY NOT NULL,
  processor TEXT NOT NULL,
  currency TEXT NOT NULL,
  unit_minor BIGINT NOT NULL CHECK (unit_minor > 0),
  unit_credits BIGINT NOT NULL CHECK (unit_credits > 0),
  minimum_minor BIGINT NOT NULL CHECK (minimum_minor > 0),
  maximum_minor BIGINT NOT NULL CHECK (maximum_minor >= minimum_minor),
  step_minor BIGINT NOT NULL CHECK (step_minor > 0),
  validity_days BIGINT NOT NULL CHECK (validity_days > 0),
  published_at BIGINT NOT NULL,
  retired_at BIGINT NOT NULL DEFAULT -1
);

INSERT INTO offer_terms (revision, processor, currency, unit_minor, unit_credits, minimum_minor,
  maximum_minor, step_minor, validity_days, published_at)
  VALUES (1, '', 'USD', 100, 1000, 100, 100000, 10, 365, 0);

-- hints: how often somebody said that there may be news; lease_until: somebody works on it;
-- is_claw_settled: what is to be taken back was, as far as it can be (0 or 1).
CREATE TABLE purchase (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  sequence BIGINT NOT NULL UNIQUE,
  origin TEXT NOT NULL CHECK (origin IN ('purchase', 'auto_top_up')),
  offer_id TEXT NOT NULL,
  currency TEXT NOT NULL,
  minor BIGINT NOT NULL CHECK (minor > 0),
  credits BIGINT NOT NULL CHECK (credits > 0),
  validity_days BIGINT NOT NULL CHECK (validity_days > 0),
  processor TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('created', 'awaiting_payment', 'paid', 'credited',
    'refunded', 'disputed', 'failed', 'expired', 'cancelled')),
  version BIGINT NOT NULL DEFAULT 1,
  created_by TEXT NOT NULL,
  key_digest TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  reply TEXT NOT NULL DEFAULT '',
  reference TEXT NOT NULL DEFAULT '',
  url TEXT NOT NULL DEFAULT '',
  customer TEXT NOT NULL DEFAULT '',
  payment TEXT NOT NULL DEFAULT '',
  begin_number BIGINT NOT NULL DEFAULT 0,
  tax_minor BIGINT NOT NULL DEFAULT 0 CHECK (tax_minor >= 0),
  refunded_minor BIGINT NOT NULL DEFAULT 0 CHECK (refunded_minor >= 0),
  wanted BIGINT NOT NULL DEFAULT 0 CHECK (wanted >= 0),
  clawed BIGINT NOT NULL DEFAULT 0 CHECK (clawed >= 0),
  lost BIGINT NOT NULL DEFAULT 0 CHECK (lost >= 0),
  is_claw_settled BIGINT NOT NULL DEFAULT 1,
  dispute_id TEXT NOT NULL DEFAULT '',
  locks_account BIGINT NOT NULL DEFAULT 0,
  failure_code TEXT NOT NULL DEFAULT '',
  conflict TEXT NOT NULL DEFAULT '',
  looks BIGINT NOT NULL DEFAULT 0,
  hints BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  paid_at BIGINT NOT NULL DEFAULT -1,
  credited_at BIGINT NOT NULL DEFAULT -1,
  UNIQUE (account_id, key_digest)
);

CREATE INDEX purchase_account ON purchase (account_id, sequence);
CREATE INDEX purchase_due ON purchase (due_at) WHERE due_at >= 0;
CREATE UNIQUE INDEX purchase_reference ON purchase (processor, reference) WHERE reference <> '';
CREATE UNIQUE INDEX purchase_payment ON purchase (processor, payment) WHERE payment <> '';
CREATE INDEX purchase_lock ON purchase (account_id) WHERE locks_account <> 0;
CREATE INDEX purchase_open ON purchase (account_id)
  WHERE state IN ('created', 'awaiting_payment', 'paid');
-- An account is topped up once at a time, however many nodes see that it is low.
CREATE UNIQUE INDEX purchase_auto ON purchase (account_id)
  WHERE origin = 'auto_top_up' AND state IN ('created', 'awaiting_payment', 'paid');

-- What purchases were given back after a dispute that was won, or a refund that was refused:
-- allocations beside the purchase's own. cause: the dispute's or refund's id.
CREATE TABLE purchase_restoration (
  allocation_id TEXT PRIMARY KEY NOT NULL,
  purchase_id TEXT NOT NULL REFERENCES purchase (id),
  cause TEXT NOT NULL,
  units BIGINT NOT NULL CHECK (units > 0),
  UNIQUE (purchase_id, cause)
);

CREATE TABLE purchase_refund (
  id TEXT PRIMARY KEY NOT NULL,
  purchase_id TEXT NOT NULL REFERENCES purchase (id),
  minor BIGINT NOT NULL CHECK (minor > 0),
  wanted BIGINT NOT NULL CHECK (wanted >= 0),
  state TEXT NOT NULL CHECK (state IN ('requested', 'sent', 'refused')),
  reference TEXT NOT NULL DEFAULT '',
  refusal TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL,
  operator TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE INDEX purchase_refund_purchase ON purchase_refund (purchase_id);
CREATE INDEX purchase_refund_requested ON purchase_refund (created_at) WHERE state = 'requested';

-- What a processor calls an account.
CREATE TABLE processor_customer (
  account_id TEXT NOT NULL REFERENCES account (id),
  processor TEXT NOT NULL,
  customer TEXT NOT NULL,
  PRIMARY KEY (account_id, processor)
);

-- How far the changes of a processor were read: all before since_at.
CREATE TABLE processor_changes (
  processor TEXT PRIMARY KEY NOT NULL,
  since_at BIGINT NOT NULL,
  read_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL
);
