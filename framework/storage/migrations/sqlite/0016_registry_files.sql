-- min_reader: 12
-- What is installed can be served, compared and gone back to without the registry's files.

-- The files of a program, as JSON: [[name below the registry's directory, text], ...]. Kept for the
-- newest generations.
CREATE TABLE generation_files (
  epoch_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  files TEXT NOT NULL,
  PRIMARY KEY (epoch_id, payload_hash)
);

-- Canonical JSON of what the digest is of; empty: it was installed before this was kept.
ALTER TABLE registry_fact ADD COLUMN definition TEXT NOT NULL DEFAULT '';

-- The program that the files held when another one was installed in its place; empty: the installed
-- program is that of the files.
ALTER TABLE manifest ADD COLUMN rolled_back_from TEXT NOT NULL DEFAULT '';
