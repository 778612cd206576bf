-- +goose Up
-- What is asked for besides the content: see gateway.Message. terms is JSON of
-- gateway.Terms, or empty.
ALTER TABLE message ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN human INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN even_in_takeover INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN terms BLOB NOT NULL DEFAULT x'';

-- Lists what is to be sent by when it is due, however many messages there are.
CREATE INDEX message_due ON message (due_at) WHERE open = 1;

-- How far a message and its task are after a change.
ALTER TABLE change ADD COLUMN result TEXT NOT NULL DEFAULT '';
ALTER TABLE change ADD COLUMN task_state TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE change DROP COLUMN task_state;
ALTER TABLE change DROP COLUMN result;
DROP INDEX message_due;
ALTER TABLE message DROP COLUMN terms;
ALTER TABLE message DROP COLUMN even_in_takeover;
ALTER TABLE message DROP COLUMN human;
ALTER TABLE message DROP COLUMN priority;
