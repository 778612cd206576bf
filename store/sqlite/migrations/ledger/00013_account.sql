-- +goose Up
-- Accounts of which nothing leaves, and why: those that are not here are healthy.
CREATE TABLE account_health (
  account  TEXT PRIMARY KEY CHECK (account <> ''),
  state    TEXT NOT NULL CHECK (state = 'paused' OR state = 'isolated'),
  reason   TEXT NOT NULL,
  code     TEXT NOT NULL,
  detail   BLOB NOT NULL,
  since    INTEGER NOT NULL,
  probe_at INTEGER NOT NULL,
  probes   INTEGER NOT NULL CHECK (probes >= 0),
  key_fp   TEXT NOT NULL                  -- of the credentials that were refused
) WITHOUT ROWID;

-- +goose Down
DROP TABLE account_health;
