-- min_reader: 1
-- What the operator console reads.

CREATE INDEX correction_recorded ON correction (recorded_at, id);

-- When the books were added up, or a checkpoint of them signed (ledger/reports.h). Append-only.
CREATE TABLE book_check (
  id TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('verified', 'checkpoint')),
  at BIGINT NOT NULL,
  facts BIGINT NOT NULL,
  accounts BIGINT NOT NULL,
  problems BIGINT NOT NULL,
  first_problem TEXT NOT NULL
);

CREATE INDEX book_check_at ON book_check (kind, at);
