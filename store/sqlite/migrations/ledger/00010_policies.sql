-- +goose Up
-- Since when an event holds its conversation, every try being spent; 0 for most.
ALTER TABLE pending ADD COLUMN blocked_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX pending_blocked ON pending (app, blocked_at) WHERE blocked_at > 0;

-- The word of a rule that stopped it; empty for a person's deed.
ALTER TABLE brake ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- Applications whose tries all fail, and when they are tried next.
CREATE TABLE breaker (
  app      TEXT PRIMARY KEY,
  since    INTEGER NOT NULL,
  probe_at INTEGER NOT NULL,
  wait     INTEGER NOT NULL
) WITHOUT ROWID;

-- Applications that were configured once. One that begins in the past is given the
-- events up to now before the relay gives it new ones: cursor is the last n it was
-- given, -1 when it has come up. dropping: rows of pending are left from before it
-- was removed.
CREATE TABLE application (
  name     TEXT PRIMARY KEY CHECK (name <> ''),
  removed  INTEGER NOT NULL CHECK (removed = 0 OR removed = 1),
  dropping INTEGER NOT NULL CHECK (dropping = 0 OR dropping = 1),
  cursor   INTEGER NOT NULL CHECK (cursor >= -1),
  since    INTEGER NOT NULL,               -- events received at or after it; 0: all
  at       INTEGER NOT NULL                -- of the last change
) WITHOUT ROWID;
INSERT INTO application (name, removed, dropping, cursor, since, at)
  SELECT substr(name, 5, length(name) - 11), 0, 0, -1, 0, 0 FROM counter WHERE name GLOB 'app.?*.wanted';

-- What was recovered too late to be answered.
CREATE INDEX settled_unanswered ON settled (app, n) WHERE reason = 'unanswered';

-- +goose Down
DROP INDEX settled_unanswered;
DROP TABLE application;
DROP TABLE breaker;
ALTER TABLE brake DROP COLUMN reason;
DROP INDEX pending_blocked;
ALTER TABLE pending DROP COLUMN blocked_at;
