-- +goose Up
-- Accounts that a platform slowed, as of its last refusal: their pace was halved so often
-- since all of it was let through, and nothing leaves before until.
CREATE TABLE account_slowed (
  account TEXT PRIMARY KEY CHECK (account <> ''),
  since   INTEGER NOT NULL,
  until   INTEGER NOT NULL,
  halved  INTEGER NOT NULL CHECK (halved >= 0),
  key_fp  TEXT NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE account_slowed;
