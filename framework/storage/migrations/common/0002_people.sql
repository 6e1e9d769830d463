-- min_reader: 1
-- People, their credentials and sessions, and what they may do in which account. Digests are hex,
-- bytes base64url; -1: never.

-- login: folded to lower case. webauthn_handle: what authenticators know the person by.
CREATE TABLE person (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  login TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL DEFAULT '',
  email_verified_at BIGINT NOT NULL DEFAULT -1,
  webauthn_handle TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('active', 'disabled')),
  created_at BIGINT NOT NULL,
  last_sign_in_at BIGINT NOT NULL DEFAULT -1
);

-- public_key: the text form of crypto/passkey_key.h. transports: words, divided by blanks.
CREATE TABLE passkey (
  id TEXT PRIMARY KEY NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  credential_id TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  sign_count BIGINT NOT NULL,
  backup_eligible BIGINT NOT NULL,
  backed_up BIGINT NOT NULL,
  transports TEXT NOT NULL,
  aaguid TEXT NOT NULL,
  rp_id TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX passkey_person ON passkey (person_id);

CREATE TABLE one_time_link (
  digest TEXT PRIMARY KEY NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  created_by TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX one_time_link_person ON one_time_link (person_id);
CREATE INDEX one_time_link_expiry ON one_time_link (expires_at);

-- Challenges that were answered. They carry what they are for themselves, signed, so one that is
-- never answered leaves nothing here.
CREATE TABLE used_ceremony (
  id TEXT PRIMARY KEY NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE INDEX used_ceremony_expiry ON used_ceremony (expires_at);

-- tail_digest: of the token before the last, with which requests that were on their way may still
-- read until tail_until.
CREATE TABLE session (
  id TEXT PRIMARY KEY NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  tail_digest TEXT NOT NULL DEFAULT '',
  tail_until BIGINT NOT NULL DEFAULT -1,
  person_id TEXT NOT NULL REFERENCES person (id),
  name TEXT NOT NULL DEFAULT '',
  transport TEXT NOT NULL CHECK (transport IN ('cookie', 'bearer')),
  method TEXT NOT NULL,
  strength TEXT NOT NULL CHECK (strength IN ('enrol', 'single', 'multi')),
  step_up_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  last_seen_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL DEFAULT -1,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL
);

CREATE INDEX session_tail ON session (tail_digest) WHERE tail_digest <> '';
CREATE INDEX session_person ON session (person_id, created_at) WHERE ended_at = -1;
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE membership (
  account_id TEXT NOT NULL REFERENCES account (id),
  person_id TEXT NOT NULL REFERENCES person (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  PRIMARY KEY (account_id, person_id)
);

CREATE INDEX membership_person ON membership (person_id);

CREATE TABLE invitation (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL REFERENCES account (id),
  email TEXT NOT NULL DEFAULT '',
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  digest TEXT NOT NULL UNIQUE,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  accepted_by TEXT NOT NULL DEFAULT '',
  ended_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX invitation_account ON invitation (account_id, created_at);

-- How often something was tried in a window of time.
CREATE TABLE throttle (
  key TEXT NOT NULL,
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  PRIMARY KEY (key, starts_at)
);

CREATE INDEX throttle_end ON throttle (ends_at);

-- Append-only, written in the transaction of what it tells. account_id: '' where it is of none.
CREATE TABLE audit_event (
  sequence BIGINT PRIMARY KEY NOT NULL,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  session_id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'refused')),
  method TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  request_id TEXT NOT NULL,
  detail TEXT NOT NULL
);

CREATE INDEX audit_event_account ON audit_event (account_id, sequence);
CREATE INDEX audit_event_target ON audit_event (target, sequence);

INSERT INTO counter (name, value) VALUES ('audit', 0);
