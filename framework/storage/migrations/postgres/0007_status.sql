-- PostgreSQL's part; common/0007_status.sql is run before it.

-- The record lines of a round, deflated: what is kept of the evidence for a while is most of it, a
-- fifteenth of its text this way. As bytes, since base64 would add a third for ever.
CREATE TABLE status_lines (
  stream TEXT NOT NULL,
  round BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  body BYTEA NOT NULL,
  PRIMARY KEY (stream, round)
);

CREATE INDEX status_lines_end ON status_lines (ended_at);

-- The book after each stream's newest round.
CREATE TABLE status_newest (
  stream TEXT PRIMARY KEY NOT NULL,
  round BIGINT NOT NULL,
  head TEXT NOT NULL,
  targets_hash TEXT NOT NULL,
  book BYTEA NOT NULL
);

-- Books that are kept for those who verify the evidence from there on.
CREATE TABLE status_book (
  stream TEXT NOT NULL,
  round BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  book BYTEA NOT NULL,
  PRIMARY KEY (stream, round)
);

CREATE INDEX status_book_end ON status_book (ended_at);

-- What is deflated gets no smaller by another try.
ALTER TABLE status_lines ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE status_newest ALTER COLUMN book SET STORAGE EXTERNAL;
ALTER TABLE status_book ALTER COLUMN book SET STORAGE EXTERNAL;

-- Rows that each round writes anew, in columns that no index has.
ALTER TABLE status_lease SET (fillfactor = 50);
ALTER TABLE status_segment SET (fillfactor = 70);
