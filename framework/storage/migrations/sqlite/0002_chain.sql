-- min_reader: 2
-- Facts are chained by their hashes from here on (ledger/chain.h), in every stream that begins after
-- this: a build that does not chain must not begin one, hence the minimum reader. 64 streams for
-- each incarnation.
INSERT INTO counter (name, value)
  SELECT 'chained_from', (value + 1) * 64 FROM counter WHERE name = 'incarnation';
