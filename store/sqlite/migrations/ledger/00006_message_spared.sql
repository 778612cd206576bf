-- +goose Up
-- Attempts that spend no try of the message: see gateway.Message.
ALTER TABLE message ADD COLUMN spared INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE message DROP COLUMN spared;
