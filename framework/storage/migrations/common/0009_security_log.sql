-- min_reader: 1
-- The events of one person, newest first, for their own page.

CREATE INDEX audit_event_actor ON audit_event (actor, sequence);
