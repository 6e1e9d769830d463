-- min_reader: 12
-- Charges are appended with their batch and posted to the leases later, many at a time
-- (storage/charges.h). Contracting: a build that does not know this takes a lease for fuller than it
-- is, and must not close one.

-- What the batch takes from which leases: {"lease":units,...}.
ALTER TABLE settle_batch ADD COLUMN charges TEXT NOT NULL DEFAULT '{}';

-- One row for each committer that may charge: whose leases are taken from it finds another fence.
-- Batches up to posted_no are in the leases; next_no is the mark of a posting under way.
CREATE TABLE settle_stream (
  stream BIGINT PRIMARY KEY NOT NULL,
  fence BIGINT NOT NULL,
  posted_no BIGINT NOT NULL DEFAULT 0,
  next_no BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE VIEW pending_charge AS
  SELECT s.stream, CAST(c.key AS INTEGER) AS lease_id, c.value AS units, b.no <= s.next_no AS is_due
  FROM settle_stream s CROSS JOIN settle_batch b CROSS JOIN json_each(b.charges) c
  WHERE b.stream = s.stream AND b.no > s.posted_no;

-- Leases with every charge there is.
CREATE VIEW lease_now AS
  SELECT l.id, l.allocation_id, l.account_id, l.key_id, l.day, l.state, l.granted, l.settled
    + CASE WHEN l.state = 'open' THEN (SELECT COALESCE(SUM(p.units), 0) FROM pending_charge p
      WHERE p.lease_id = l.id) ELSE 0 END AS settled
  FROM lease l;
