-- min_reader: 12
-- A batch's facts are copied instead of inserted: JSON took a third of a batch to take apart, and
-- COPY writes many rows at once. What COPY cannot do is done by these two, before and after it, in
-- the same transaction.

-- Appends a batch, if what its stream believes of its leases still holds.
CREATE FUNCTION settle_open_v1(
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
CREATE FUNCTION settle_replies_v1(p_replies JSON) RETURNS VOID LANGUAGE plpgsql
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
