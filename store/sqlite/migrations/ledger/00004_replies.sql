-- +goose Up

-- What a reply has beyond type and text, as JSON; empty for plain texts, so that
-- their rows stay as they were.
ALTER TABLE message ADD COLUMN reply BLOB NOT NULL DEFAULT x'';

-- Receipts of the members of a group, each by itself: receipt has those of the
-- message. member is "kind:value" of the identity named first.
CREATE TABLE member_receipt (
  message TEXT NOT NULL,
  member  TEXT NOT NULL,
  state   TEXT NOT NULL,
  at      INTEGER NOT NULL,
  problem BLOB NOT NULL,                   -- JSON of a problem, or empty
  PRIMARY KEY (message, member, state)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE member_receipt;
ALTER TABLE message DROP COLUMN reply;
