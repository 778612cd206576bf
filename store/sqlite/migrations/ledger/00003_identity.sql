-- +goose Up
-- A conversation that became part of another one, with the number of that one;
-- while it has something pending or unsent it is draining.
ALTER TABLE conversation ADD COLUMN into_c INTEGER NOT NULL DEFAULT -1;
ALTER TABLE conversation ADD COLUMN merged_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN draining INTEGER NOT NULL DEFAULT 0 CHECK (draining = 0 OR (draining = 1 AND into_c >= 0));
CREATE INDEX conversation_into ON conversation (into_c) WHERE into_c >= 0;
CREATE INDEX conversation_draining ON conversation (draining) WHERE draining = 1;

-- A retired name is not in use for this person any more. changed_at is the
-- platform's time at which it was retired, taken into use again, or moved to
-- another conversation: what is older changes nothing about it.
ALTER TABLE alias ADD COLUMN retired INTEGER NOT NULL DEFAULT 0 CHECK (retired = 0 OR retired = 1);
ALTER TABLE alias ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;

-- The newest change of each type by each person to each message; key is a hash of
-- those. A row that is replaced gets the next number, so the oldest stand first.
CREATE TABLE newest (
  row    INTEGER PRIMARY KEY,
  key    BLOB NOT NULL UNIQUE,
  at     INTEGER NOT NULL,                 -- the platform's time
  kept   INTEGER NOT NULL,                 -- since
  revoke INTEGER NOT NULL CHECK (revoke = 0 OR revoke = 1)
);
CREATE INDEX newest_revoke ON newest (key) WHERE revoke = 1;

-- +goose Down
DROP TABLE newest;
ALTER TABLE alias DROP COLUMN changed_at;
ALTER TABLE alias DROP COLUMN retired;
DROP INDEX conversation_draining;
DROP INDEX conversation_into;
ALTER TABLE conversation DROP COLUMN draining;
ALTER TABLE conversation DROP COLUMN merged_at;
ALTER TABLE conversation DROP COLUMN into_c;
