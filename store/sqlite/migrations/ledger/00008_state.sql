-- +goose Up
-- Who looks after a customer or a chat, by the events about them: one row per
-- colleague, with the newest that was told. c is the key's, member the form compared.
CREATE TABLE owner (
  c        INTEGER NOT NULL,
  member   BLOB NOT NULL,
  spelling BLOB NOT NULL,
  since    INTEGER NOT NULL,               -- the platform's time; 0: since before the first event
  at       INTEGER NOT NULL,               -- the platform's time of the newest word
  gone     INTEGER NOT NULL CHECK (gone = 0 OR gone = 1),
  PRIMARY KEY (c, member)
) WITHOUT ROWID;

-- That the state of a conversation or key changed; rev grows with every change, so
-- that what is to be published stands behind a cursor. session and servicer are of
-- a session of customer service.
CREATE TABLE state (
  c          INTEGER PRIMARY KEY,
  rev        INTEGER NOT NULL UNIQUE,
  at         INTEGER NOT NULL,             -- the platform's time of the newest event
  session    TEXT NOT NULL,
  servicer   BLOB NOT NULL,
  session_at INTEGER NOT NULL
);
INSERT INTO state (c, rev, at, session, servicer, session_at)
  SELECT c, row_number() OVER (ORDER BY c), last_human_at, '', x'', 0 FROM conversation WHERE last_human_at > 0;

-- +goose Down
DROP TABLE state;
DROP TABLE owner;
