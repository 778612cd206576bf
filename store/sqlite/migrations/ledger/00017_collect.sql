-- What is offered together as one delivery (gateway.Collect). bundle is 0 for a row that
-- is not part of anything yet. On the row that leads a bundle it is the n of its last
-- event (its own for a bundle of one), on the others the n of the one that leads, negative.
-- Rows of applications that collect nothing keep 0.

-- +goose Up
ALTER TABLE pending ADD COLUMN bundle INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE pending DROP COLUMN bundle;
