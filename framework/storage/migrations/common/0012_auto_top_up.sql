-- min_reader: 1
-- Auto Top-Up (commerce/auto_top_up.h): saved methods, policies, and what becomes of them. Amounts
-- are in the smallest part of the currency. Times: -1 is never.

-- Of runs; else empty and 0. saved_method: what is charged, as the processor names it.
ALTER TABLE purchase ADD COLUMN policy_revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE purchase ADD COLUMN setup_id TEXT NOT NULL DEFAULT '';
ALTER TABLE purchase ADD COLUMN saved_method TEXT NOT NULL DEFAULT '';
ALTER TABLE purchase ADD COLUMN charge_number BIGINT NOT NULL DEFAULT 0;
-- Whether the run ended with a decline (0 or 1).
ALTER TABLE purchase ADD COLUMN is_declined BIGINT NOT NULL DEFAULT 0;

CREATE INDEX purchase_run ON purchase (account_id, created_at) WHERE origin = 'auto_top_up';

-- method and what follows: once it succeeded. is_gone (0 or 1): it is not there any more.
CREATE TABLE payment_setup (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  processor TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('needs_reconciliation', 'requires_action', 'succeeded',
    'failed')),
  version BIGINT NOT NULL DEFAULT 1,
  created_by TEXT NOT NULL,
  key_digest TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  reply TEXT NOT NULL DEFAULT '',
  reference TEXT NOT NULL DEFAULT '',
  url TEXT NOT NULL DEFAULT '',
  customer TEXT NOT NULL DEFAULT '',
  begin_number BIGINT NOT NULL DEFAULT 0,
  method TEXT NOT NULL DEFAULT '',
  brand TEXT NOT NULL DEFAULT '',
  last4 TEXT NOT NULL DEFAULT '',
  fingerprint TEXT NOT NULL DEFAULT '',
  expires_month BIGINT NOT NULL DEFAULT 0,
  expires_year BIGINT NOT NULL DEFAULT 0,
  is_gone BIGINT NOT NULL DEFAULT 0,
  failure_code TEXT NOT NULL DEFAULT '',
  looks BIGINT NOT NULL DEFAULT 0,
  hints BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  UNIQUE (account_id, key_digest)
);

CREATE INDEX payment_setup_account ON payment_setup (account_id, created_at);
CREATE INDEX payment_setup_due ON payment_setup (due_at) WHERE due_at >= 0;
CREATE UNIQUE INDEX payment_setup_reference ON payment_setup (processor, reference)
  WHERE reference <> '';
CREATE INDEX payment_setup_method ON payment_setup (processor, method) WHERE method <> '';

-- Revisions, which never change.
CREATE TABLE top_up_policy (
  account_id TEXT NOT NULL REFERENCES account (id),
  revision BIGINT NOT NULL CHECK (revision > 0),
  is_enabled BIGINT NOT NULL,
  threshold BIGINT NOT NULL CHECK (threshold > 0),
  currency TEXT NOT NULL,
  minor BIGINT NOT NULL CHECK (minor > 0),
  credits BIGINT NOT NULL CHECK (credits >= 0),
  monthly_limit_minor BIGINT NOT NULL CHECK (monthly_limit_minor > 0),
  setup_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  key_digest TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  PRIMARY KEY (account_id, revision),
  UNIQUE (account_id, key_digest)
);

-- One row for each account with a policy. runs: how many were ever opened.
CREATE TABLE top_up (
  account_id TEXT PRIMARY KEY NOT NULL REFERENCES account (id),
  revision BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('off', 'active', 'paused_limit', 'paused_failure',
    'needs_payment_method')),
  reason TEXT NOT NULL,
  failures BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  runs BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX top_up_ready ON top_up (next_attempt_at) WHERE state IN ('active', 'paused_limit');

-- One row: which node looks for accounts with few Credits, and until when.
CREATE TABLE top_up_scan (
  id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
  lease_until BIGINT NOT NULL
);
INSERT INTO top_up_scan (id, lease_until) VALUES (1, 0);
