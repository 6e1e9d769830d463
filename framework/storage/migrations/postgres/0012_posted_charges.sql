-- min_reader: 12
-- Charges are appended with their batch and posted to the leases later, many at a time
-- (storage/charges.h): a settlement and the escrow never wait for the row of a lease. Contracting: a
-- build that does not know this takes a lease for fuller than it is, and must not close one.

-- What the batch takes from which leases: {"lease":units,...}.
ALTER TABLE settle_batch ADD COLUMN charges TEXT NOT NULL DEFAULT '{}';

-- One row for each committer that may charge: whose leases are taken from it finds another fence.
-- Batches up to posted_no are in the leases; next_no is the mark of a posting under way. A batch
-- locks the row FOR KEY SHARE, which waits for no posting; the fence is in a unique index, so
-- whoever moves it locks the batch out.
CREATE TABLE settle_stream (
  stream BIGINT PRIMARY KEY NOT NULL,
  fence BIGINT NOT NULL,
  posted_no BIGINT NOT NULL DEFAULT 0,
  next_no BIGINT NOT NULL DEFAULT 0,
  UNIQUE (stream, fence)
) WITH (fillfactor = 50);

-- ORDER BY with LIMIT leaves the planner nothing but the primary key.
CREATE VIEW pending_charge AS
  SELECT s.stream, c.key::BIGINT AS lease_id, c.value::BIGINT AS units, b.no <= s.next_no AS is_due
  FROM settle_stream s
  CROSS JOIN LATERAL (SELECT no, charges FROM settle_batch WHERE settle_batch.stream = s.stream
    AND settle_batch.no > s.posted_no ORDER BY settle_batch.no LIMIT 1000000) b
  CROSS JOIN LATERAL json_each_text(b.charges::JSON) c;

-- Leases with every charge there is.
CREATE VIEW lease_now AS
  SELECT l.id, l.allocation_id, l.account_id, l.key_id, l.day, l.state, l.granted, l.settled
    + CASE WHEN l.state = 'open' THEN (SELECT COALESCE(SUM(p.units), 0) FROM pending_charge p
      WHERE p.lease_id = l.id) ELSE 0 END::BIGINT AS settled
  FROM lease l;

-- One batch of a committer in one round trip. '': committed. 'fenced': the stream's fence is another
-- by now, so its leases must be looked at again. 'refused': a message was known, or a claim lost.
-- Otherwise than committed it leaves nothing.
CREATE FUNCTION settle_v4(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_head TEXT, p_fence BIGINT,
  p_charges TEXT, p_facts JSON, p_shares JSON, p_replies JSON) RETURNS TEXT LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  done BIGINT;
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
        w TEXT, s BIGINT, f BIGINT, l BIGINT, h TEXT)
    ON CONFLICT (message_id) DO NOTHING;
  GET DIAGNOSTICS done = ROW_COUNT;
  IF done <> p_count THEN
    RAISE EXCEPTION USING ERRCODE = 'TP001', MESSAGE = 'repeated message';
  END IF;
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
EXCEPTION WHEN SQLSTATE 'TP001' THEN
  RETURN 'refused';
END
$$;
