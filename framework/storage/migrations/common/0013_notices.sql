-- min_reader: 1
-- Notifications out (notices/store.h): endpoints, events, deliveries. Times: -1 is never.

-- types: names divided by blanks; empty: all. disabled: why nothing is sent; empty: it is enabled.
-- Secrets are base64url, since what is to be signed with cannot be kept as a digest.
CREATE TABLE notice_endpoint (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  types TEXT NOT NULL,
  disabled TEXT NOT NULL,
  disabled_at BIGINT NOT NULL DEFAULT -1,
  secret TEXT NOT NULL,
  old_secret TEXT NOT NULL DEFAULT '',
  old_secret_until BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT NOT NULL DEFAULT -1,
  delivered_at BIGINT NOT NULL DEFAULT -1,
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL
);

CREATE INDEX notice_endpoint_account ON notice_endpoint (account_id, created_at);
CREATE INDEX notice_endpoint_enabled ON notice_endpoint (account_id) WHERE disabled = '';

-- A row stays for ever, so that nothing is told twice; what it said is emptied after a while.
CREATE TABLE notice_event (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  type TEXT NOT NULL,
  dedupe_key TEXT NOT NULL,
  happened_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  UNIQUE (account_id, dedupe_key)
);

CREATE INDEX notice_event_kept ON notice_event (happened_at) WHERE data <> '';

-- No reference to the endpoint: whoever removes it must not stop the transaction in which an event
-- happens, and a delivery without an endpoint is not sent.
CREATE TABLE notice_delivery (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  event_id TEXT NOT NULL REFERENCES notice_event (id),
  endpoint_id TEXT NOT NULL,
  type TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'cancelled')),
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  last_status BIGINT NOT NULL DEFAULT 0,
  last_problem TEXT NOT NULL DEFAULT '',
  last_at BIGINT NOT NULL DEFAULT -1,
  created_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX notice_delivery_account ON notice_delivery (account_id, created_at, id);
CREATE INDEX notice_delivery_due ON notice_delivery (due_at, id) WHERE state = 'pending';
CREATE INDEX notice_delivery_endpoint ON notice_delivery (endpoint_id, due_at, id)
  WHERE state = 'pending';
CREATE INDEX notice_delivery_event ON notice_delivery (event_id);
CREATE INDEX notice_delivery_ended ON notice_delivery (ended_at) WHERE ended_at >= 0;

-- credits_low: the threshold; -1: none. is_low: the account was told, and was not above it since
-- (0 or 1). told: how often.
CREATE TABLE notice_setting (
  account_id TEXT PRIMARY KEY NOT NULL REFERENCES account (id),
  credits_low BIGINT NOT NULL,
  is_low BIGINT NOT NULL DEFAULT 0,
  told BIGINT NOT NULL DEFAULT 0
);

-- When a scan was last begun.
CREATE TABLE notice_scan (
  name TEXT PRIMARY KEY NOT NULL,
  begun_at BIGINT NOT NULL
);

INSERT INTO notice_scan (name, begun_at) VALUES ('accounts', 0), ('sweep', 0), ('prices', 0);

-- What calls cost when a node last said so.
CREATE TABLE notice_price (
  route_id TEXT NOT NULL,
  method TEXT NOT NULL,
  credit_cost BIGINT NOT NULL,
  PRIMARY KEY (route_id, method)
);
