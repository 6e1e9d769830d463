-- min_reader: 12
-- Fewer round trips and less log: many leases are granted by one statement, and a batch looks for its
-- messages by inserting them.

-- As settle_v4, but a message that was known shows by the unique index itself: ON CONFLICT looks into
-- it twice, and writes a second record for each row.
CREATE FUNCTION settle_v5(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_head TEXT, p_fence BIGINT,
  p_charges TEXT, p_facts JSON, p_shares JSON, p_replies JSON) RETURNS TEXT LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  done BIGINT;
  violated TEXT;
BEGIN
  IF p_charges <> '{}' THEN
    PERFORM 1 FROM settle_stream WHERE stream = p_stream AND fence = p_fence FOR KEY SHARE;
    IF NOT FOUND THEN
      RETURN 'fenced';
    END IF;
  END IF;
  INSERT INTO settle_batch (stream, no, first_seq, facts, head, charges)
    VALUES (p_stream, p_no, p_first_seq, p_count, p_head, p_charges);
  INSERT INTO fact (stream, seq, message_id, request_id, client_request_id, account_id,
      api_key_id, occurred_at, route_id, route_revision, method, lane, credit_cost,
      credits_charged, price_version, generation, outcome_reason, upstream_status, upstream_ms,
      lease_id, hash)
    SELECT p_stream, q, m, r, c, a, k, t, o, v, d, n, x, u, p, g, w, s, f, l, h
      FROM json_to_recordset(p_facts) AS j(q BIGINT, m TEXT, r TEXT, c TEXT, a TEXT, k TEXT,
        t BIGINT, o TEXT, v BIGINT, d TEXT, n TEXT, x BIGINT, u BIGINT, p BIGINT, g TEXT,
        w TEXT, s BIGINT, f BIGINT, l BIGINT, h TEXT);
  IF p_shares IS NOT NULL THEN
    INSERT INTO fact_share (stream, seq, lease_id, units)
      SELECT p_stream, q, l, u FROM json_to_recordset(p_shares) AS j(q BIGINT, l BIGINT, u BIGINT);
  END IF;
  IF p_replies IS NOT NULL THEN
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
  END IF;
  RETURN '';
EXCEPTION
  WHEN SQLSTATE 'TP001' THEN
    RETURN 'refused';
  WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;
    IF violated <> 'fact_message_id_key' THEN
      RAISE;
    END IF;
    RETURN 'refused';
END
$$;

-- Moves units of allocations into leases of one node, one after the other: p_draws has {a: allocation,
-- c: account, k: key, d: day, u: units, h: hold_until, s: settle_until}, the answer a lease for each,
-- in their order. REQUIRES: the allocations are locked.
CREATE FUNCTION grant_leases_v1(
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
