-- +goose Up
-- Times are Unix nanoseconds, 0 for none. Columns that may hold a customer's
-- words or names are BLOB, so that a NUL byte in them is kept. Checks are chains
-- of OR: SQLite builds a table for a longer IN, at every insert.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- Cursors: relay (position, item), published (n), changes (n), taken (life, seq).
CREATE TABLE place (name TEXT PRIMARY KEY, a INTEGER NOT NULL, b INTEGER NOT NULL) WITHOUT ROWID;

-- c numbers a conversation within the ledger: made of the beginning of conv and in
-- its order, so that conv needs no index and tables with many rows carry a number.
CREATE TABLE conversation (
  c             INTEGER PRIMARY KEY CHECK (c >= 0),
  conv          TEXT NOT NULL CHECK (conv <> ''),
  platform      TEXT NOT NULL,
  account       TEXT NOT NULL,
  chat          TEXT NOT NULL CHECK (chat = 'single' OR chat = 'group' OR chat = 'account'),
  last_seq      INTEGER NOT NULL,          -- may be behind max(event.ord), which counts
  newest_at     INTEGER NOT NULL,          -- occurred_at of its newest message up to last_seq
  hops          INTEGER NOT NULL,
  hop_at        INTEGER NOT NULL,
  last_human_at INTEGER NOT NULL
);

CREATE TABLE alias (
  platform TEXT NOT NULL,
  account  TEXT NOT NULL,
  chat     TEXT NOT NULL,
  kind     TEXT NOT NULL,
  value    BLOB NOT NULL,
  spelling BLOB NOT NULL,
  c        INTEGER NOT NULL,
  place    INTEGER NOT NULL,               -- among the identities it came with
  seen     INTEGER NOT NULL,               -- grows with each look; newest first
  PRIMARY KEY (platform, account, chat, kind, value)
) WITHOUT ROWID;
CREATE INDEX alias_conv ON alias (c);

-- Platform, account and chat of an event are those of its conversation.
CREATE TABLE event (
  n           INTEGER PRIMARY KEY,
  id          BLOB NOT NULL CHECK (id <> ''),    -- the 16 bytes an id stands for; any other id is text
  run         TEXT NOT NULL,
  c           INTEGER NOT NULL,
  ord         INTEGER NOT NULL CHECK (ord <> 0), -- seq, or -n for what has none
  kind        TEXT NOT NULL CHECK (kind = 'message' OR kind = 'change' OR kind = 'status' OR kind = 'echo' OR kind = 'state' OR kind = 'notice'),
  origin      TEXT NOT NULL CHECK (origin = 'live' OR origin = 'backfill' OR origin = 'replay'),
  judged      TEXT NOT NULL DEFAULT '' CHECK (judged = '' OR judged = 'ours' OR judged = 'human' OR judged = 'foreign'),
  pos         INTEGER NOT NULL,
  item        INTEGER NOT NULL,
  payload     TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  occurred_at INTEGER NOT NULL,
  content     BLOB NOT NULL,
  CHECK ((run = '') = (origin <> 'replay')),
  CHECK (ord = -n OR (run = '' AND kind NOT IN ('status', 'echo')))
);
CREATE UNIQUE INDEX event_id ON event (id, run);
CREATE UNIQUE INDEX event_conv ON event (c, ord);

CREATE TABLE pending (
  app     TEXT NOT NULL CHECK (app <> ''),
  c       INTEGER NOT NULL,
  lane    INTEGER NOT NULL CHECK (lane IN (0, 1)),
  seq     INTEGER NOT NULL CHECK (seq > 0),
  n       INTEGER NOT NULL,
  tries   INTEGER NOT NULL CHECK (tries >= 0),
  next_at INTEGER NOT NULL,
  round   INTEGER NOT NULL,
  requeue INTEGER NOT NULL,
  PRIMARY KEY (app, c, lane, seq)
) WITHOUT ROWID;

-- What became of an event for an application: one row, beside pending.
CREATE TABLE settled (
  n       INTEGER NOT NULL,
  app     TEXT NOT NULL,
  state   TEXT NOT NULL CHECK (state = 'settled' OR state = 'dead' OR state = 'dropped'),
  reason  TEXT NOT NULL,
  tries   INTEGER NOT NULL,
  round   INTEGER NOT NULL,
  requeue INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (n, app)
) WITHOUT ROWID;

CREATE TABLE item (
  pos    INTEGER NOT NULL,
  idx    INTEGER NOT NULL CHECK (idx >= 0),
  state  TEXT NOT NULL CHECK (state = 'event' OR state = 'duplicate' OR state = 'ignored' OR state = 'dead'),
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  n      INTEGER NOT NULL,                 -- of its event; 0 where it has none
  PRIMARY KEY (pos, idx),
  CHECK ((state IN ('event', 'duplicate')) = (n > 0))
) WITHOUT ROWID;

CREATE TABLE payload (
  pos         INTEGER PRIMARY KEY,
  state       TEXT NOT NULL CHECK (state = 'relayed' OR state = 'duplicate' OR state = 'ignored' OR state = 'sealed' OR state = 'dead'),
  reason      TEXT NOT NULL,
  detail      TEXT NOT NULL,
  key_fp      TEXT NOT NULL,
  platform    TEXT NOT NULL,
  endpoint    TEXT NOT NULL,
  received_at INTEGER NOT NULL
);
CREATE INDEX payload_sealed ON payload (endpoint, pos) WHERE state = 'sealed';

CREATE TABLE again (
  pos    INTEGER NOT NULL,
  item   INTEGER NOT NULL,                 -- -1: all of it
  reason TEXT NOT NULL,
  PRIMARY KEY (pos, item)
) WITHOUT ROWID;

CREATE TABLE run (
  id          TEXT PRIMARY KEY CHECK (id <> ''),
  by          TEXT NOT NULL,
  at          INTEGER NOT NULL,
  what        TEXT NOT NULL,
  hold        INTEGER NOT NULL CHECK (hold IN (0, 1)),
  released_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE dead (
  id       TEXT PRIMARY KEY,
  kind     TEXT NOT NULL CHECK (kind = 'event' OR kind = 'message' OR kind = 'item' OR kind = 'payload'),
  state    TEXT NOT NULL CHECK (state = 'open' OR state = 'requeued' OR state = 'dropped'),
  at       INTEGER NOT NULL,
  reason   TEXT NOT NULL,
  detail   BLOB NOT NULL,
  app      TEXT NOT NULL,
  platform TEXT NOT NULL,
  account  TEXT NOT NULL,
  conv     TEXT NOT NULL,
  event    TEXT NOT NULL,
  n        INTEGER NOT NULL,
  message  TEXT NOT NULL,
  payload  TEXT NOT NULL,
  pos      INTEGER NOT NULL,
  item     INTEGER NOT NULL,
  tries    INTEGER NOT NULL,
  by       TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX dead_state ON dead (state, id);
CREATE INDEX dead_item ON dead (pos) WHERE kind IN ('item', 'payload') AND state = 'open';
CREATE UNIQUE INDEX dead_event ON dead (n, app) WHERE kind = 'event' AND state = 'open';
CREATE UNIQUE INDEX dead_message ON dead (message) WHERE kind = 'message' AND state = 'open';

CREATE TABLE message (
  row           INTEGER PRIMARY KEY,
  id            TEXT NOT NULL UNIQUE,
  task          TEXT NOT NULL,             -- the id of its first part
  part          INTEGER NOT NULL,
  parts         INTEGER NOT NULL,
  app           TEXT NOT NULL,
  event         TEXT NOT NULL,             -- the delivery it answers
  run           TEXT NOT NULL,
  platform      TEXT NOT NULL,
  account       TEXT NOT NULL,
  conv          TEXT NOT NULL CHECK (conv <> ''),
  due_at        INTEGER NOT NULL,
  state         TEXT NOT NULL CHECK (state = 'waiting' OR state = 'sending' OR state = 'accepted' OR state = 'rejected' OR state = 'unknown' OR state = 'expired' OR state = 'cancelled' OR state = 'held'),
  open          INTEGER NOT NULL,
  reason        TEXT NOT NULL,
  attempts      INTEGER NOT NULL,
  next_at       INTEGER NOT NULL,
  external_id   TEXT NOT NULL,
  delivery      TEXT NOT NULL,
  failed        BLOB NOT NULL,             -- JSON of a problem, or empty
  unknown_until INTEGER NOT NULL,
  type          TEXT NOT NULL,
  text          BLOB NOT NULL,
  CHECK (CASE state WHEN 'waiting' THEN open = 1 WHEN 'sending' THEN open = 1
         WHEN 'unknown' THEN open IN (0, 1) ELSE open = 0 END)
);
CREATE INDEX message_open ON message (conv, due_at, id) WHERE open = 1;
CREATE UNIQUE INDEX message_sending ON message (conv) WHERE state = 'sending';
CREATE INDEX message_conv ON message (conv, row);
CREATE INDEX message_external ON message (account, external_id) WHERE external_id <> '';
CREATE INDEX message_listed ON message (state, row) WHERE state <> 'waiting' AND state <> 'sending' AND state <> 'accepted';

CREATE TABLE attempt (
  message     TEXT NOT NULL,
  n           INTEGER NOT NULL CHECK (n > 0),
  id          TEXT NOT NULL CHECK (id <> ''),
  started_at  INTEGER NOT NULL,
  void_after  INTEGER NOT NULL,
  ended_at    INTEGER NOT NULL,
  outcome     TEXT NOT NULL CHECK (outcome = '' OR outcome = 'accepted' OR outcome = 'retry' OR outcome = 'rejected' OR outcome = 'unknown'),
  external_id TEXT NOT NULL,
  code        TEXT NOT NULL,
  detail      BLOB NOT NULL,
  by          TEXT NOT NULL,
  PRIMARY KEY (message, n),
  CHECK ((ended_at = 0) = (outcome = ''))
) WITHOUT ROWID;

CREATE TABLE receipt (
  message TEXT NOT NULL,
  state   TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (message, state)
) WITHOUT ROWID;

CREATE TABLE parked (
  n           INTEGER PRIMARY KEY,         -- of the event it came with
  kind        TEXT NOT NULL CHECK (kind IN ('status', 'echo')),
  platform    TEXT NOT NULL,
  account     TEXT NOT NULL,
  conv        TEXT NOT NULL,
  external_id TEXT NOT NULL,
  marker      TEXT NOT NULL,
  status      BLOB NOT NULL,               -- JSON
  at          INTEGER NOT NULL,
  deadline    INTEGER NOT NULL,
  look_at     INTEGER NOT NULL             -- 0: at once
);
CREATE INDEX parked_look ON parked (look_at, n);
CREATE INDEX parked_external ON parked (account, external_id) WHERE external_id <> '';
CREATE INDEX parked_marker ON parked (marker) WHERE marker <> '';
CREATE INDEX parked_echo ON parked (conv) WHERE kind = 'echo';

CREATE TABLE change (
  n           INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  message     TEXT NOT NULL,
  task        TEXT NOT NULL,
  part        INTEGER NOT NULL,
  app         TEXT NOT NULL,
  event       TEXT NOT NULL,
  platform    TEXT NOT NULL,
  account     TEXT NOT NULL,
  conv        TEXT NOT NULL,
  state       TEXT NOT NULL,
  delivery    TEXT NOT NULL,
  code        TEXT NOT NULL,
  by          TEXT NOT NULL,
  echo        TEXT NOT NULL,
  external_id TEXT NOT NULL
);

CREATE TABLE brake (
  scope TEXT NOT NULL,
  name  TEXT NOT NULL,
  at    INTEGER NOT NULL,
  by    TEXT NOT NULL,
  PRIMARY KEY (scope, name)
) WITHOUT ROWID;

CREATE TABLE audit (
  n      INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  by     TEXT NOT NULL,
  what   TEXT NOT NULL,
  target TEXT NOT NULL
);

-- +goose Down
DROP TABLE audit;
DROP TABLE brake;
DROP TABLE change;
DROP TABLE parked;
DROP TABLE receipt;
DROP TABLE attempt;
DROP TABLE message;
DROP TABLE dead;
DROP TABLE run;
DROP TABLE again;
DROP TABLE payload;
DROP TABLE item;
DROP TABLE settled;
DROP TABLE pending;
DROP TABLE event;
DROP TABLE alias;
DROP TABLE conversation;
DROP TABLE place;
DROP TABLE counter;
DROP TABLE meta;
