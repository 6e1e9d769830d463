-- functions: 1
-- All functions of the PostgreSQL schema. A migration run ends with this file as a whole, when its
-- text differs from the text that was run last and the number above is not smaller. Raise the
-- number when a release changes this file: then nodes of the release before, which run on for a
-- while and may restart, do not put their text back. Those nodes call the functions by the names
-- that they know, so other parameters, another result or another meaning need a new name (_v2); a
-- contracting migration of a later release drops the old function.

-- A batch's facts are copied, since COPY writes many rows at once and takes no JSON apart. What
-- COPY cannot do is done by the next two functions, before and after it, in the same transaction.

-- Appends a batch, if what its stream believes of its leases still holds.
CREATE OR REPLACE FUNCTION settle_open_v1(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_head TEXT, p_fence BIGINT,
  p_charges TEXT) RETURNS VOID LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF p_charges <> '{}' THEN
    PERFORM 1 FROM settle_stream WHERE stream = p_stream AND fence = p_fence FOR KEY SHARE;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'TP002', MESSAGE = 'fenced';
    END IF;
  END IF;
  INSERT INTO settle_batch (stream, no, first_seq, facts, head, charges)
    VALUES (p_stream, p_no, p_first_seq, p_count, p_head, p_charges);
END
$$;

-- Keeps the replies of a batch's calls that came with an Idempotency-Key: {k: key's digest, r: the
-- claim's request, s: state, w: was the reply written before, c: status, h: headers, b: body}.
CREATE OR REPLACE FUNCTION settle_replies_v1(p_replies JSON) RETURNS VOID LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  done BIGINT;
BEGIN
  UPDATE replay SET state = j.s,
      status = CASE WHEN j.w THEN replay.status ELSE j.c END,
      headers = CASE WHEN j.w THEN replay.headers ELSE j.h END,
      body = CASE WHEN j.w THEN replay.body ELSE j.b END
    FROM json_to_recordset(p_replies)
      AS j(k TEXT, r TEXT, s TEXT, w BOOLEAN, c BIGINT, h TEXT, b TEXT)
    WHERE replay.key_digest = j.k AND replay.request_id = j.r AND replay.state = 'claimed';
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done <> json_array_length(p_replies) THEN
    RAISE EXCEPTION USING ERRCODE = 'TP001', MESSAGE = 'lost claim';
  END IF;
END
$$;

-- Moves units of allocations into leases of one node, one after the other: p_draws has {a:
-- allocation, c: account, k: key, d: day, u: units, h: hold_until, s: settle_until}, the answer a
-- lease for each, in their order. REQUIRES: the allocations are locked.
CREATE OR REPLACE FUNCTION grant_leases_v1(
  p_now BIGINT, p_incarnation BIGINT, p_purpose BIGINT, p_epoch BIGINT, p_draws JSON)
  RETURNS TABLE (lease_id BIGINT, lease_epoch BIGINT, unsettled BIGINT) LANGUAGE plpgsql
  SET enable_seqscan = off AS $$
DECLARE
  draw RECORD;
BEGIN
  FOR draw IN SELECT * FROM json_to_recordset(p_draws)
    AS j(a TEXT, c TEXT, k TEXT, d BIGINT, u BIGINT, h BIGINT, s BIGINT)
  LOOP
    UPDATE allocation SET remaining = remaining - draw.u
      WHERE id = draw.a AND remaining >= draw.u;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'an allocation changed while it was locked';
    END IF;
    INSERT INTO lease (allocation_id, account_id, incarnation, purpose, key_id, day, epoch,
        granted, hold_until, settle_until)
      VALUES (draw.a, draw.c, p_incarnation, p_purpose, draw.k, draw.d, p_epoch, draw.u, draw.h,
        draw.s)
      ON CONFLICT (allocation_id, incarnation, purpose, key_id, day) WHERE state = 'open'
      DO UPDATE SET granted = lease.granted + excluded.granted, hold_until = excluded.hold_until,
        settle_until = GREATEST(lease.settle_until, excluded.settle_until)
      RETURNING lease.id, lease.epoch, lease.granted - lease.settled
      INTO lease_id, lease_epoch, unsettled;
    INSERT INTO posting (at, account_id, allocation_id, lease_id, from_book, to_book, units)
      VALUES (p_now, draw.c, draw.a, grant_leases_v1.lease_id, 'available', 'escrow', draw.u);
    RETURN NEXT;
  END LOOP;
END
$$;

-- Writes one group; returns the positions of the applies that conflicted. Parameters are arrays of
-- rows: p_names every key that the group names (p plugin, k key); p_checks also the position of its
-- apply and the version that must be there, 0 for none (a, v); p_writes the new version and the
-- value in hex (a, v, b); p_removes (a). A key that one apply writes is named by no other of them.
--
-- Keys are locked, not rows, since a check may ask that there be no row; in the order of the locks,
-- so that groups of several nodes wait for each other in no circle. Whatever comes after the locks
-- sees what their holders before us have committed.
CREATE OR REPLACE FUNCTION write_records_v1(
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
    RAISE EXCEPTION USING ERRCODE = 'TP002',
      MESSAGE = 'this session may not write records any more';
  END IF;
  RETURN answer;
END
$$;
