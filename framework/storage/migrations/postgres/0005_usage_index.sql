-- min_reader: 2
-- The allocations of an account in the order they were issued, and the index of usage
-- (ledger/usage.h): made from the facts, off the commit path, and never a source of anything.

-- Pages and sums of usage are read along that index, so settlements need not keep another one.
DROP INDEX fact_account;

CREATE INDEX posting_issued ON posting (account_id, id) WHERE from_book = 'issued';

-- The last position given; its row lock makes whoever gives positions one.
CREATE TABLE usage_head (
  position BIGINT NOT NULL
);

INSERT INTO usage_head (position) VALUES (0);

-- How far each stream is indexed, and how far the transaction under way takes it.
CREATE TABLE usage_mark (
  stream BIGINT PRIMARY KEY NOT NULL,
  seq BIGINT NOT NULL,
  next_seq BIGINT NOT NULL,
  message_id TEXT NOT NULL
);

CREATE TABLE usage_row (
  account_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  stream BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (account_id, position)
);

-- The positions are those of the transactions that added to the sums, other accounts' included.
CREATE TABLE usage_hour (
  account_id TEXT NOT NULL,
  hour BIGINT NOT NULL,
  route_id TEXT NOT NULL,
  method TEXT NOT NULL,
  api_key_id TEXT NOT NULL,
  requests BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  released BIGINT NOT NULL,
  credits BIGINT NOT NULL,
  first_position BIGINT NOT NULL,
  last_position BIGINT NOT NULL,
  PRIMARY KEY (account_id, hour, route_id, method, api_key_id)
);
