-- min_reader: 1
-- Mail that is to be sent, links in it to what is nobody's yet, and what people are told of their
-- credentials. Digests are hex; -1: never.

-- Written in the transaction of what it tells. It holds no token: a link is made when the mail is
-- sent. recipient: '' where it is found by `login` then. object_id: of an invitation. name, role,
-- detail: what the text shows. A node that takes a mail has it until claimed_until; tries is how
-- often it was taken. ended_at: it is sent, given up, or was for nobody (outcome).
CREATE TABLE mail_outbox (
  id TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind IN ('invitation', 'recovery', 'verify_email', 'sign_up', 'notice')),
  recipient TEXT NOT NULL DEFAULT '',
  person_id TEXT NOT NULL DEFAULT '',
  login TEXT NOT NULL DEFAULT '',
  object_id TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL DEFAULT '',
  role TEXT NOT NULL DEFAULT '',
  detail TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  claimed_until BIGINT NOT NULL DEFAULT -1,
  tries BIGINT NOT NULL DEFAULT 0,
  ended_at BIGINT NOT NULL DEFAULT -1,
  outcome TEXT NOT NULL DEFAULT 'waiting'
    CHECK (outcome IN ('waiting', 'sent', 'given_up', 'nobody')),
  problem TEXT NOT NULL DEFAULT ''
);

CREATE INDEX mail_outbox_due ON mail_outbox (due_at, id) WHERE ended_at = -1;
CREATE INDEX mail_outbox_ended ON mail_outbox (ended_at);

-- What a mail brings to somebody who may be no person yet: an invitation, or their own sign-up.
CREATE TABLE mailed_link (
  digest TEXT PRIMARY KEY NOT NULL,
  invitation_id TEXT NOT NULL DEFAULT '',
  email TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  expires_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX mailed_link_expiry ON mailed_link (expires_at);

-- What a person is told on their page, since no mail told them; seen_at: until they say so.
CREATE TABLE person_notice (
  id TEXT PRIMARY KEY NOT NULL,
  person_id TEXT NOT NULL REFERENCES person (id),
  notice TEXT NOT NULL,
  detail TEXT NOT NULL,
  address TEXT NOT NULL,
  at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL DEFAULT -1
);

CREATE INDEX person_notice_unseen ON person_notice (person_id, at) WHERE seen_at = -1;

-- An address that the person has yet to prove; `email` is the one that they have proved.
ALTER TABLE person ADD COLUMN new_email TEXT NOT NULL DEFAULT '';
