-- min_reader: 2
-- What plugins keep (sdk/turnpike/store.h). A version is drawn at random for each change.
CREATE TABLE plugin_record (
  plugin TEXT NOT NULL,
  key TEXT NOT NULL,
  version BIGINT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (plugin, key)
);
