-- +goose Up
-- Changes of times due that count from where a message stands, by the key they came with:
-- asked for again, such a change does the rest. It is kept as long as the messages are.
CREATE TABLE move (
  n      INTEGER PRIMARY KEY,
  key    TEXT NOT NULL UNIQUE CHECK (key <> ''),
  digest BLOB NOT NULL,                    -- of what was asked for
  at     INTEGER NOT NULL
);

-- The last of them that moved a message; 0 for none.
ALTER TABLE message ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
CREATE INDEX message_moved ON message (moved) WHERE moved > 0;

-- Since when a message is held; 0 for one that never was, or was before this was noted.
ALTER TABLE message ADD COLUMN held_at INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE message DROP COLUMN held_at;
DROP INDEX message_moved;
ALTER TABLE message DROP COLUMN moved;
DROP TABLE move;
