-- min_reader: 2
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
