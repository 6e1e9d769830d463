-- min_reader: 1
-- Clients of the authorization server that a document describes, whose URL is their id.

-- fetched_until: until when the document is believed without another look; -1: there is none.
ALTER TABLE oauth_client ADD COLUMN kind TEXT NOT NULL DEFAULT 'registered'
  CHECK (kind IN ('registered', 'document'));
ALTER TABLE oauth_client ADD COLUMN fetched_until BIGINT NOT NULL DEFAULT -1;
