-- PostgreSQL's part; common/0015_usage_account_hours.sql is run before it.

CREATE TABLE usage_account_hour (
  account_id TEXT NOT NULL,
  hour BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  released BIGINT NOT NULL,
  credits BIGINT NOT NULL,
  PRIMARY KEY (account_id, hour)
) WITH (fillfactor = 50);

-- They follow the sums by operation and key as those of days do, through triggers of their own
-- (0014_usage_days.sql).
CREATE FUNCTION usage_account_hour_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_account_hour AS a
  SELECT account_id, hour, SUM(requests), SUM(charged), SUM(released), SUM(credits)
  FROM added GROUP BY account_id, hour
  ON CONFLICT (account_id, hour) DO UPDATE
  SET requests = a.requests + excluded.requests, charged = a.charged + excluded.charged,
      released = a.released + excluded.released, credits = a.credits + excluded.credits;
  RETURN NULL;
END $$;

CREATE FUNCTION usage_account_hour_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE usage_account_hour AS a
  SET requests = a.requests + c.requests, charged = a.charged + c.charged,
      released = a.released + c.released, credits = a.credits + c.credits
  FROM (SELECT n.account_id, n.hour,
               SUM(n.requests - o.requests) AS requests, SUM(n.charged - o.charged) AS charged,
               SUM(n.released - o.released) AS released, SUM(n.credits - o.credits) AS credits
        FROM changed n JOIN were o USING (account_id, hour, route_id, method, api_key_id)
        GROUP BY n.account_id, n.hour) AS c
  WHERE a.account_id = c.account_id AND a.hour = c.hour;
  RETURN NULL;
END $$;

CREATE FUNCTION usage_account_hour_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE usage_account_hour;
  RETURN NULL;
END $$;

-- Nobody indexes until the hours that are there already have their sums.
UPDATE usage_head SET position = position;
CREATE TRIGGER usage_account_hour_added AFTER INSERT ON usage_hour
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION usage_account_hour_added();
CREATE TRIGGER usage_account_hour_changed AFTER UPDATE ON usage_hour
  REFERENCING OLD TABLE AS were NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION usage_account_hour_changed();
CREATE TRIGGER usage_account_hour_emptied AFTER TRUNCATE ON usage_hour
  FOR EACH STATEMENT EXECUTE FUNCTION usage_account_hour_emptied();
INSERT INTO usage_account_hour
SELECT account_id, hour, SUM(requests), SUM(charged), SUM(released), SUM(credits)
FROM usage_hour GROUP BY account_id, hour;
