-- PostgreSQL's part; common/0014_usage_days.sql is run before it.

CREATE TABLE usage_day (
  account_id TEXT NOT NULL,
  day BIGINT NOT NULL,
  route_id TEXT NOT NULL,
  method TEXT NOT NULL,
  api_key_id TEXT NOT NULL,
  requests BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  released BIGINT NOT NULL,
  credits BIGINT NOT NULL,
  PRIMARY KEY (account_id, day, route_id, method, api_key_id)
) WITH (fillfactor = 50);

-- They follow the sums by hour, whoever writes those: a build from before this indexes beside us
-- and knows of no days.
CREATE FUNCTION usage_hour_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_day AS d
  SELECT account_id, hour / 24, route_id, method, api_key_id,
         SUM(requests), SUM(charged), SUM(released), SUM(credits)
  FROM added GROUP BY account_id, hour / 24, route_id, method, api_key_id
  ON CONFLICT (account_id, day, route_id, method, api_key_id) DO UPDATE
  SET requests = d.requests + excluded.requests, charged = d.charged + excluded.charged,
      released = d.released + excluded.released, credits = d.credits + excluded.credits;
  RETURN NULL;
END $$;

CREATE FUNCTION usage_hour_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE usage_day AS d
  SET requests = d.requests + c.requests, charged = d.charged + c.charged,
      released = d.released + c.released, credits = d.credits + c.credits
  FROM (SELECT n.account_id, n.hour / 24 AS day, n.route_id, n.method, n.api_key_id,
               SUM(n.requests - o.requests) AS requests, SUM(n.charged - o.charged) AS charged,
               SUM(n.released - o.released) AS released, SUM(n.credits - o.credits) AS credits
        FROM changed n JOIN were o USING (account_id, hour, route_id, method, api_key_id)
        GROUP BY n.account_id, n.hour / 24, n.route_id, n.method, n.api_key_id) AS c
  WHERE d.account_id = c.account_id AND d.day = c.day AND d.route_id = c.route_id
    AND d.method = c.method AND d.api_key_id = c.api_key_id;
  RETURN NULL;
END $$;

CREATE FUNCTION usage_hour_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE usage_day;
  RETURN NULL;
END $$;

-- Nobody indexes until the days that are there already have their sums.
UPDATE usage_head SET position = position;
CREATE TRIGGER usage_hour_added AFTER INSERT ON usage_hour
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION usage_hour_added();
CREATE TRIGGER usage_hour_changed AFTER UPDATE ON usage_hour
  REFERENCING OLD TABLE AS were NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION usage_hour_changed();
CREATE TRIGGER usage_hour_emptied AFTER TRUNCATE ON usage_hour
  FOR EACH STATEMENT EXECUTE FUNCTION usage_hour_emptied();
INSERT INTO usage_day
SELECT account_id, hour / 24, route_id, method, api_key_id,
       SUM(requests), SUM(charged), SUM(released), SUM(credits)
FROM usage_hour GROUP BY account_id, hour / 24, route_id, method, api_key_id;
