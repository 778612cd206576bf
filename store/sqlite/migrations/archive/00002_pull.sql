-- +goose Up
-- How far a source that is pulled was read: its cursor moves in the transaction
-- that adds the page.
CREATE TABLE pull (
  source  TEXT PRIMARY KEY,   -- "wecom/<corp id>/kf:<open_kfid>"
  cursor  TEXT NOT NULL,      -- the platform's; empty for the oldest that it keeps
  since   INTEGER NOT NULL    -- when we first asked for it
) WITHOUT ROWID;

-- +goose Down
DROP TABLE pull;
