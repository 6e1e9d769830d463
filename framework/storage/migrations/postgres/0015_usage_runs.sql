-- min_reader: 15
-- The index of usage names many facts in a row instead of one: their places in the books, packed.
-- Contracting: a build that does not know this would look for usage where none is.

-- The facts of an account from first_position to last_position, 16 bytes each: stream and seq. At
-- most 100, so that a run stays inside its row.
CREATE TABLE usage_run (
  account_id TEXT NOT NULL,
  first_position BIGINT NOT NULL,
  last_position BIGINT NOT NULL,
  places BYTEA NOT NULL,
  PRIMARY KEY (account_id, first_position)
);

-- Whoever holds this row gives positions: no other node adds to what is carried over.
UPDATE usage_head SET position = position;

-- Positions move down to make runs, within spans of 8192 and in their order; the sums look from the
-- beginning of a span.
INSERT INTO usage_run (account_id, first_position, last_position, places)
  SELECT account_id, MIN(position), MIN(position) + COUNT(*) - 1,
      STRING_AGG(INT8SEND(stream) || INT8SEND(seq), '' ORDER BY position)
    FROM (SELECT account_id, position, stream, seq, (position - 1) / 8192 AS span,
        (ROW_NUMBER() OVER (PARTITION BY account_id, (position - 1) / 8192 ORDER BY position) - 1)
          / 100 AS piece
      FROM usage_row) AS placed
    GROUP BY account_id, span, piece;

UPDATE usage_hour SET first_position = (first_position - 1) / 8192 * 8192 + 1;

DROP TABLE usage_row;

-- Its rows are updated all the time, and no index tells.
ALTER TABLE usage_hour SET (fillfactor = 50);
