-- min_reader: 1
-- Methods of payment that a person removed (commerce/auto_top_up.h): they are gone (is_gone) at
-- once. removal: 'wanted' until the processor has forgotten the method, then 'done'; else empty.
ALTER TABLE payment_setup ADD COLUMN removal TEXT NOT NULL DEFAULT ''
  CHECK (removal IN ('', 'wanted', 'done'));
