-- min_reader: 2
-- What plugins keep (sdk/turnpike/store.h). A version is drawn at random for each change.
CREATE TABLE plugin_record (
  plugin TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  value BYTEA NOT NULL,
  PRIMARY KEY (plugin, key)
);

-- One row for each session that writes records: the number of its last group, and the positions of
-- the applies in it that conflicted. Whoever lost the answer to a group fences the session, which
-- waits until the group has come to its end: one that comes later changes nothing.
CREATE TABLE record_stream (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  no BIGINT NOT NULL DEFAULT 0,
  conflicts TEXT NOT NULL DEFAULT '',
  is_fenced BOOLEAN NOT NULL DEFAULT FALSE,
  used_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- Writes one group; returns the positions of the applies that conflicted. Parameters are arrays of
-- rows: p_names every key that the group names (p plugin, k key); p_checks also the position of its
-- apply and the version that must be there, 0 for none (a, v); p_writes the new version and the
-- value in hex (a, v, b); p_removes (a). A key that one apply writes is named by no other of them.
--
-- Keys are locked, not rows, since a check may ask that there be no row; in the order of the locks,
-- so that groups of several nodes wait for each other in no circle. Whatever comes after the locks
-- sees what their holders before us have committed.
CREATE FUNCTION write_records_v1(
  p_stream BIGINT, p_no BIGINT, p_names JSON, p_checks JSON, p_writes JSON, p_removes JSON)
  RETURNS TEXT LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  conflicting INT[];
  answer TEXT;
BEGIN
  PERFORM pg_advisory_xact_lock(lock) FROM (
    SELECT DISTINCT hashtextextended(p || ' ' || k, 11) AS lock
      FROM json_to_recordset(p_names) AS j(p TEXT, k TEXT) ORDER BY lock) AS ordered;
  SELECT COALESCE(array_agg(DISTINCT j.a), '{}') INTO conflicting
    FROM json_to_recordset(p_checks) AS j(a INT, p TEXT, k TEXT, v BIGINT)
    LEFT JOIN plugin_record AS r ON r.plugin = j.p AND r.key = j.k
    WHERE COALESCE(r.version, 0) <> j.v;
  INSERT INTO plugin_record (plugin, key, version, value)
    SELECT p, k, v, decode(b, 'hex')
      FROM json_to_recordset(p_writes) AS j(a INT, p TEXT, k TEXT, v BIGINT, b TEXT)
      WHERE a <> ALL (conflicting)
    ON CONFLICT (plugin, key) DO UPDATE SET version = excluded.version, value = excluded.value;
  IF p_removes IS NOT NULL THEN
    DELETE FROM plugin_record AS r
      USING json_to_recordset(p_removes) AS j(a INT, p TEXT, k TEXT)
      WHERE r.plugin = j.p AND r.key = j.k AND a <> ALL (conflicting);
  END IF;
  answer := array_to_string(conflicting, ',');
  UPDATE record_stream SET no = p_no, conflicts = answer, used_at = clock_timestamp()
    WHERE id = p_stream AND no = p_no - 1 AND NOT is_fenced;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'TP002', MESSAGE = 'this session may not write records any more';
  END IF;
  RETURN answer;
END
$$;
