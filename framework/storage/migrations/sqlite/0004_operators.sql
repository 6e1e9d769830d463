-- min_reader: 2
-- Operators, and what they give back for calls that were charged.

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
