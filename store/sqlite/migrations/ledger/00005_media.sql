-- +goose Up
-- Files that events refer to: one row per event, made with it. What is to be
-- fetched stands in the event's content; the row says how far it is.
CREATE TABLE media (
  n        INTEGER PRIMARY KEY,            -- of the event
  account  TEXT NOT NULL,
  low      INTEGER NOT NULL CHECK (low IN (0, 1)),
  state    TEXT NOT NULL CHECK (state = 'pending' OR state = 'ready' OR state = 'unavailable'),
  tries    INTEGER NOT NULL CHECK (tries >= 0),
  next_at  INTEGER NOT NULL,
  until    INTEGER NOT NULL,               -- when the platform's id ends
  file     TEXT NOT NULL,                  -- lower-case hex of the SHA-256
  size     INTEGER NOT NULL,
  mime     TEXT NOT NULL,
  reason   TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  notice   INTEGER NOT NULL,               -- n of the event that told how it ended
  CHECK ((state = 'pending') = (ended_at = 0)),
  CHECK ((state = 'ready') = (file <> '')),
  CHECK ((state = 'unavailable') = (reason <> '')),
  CHECK ((state = 'pending') = (notice = 0))
);
CREATE INDEX media_due ON media (account, low, next_at) WHERE state = 'pending';
CREATE INDEX media_file ON media (file) WHERE file <> '';

-- Every file in the store: fetched, or put in to be sent.
CREATE TABLE file (
  file TEXT PRIMARY KEY CHECK (file <> ''),
  size INTEGER NOT NULL,
  mime TEXT NOT NULL,                      -- as first told
  at   INTEGER NOT NULL
) WITHOUT ROWID;

-- Ids that platforms gave files of ours, so that a file is uploaded once.
CREATE TABLE upload (
  account TEXT NOT NULL,
  file    TEXT NOT NULL,
  mime    TEXT NOT NULL,
  id      TEXT NOT NULL CHECK (id <> ''),
  until   INTEGER NOT NULL,
  PRIMARY KEY (account, file, mime)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE upload;
DROP TABLE file;
DROP TABLE media;
