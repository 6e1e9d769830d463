-- min_reader: 1
-- Clients of the authorization server, what people grant them, and the tokens that they have for
-- it. Digests are hex; -1: never.

-- redirect_uris: a JSON array of texts. last_used_at: when a person last granted it something.
CREATE TABLE oauth_client (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  uri TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1,
  blocked_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX oauth_client_unused ON oauth_client (created_at, id) WHERE last_used_at = -1;

CREATE TABLE oauth_grant (
  id TEXT PRIMARY KEY NOT NULL,
  client_id TEXT NOT NULL REFERENCES oauth_client (id),
  redirect_uri TEXT NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  account_id TEXT NOT NULL REFERENCES account (id),
  cap_per_day BIGINT NOT NULL DEFAULT -1,
  cap_per_month BIGINT NOT NULL DEFAULT -1,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL DEFAULT -1,
  end_reason TEXT NOT NULL DEFAULT ''
);

CREATE INDEX oauth_grant_person ON oauth_grant (person_id, created_at) WHERE ended_at = -1;
CREATE INDEX oauth_grant_account ON oauth_grant (account_id, created_at) WHERE ended_at = -1;
CREATE INDEX oauth_grant_client ON oauth_grant (client_id) WHERE ended_at = -1;

-- challenge: of a code. generation and sealed_successor: of a refresh token, which is used once and
-- followed by the next; the successor can be read with the token itself alone.
CREATE TABLE oauth_token (
  digest TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh')),
  grant_id TEXT NOT NULL REFERENCES oauth_grant (id),
  generation BIGINT NOT NULL DEFAULT 0,
  challenge TEXT NOT NULL DEFAULT '',
  expires_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL DEFAULT -1,
  sealed_successor TEXT NOT NULL DEFAULT ''
);

CREATE UNIQUE INDEX oauth_token_generation ON oauth_token (grant_id, generation)
  WHERE kind = 'refresh';
CREATE INDEX oauth_token_grant ON oauth_token (grant_id);
CREATE INDEX oauth_token_expiry ON oauth_token (expires_at);
