-- min_reader: 1
-- The evidence of the status (status/store.h): rounds, what follows from them, what operators say,
-- release sweeps. Times are milliseconds since 1970 UTC, 0 where nothing has happened; lists of
-- texts or numbers are JSON arrays. What is deflated is in the engine's folder.

-- 'leader': who may close rounds. The epoch grows when the lease is taken anew.
CREATE TABLE status_lease (
  name TEXT PRIMARY KEY NOT NULL,
  holder TEXT NOT NULL DEFAULT '',
  epoch BIGINT NOT NULL DEFAULT 0,
  until_ms BIGINT NOT NULL DEFAULT 0
);

INSERT INTO status_lease (name) VALUES ('leader');

-- Its row lock orders the beginnings of sweeps.
INSERT INTO counter (name, value) VALUES ('status_sweep', 0);

-- The heads of all rounds, for ever. records: how many it has; their lines are in status_lines.
CREATE TABLE status_round (
  stream TEXT NOT NULL,
  round BIGINT NOT NULL,
  prev TEXT NOT NULL,
  head TEXT NOT NULL,
  records BIGINT NOT NULL,
  generation TEXT NOT NULL,
  targets_hash TEXT NOT NULL,
  rules_hash TEXT NOT NULL,
  state_hash TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  node TEXT NOT NULL,
  nodes TEXT NOT NULL,
  kid TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (stream, round)
);

-- Canonical JSON of each set of targets that a round commits to.
CREATE TABLE status_target_set (
  hash TEXT PRIMARY KEY NOT NULL,
  targets TEXT NOT NULL
);

-- The keys that rounds were signed with, as base64url.
CREATE TABLE status_key (
  kid TEXT PRIMARY KEY NOT NULL,
  public_key TEXT NOT NULL,
  first_round BIGINT NOT NULL
);

-- latencies: counts by bucket.
CREATE TABLE status_segment (
  scope TEXT NOT NULL,
  length_ms BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  expected BIGINT NOT NULL,
  passed BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  unknown BIGINT NOT NULL,
  traffic_rounds BIGINT NOT NULL,
  good BIGINT NOT NULL,
  provider_fault BIGINT NOT NULL,
  gateway_fault BIGINT NOT NULL,
  latencies TEXT NOT NULL,
  status TEXT NOT NULL,
  first_round BIGINT NOT NULL,
  last_round BIGINT NOT NULL,
  PRIMARY KEY (scope, length_ms, started_at)
);

CREATE INDEX status_segment_start ON status_segment (length_ms, started_at);

-- calls_refused, credits_charged: what it cost callers, added up from round to round.
CREATE TABLE status_incident (
  id TEXT PRIMARY KEY NOT NULL,
  scope TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('automatic', 'operators')),
  state TEXT NOT NULL,
  severity TEXT NOT NULL,
  resolution TEXT NOT NULL,
  is_stale BIGINT NOT NULL,
  signals TEXT NOT NULL,
  affected TEXT NOT NULL,
  difference TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  opened_at BIGINT NOT NULL,
  recovering_at BIGINT NOT NULL,
  resolved_at BIGINT NOT NULL,
  first_round BIGINT NOT NULL,
  last_round BIGINT NOT NULL,
  calls_refused BIGINT NOT NULL DEFAULT 0,
  credits_charged BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX status_incident_start ON status_incident (started_at, id);
CREATE INDEX status_incident_now ON status_incident (started_at, id) WHERE state <> 'resolved';
CREATE INDEX status_incident_end ON status_incident (resolved_at) WHERE state = 'resolved';

-- no: among the events of its round, 0 for those of operators. from_state '': it begins.
CREATE TABLE status_incident_event (
  incident_id TEXT NOT NULL,
  round BIGINT NOT NULL,
  no BIGINT NOT NULL,
  at BIGINT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (incident_id, round, no)
);

CREATE TABLE status_incident_note (
  incident_id TEXT NOT NULL REFERENCES status_incident (id),
  no BIGINT NOT NULL,
  at BIGINT NOT NULL,
  operator_id TEXT NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (incident_id, no)
);

CREATE TABLE status_maintenance (
  id TEXT PRIMARY KEY NOT NULL,
  scope TEXT NOT NULL,
  note TEXT NOT NULL,
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  operator_id TEXT NOT NULL,
  announced_at BIGINT NOT NULL,
  cancelled_at BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX status_maintenance_end ON status_maintenance (ends_at) WHERE cancelled_at = 0;

-- What each node reports of a round, as the node wrote it.
CREATE TABLE status_traffic (
  node TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  generation TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (node, started_at)
);

CREATE INDEX status_traffic_start ON status_traffic (started_at, node);

-- What an upstream's replies to a sample look like, by operation.
CREATE TABLE status_shape (
  operation TEXT PRIMARY KEY NOT NULL,
  shape TEXT NOT NULL,
  learned_at BIGINT NOT NULL
);

CREATE TABLE status_sweep (
  id TEXT PRIMARY KEY NOT NULL,
  release TEXT NOT NULL,
  generation_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  principal TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed')),
  reason TEXT NOT NULL DEFAULT '',
  started_at BIGINT NOT NULL,
  completed_at BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL,
  UNIQUE (release, generation_id)
);

CREATE UNIQUE INDEX status_sweep_running ON status_sweep (state) WHERE state = 'running';

-- no: the place in the set of targets. result '': it is open.
CREATE TABLE status_sweep_target (
  sweep_id TEXT NOT NULL REFERENCES status_sweep (id),
  no BIGINT NOT NULL,
  target TEXT NOT NULL,
  monitoring TEXT NOT NULL,
  result TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  observed_at BIGINT NOT NULL DEFAULT 0,
  round BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (sweep_id, no),
  UNIQUE (sweep_id, target)
);
