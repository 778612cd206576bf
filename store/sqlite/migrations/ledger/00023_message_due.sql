-- A list of what is to be sent leaves out the messages of other accounts and
-- applications by the index alone: their rows lie all over the file, since what is due
-- one after another was not asked for one after another.

-- +goose Up
DROP INDEX message_due;
CREATE INDEX message_due ON message (due_at, row, account, app) WHERE open = 1;

-- +goose Down
DROP INDEX message_due;
CREATE INDEX message_due ON message (due_at) WHERE open = 1;
