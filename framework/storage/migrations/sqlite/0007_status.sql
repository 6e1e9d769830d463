-- SQLite's part; common/0007_status.sql is run before it.

-- The record lines of a round, deflated: what is kept of the evidence for a while is most of it, a
-- fifteenth of its text this way. As bytes, since base64 would add a third for ever.
CREATE TABLE status_lines (
  stream TEXT NOT NULL,
  round BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (stream, round)
);

CREATE INDEX status_lines_end ON status_lines (ended_at);

-- The book after each stream's newest round.
CREATE TABLE status_newest (
  stream TEXT PRIMARY KEY NOT NULL,
  round BIGINT NOT NULL,
  head TEXT NOT NULL,
  targets_hash TEXT NOT NULL,
  book BLOB NOT NULL
);

-- Books that are kept for those who verify the evidence from there on.
CREATE TABLE status_book (
  stream TEXT NOT NULL,
  round BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  book BLOB NOT NULL,
  PRIMARY KEY (stream, round)
);

CREATE INDEX status_book_end ON status_book (ended_at);
