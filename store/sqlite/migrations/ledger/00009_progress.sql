-- +goose Up
-- How far the answer to a message is, for platforms that come and fetch it. parts
-- is a JSON list of [message, receipt, delivered].
CREATE TABLE progress (
  n          INTEGER PRIMARY KEY,          -- of the event
  state      TEXT NOT NULL CHECK (state = 'open' OR state = 'finished' OR state = 'taken' OR state = 'closed'),
  text       BLOB NOT NULL,
  taken      INTEGER NOT NULL CHECK (taken >= 0 AND taken <= length(text)), -- bytes fetched with the end
  card       BLOB NOT NULL,                -- JSON, or empty
  card_taken INTEGER NOT NULL CHECK (card_taken = 0 OR card_taken = 1),
  parts      BLOB NOT NULL,
  polled_at  INTEGER NOT NULL,
  used_by    TEXT NOT NULL,                -- the message that has the event's handle
  changed_at INTEGER NOT NULL
);

-- +goose Down
DROP TABLE progress;
