-- min_reader: 1
-- What people prove with besides passkeys, what their links are for, and until when keys are good.
-- Digests are hex; -1: never.

-- hash: the text form of crypto/password_hash.h. failures: wrong passwords in a row; the next try is
-- judged from retry_at on.
CREATE TABLE password (
  person_id TEXT PRIMARY KEY NOT NULL REFERENCES person (id),
  hash TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  failures BIGINT NOT NULL DEFAULT 0,
  retry_at BIGINT NOT NULL DEFAULT -1
);

-- A browser in which a person has signed in before: its wrong passwords count apart.
CREATE TABLE known_device (
  digest TEXT NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  expires_at BIGINT NOT NULL,
  failures BIGINT NOT NULL DEFAULT 0,
  retry_at BIGINT NOT NULL DEFAULT -1,
  PRIMARY KEY (digest, person_id)
);

CREATE INDEX known_device_expiry ON known_device (expires_at);

CREATE TABLE recovery_code (
  digest TEXT PRIMARY KEY NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX recovery_code_person ON recovery_code (person_id);

-- Who a person is at another provider of identities. provider: its key in the configuration.
CREATE TABLE external_identity (
  id TEXT PRIMARY KEY NOT NULL,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  provider TEXT NOT NULL,
  email TEXT NOT NULL DEFAULT '',
  linked_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL DEFAULT -1,
  UNIQUE (issuer, subject)
);

CREATE INDEX external_identity_person ON external_identity (person_id);

-- email: the address that the link was sent to, and proves.
ALTER TABLE one_time_link ADD COLUMN purpose TEXT NOT NULL DEFAULT 'sign_in'
  CHECK (purpose IN ('sign_in', 'recovery', 'verify_email'));
ALTER TABLE one_time_link ADD COLUMN email TEXT NOT NULL DEFAULT '';

ALTER TABLE api_key ADD COLUMN expires_at BIGINT NOT NULL DEFAULT -1;

CREATE INDEX audit_event_at ON audit_event (at);
