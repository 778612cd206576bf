-- +goose Up
-- Payloads, one lean row each. No index besides the position: an id holds its
-- position, and times grow with positions.
CREATE TABLE payload (
  pos          INTEGER PRIMARY KEY,
  received_at  INTEGER NOT NULL,           -- Unix nanoseconds, as every time here
  head         BLOB NOT NULL,              -- lines: platform, endpoint, key fingerprint, request line, headers
  body         BLOB NOT NULL
);

-- A position is never given twice: the newest row stays, whatever is retained.
-- +goose StatementBegin
CREATE TRIGGER payload_newest_stays BEFORE DELETE ON payload
WHEN OLD.pos = (SELECT max(pos) FROM payload)
BEGIN
  SELECT RAISE(ABORT, 'the newest payload stays');
END;
-- +goose StatementEnd

CREATE TABLE reject (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  at           INTEGER NOT NULL,
  reason       TEXT NOT NULL,
  size         INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  head         BLOB NOT NULL,
  body         BLOB NOT NULL
);

CREATE TABLE probe (id INTEGER PRIMARY KEY, at INTEGER NOT NULL);

CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- +goose Down
DROP TABLE meta;
DROP TABLE probe;
DROP TABLE reject;
DROP TABLE payload;
