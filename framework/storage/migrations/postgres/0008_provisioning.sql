-- min_reader: 2
-- Who an account belongs to, where that is known, and the starter grants that were claimed: one for
-- each owner, however many accounts.

ALTER TABLE account ADD COLUMN owner TEXT NOT NULL DEFAULT '';

CREATE INDEX account_status ON account (status);

CREATE TABLE starter_claim (
  owner TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id)
);
