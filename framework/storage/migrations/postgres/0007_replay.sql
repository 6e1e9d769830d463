-- min_reader: 2
-- Idempotency-Keys (ledger/replay.h): who has claimed one, and the reply of the call once it is
-- charged. Digests are hex; headers and body are base64url, since a reply may hold any byte.
CREATE TABLE replay (
  key_digest TEXT PRIMARY KEY NOT NULL,
  request_digest TEXT NOT NULL,
  request_id TEXT NOT NULL,
  incarnation BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('claimed', 'stored', 'too_large')),
  claimed_until BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  status BIGINT NOT NULL DEFAULT 0,
  headers TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT ''
);

CREATE INDEX replay_expiry ON replay (expires_at);

-- settle_v2 of a batch in which replies are stored: first every claim takes the step to its charged
-- state, which fences calls whose claim is another's by now; then the batch is settled as any other.
-- A refusal of either takes back both; what it names is then as settle_v2 says, or the claims lost.
CREATE FUNCTION settle_keyed_v1(
  p_stream BIGINT, p_no BIGINT, p_first_seq BIGINT, p_count BIGINT, p_lease_count BIGINT,
  p_head TEXT, p_facts JSON, p_leases JSON, p_shares JSON, p_replies JSON)
  RETURNS TEXT LANGUAGE plpgsql AS $$
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
  refusal := settle_v2(p_stream, p_no, p_first_seq, p_count, p_lease_count, p_head, p_facts,
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
