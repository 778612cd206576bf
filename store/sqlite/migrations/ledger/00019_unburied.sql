-- +goose Up
-- Dead letters of items and payloads that the table of them refused: they are written
-- later. conv is the conversation that waits for it, or empty. item is -1 for the
-- payload as a whole. letter is JSON of gateway.DeadLetter.
CREATE TABLE unburied (
  pos     INTEGER NOT NULL,
  item    INTEGER NOT NULL,
  conv    TEXT NOT NULL,
  letter  BLOB NOT NULL,
  since   INTEGER NOT NULL,
  tries   INTEGER NOT NULL CHECK (tries > 0),
  next_at INTEGER NOT NULL,
  PRIMARY KEY (pos, item)
) WITHOUT ROWID;
CREATE INDEX unburied_due ON unburied (next_at);
CREATE INDEX unburied_conv ON unburied (conv);

-- Tries of events that failed, each with the worker's error: as many as the tries of an
-- application. requeue tells those behind a requeue, which are counted anew.
CREATE TABLE try (
  n       INTEGER NOT NULL,                -- of the event
  app     TEXT NOT NULL,
  requeue INTEGER NOT NULL,
  try     INTEGER NOT NULL CHECK (try > 0),
  at      INTEGER NOT NULL,
  reason  TEXT NOT NULL,
  detail  BLOB NOT NULL,
  PRIMARY KEY (n, app, requeue, try)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE try;
DROP TABLE unburied;
