-- min_reader: 2
-- settle_v2 and settle_keyed_v1 with plans that depend on the batch alone. A session keeps the plan
-- of its first batches, when few leases were open, and that plan reads every open lease for every
-- batch. So rows are looked up one by one, by the primary key: a condition that the partial indexes
-- of open leases cannot be matched with leaves no other way.
CREATE FUNCTION settle_v3(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_lease_count BIGINT,
  p_head TEXT, p_facts JSON, p_leases JSON, p_shares JSON) RETURNS TEXT LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
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
      WHERE lease.id = j.l AND lease.epoch = j.e AND (lease.state = 'open') IS TRUE
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
          AND (lease.state = 'open') IS TRUE AND lease.settled + j.u <= lease.granted)));
  END;
END
$$;

CREATE FUNCTION settle_keyed_v2(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_lease_count BIGINT,
  p_head TEXT, p_facts JSON, p_leases JSON, p_shares JSON, p_replies JSON)
  RETURNS TEXT LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  done BIGINT;
  refusal TEXT;
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
  refusal := settle_v3(p_stream, p_no, p_first_seq, p_count, p_lease_count, p_head, p_facts,
    p_leases, p_shares);
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'TP001', MESSAGE = 'refused batch';
  END IF;
  RETURN NULL;
EXCEPTION WHEN SQLSTATE 'TP001' THEN
  RETURN COALESCE(refusal, json_build_object(
    'repeated', (SELECT COALESCE(json_agg(json_build_array(j.q, fact.credits_charged)), '[]')
      FROM json_to_recordset(p_facts) AS j(q BIGINT, m TEXT) JOIN fact ON fact.message_id = j.m),
    'lost', json_build_array(),
    'claims', (SELECT COALESCE(json_agg(j.n), '[]')
      FROM json_to_recordset(p_replies) AS j(n BIGINT, k TEXT, r TEXT)
      WHERE NOT EXISTS (SELECT 1 FROM replay WHERE replay.key_digest = j.k
        AND replay.request_id = j.r AND replay.state = 'claimed')))::text);
END
$$;
