-- +goose Up
-- Requests to send, by the key they came with: the same request twice is one task.
-- A key is kept as long as the messages are.
CREATE TABLE submission (
  key    TEXT PRIMARY KEY CHECK (key <> ''),
  digest BLOB NOT NULL,                    -- of what was asked for
  task   TEXT NOT NULL,
  at     INTEGER NOT NULL
) WITHOUT ROWID;

-- After this a message is not sent any more; 0 for no such time.
ALTER TABLE message ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE message DROP COLUMN expires_at;
DROP TABLE submission;
