-- min_reader: 2
-- Facts are chained by their hashes from here on (ledger/chain.h), in every stream that begins after
-- this: a build that does not chain must not begin one, hence the minimum reader. 64 streams for
-- each incarnation.
INSERT INTO counter (name, value)
  SELECT 'chained_from', (value + 1) * 64 FROM counter WHERE name = 'incarnation';

-- One batch of a committer in one round trip. NULL: committed. Otherwise nothing but the batch row
-- stays, and the result names the leases that cannot pay and the messages that were known already.
CREATE FUNCTION settle_v2(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_lease_count BIGINT,
  p_head TEXT, p_facts JSON, p_leases JSON, p_shares JSON) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  done BIGINT;
BEGIN
  INSERT INTO settle_batch (stream, no, first_seq, facts, head)
    VALUES (p_stream, p_no, p_first_seq, p_count, p_head);
  BEGIN
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
    UPDATE lease SET settled = settled + j.u
      FROM json_to_recordset(p_leases) AS j(l BIGINT, e BIGINT, u BIGINT)
      WHERE lease.id = j.l AND lease.epoch = j.e AND lease.state = 'open'
        AND lease.settled + j.u <= lease.granted;
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done <> p_lease_count THEN
      RAISE EXCEPTION USING ERRCODE = 'TP001', MESSAGE = 'lost lease';
    END IF;
    IF p_shares IS NOT NULL THEN
      INSERT INTO fact_share (stream, seq, lease_id, units)
        SELECT p_stream, q, l, u FROM json_to_recordset(p_shares) AS j(q BIGINT, l BIGINT, u BIGINT);
    END IF;
    RETURN NULL;
  EXCEPTION WHEN SQLSTATE 'TP001' THEN
    UPDATE settle_batch SET facts = 0, head = '' WHERE stream = p_stream AND no = p_no;
    RETURN json_build_object(
      'repeated', (SELECT COALESCE(json_agg(json_build_array(j.q, fact.credits_charged)), '[]')
        FROM json_to_recordset(p_facts) AS j(q BIGINT, m TEXT)
        JOIN fact ON fact.message_id = j.m),
      'lost', (SELECT COALESCE(json_agg(j.l), '[]')
        FROM json_to_recordset(p_leases) AS j(l BIGINT, e BIGINT, u BIGINT)
        WHERE NOT EXISTS (SELECT 1 FROM lease WHERE lease.id = j.l AND lease.epoch = j.e
          AND lease.state = 'open' AND lease.settled + j.u <= lease.granted)));
  END;
END
$$;
