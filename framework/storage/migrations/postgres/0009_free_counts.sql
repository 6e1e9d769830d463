-- min_reader: 2
-- Requests granted to `:free` variants, for each account and bucket: at least what was granted. A
-- row says nothing any more from ends_at on.
CREATE TABLE free_count (
  account_id TEXT NOT NULL,
  bucket TEXT NOT NULL,
  window_start BIGINT NOT NULL,
  window_used BIGINT NOT NULL,
  quota_start BIGINT NOT NULL,
  quota_used BIGINT NOT NULL,
  cumulative BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, bucket)
);

CREATE INDEX free_count_end ON free_count (ends_at);

-- The term of the one gateway that counts here, and the latest time by its clock.
INSERT INTO counter (name, value) VALUES ('free_term', 0), ('free_time', 0);
