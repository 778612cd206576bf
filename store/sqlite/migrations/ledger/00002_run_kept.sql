-- +goose Up
-- What a run reads and how far, so that it goes on after a restart and neither
-- ends early nor takes in what came later. up_to is the last position of the
-- archive it reads; -1: recorded before this was kept, so nobody can go on with it.
ALTER TABLE run ADD COLUMN up_to INTEGER NOT NULL DEFAULT -1;
ALTER TABLE run ADD COLUMN pos INTEGER NOT NULL DEFAULT 0;        -- of one payload, or
ALTER TABLE run ADD COLUMN conv TEXT NOT NULL DEFAULT '';         -- of a conversation, or
ALTER TABLE run ADD COLUMN since INTEGER NOT NULL DEFAULT 0;      -- of a range of time
ALTER TABLE run ADD COLUMN until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN endpoint TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN ended_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_open ON run (at, id) WHERE ended_at = 0 AND up_to >= 0;

-- +goose Down
DROP INDEX run_open;
ALTER TABLE run DROP COLUMN ended_at;
ALTER TABLE run DROP COLUMN endpoint;
ALTER TABLE run DROP COLUMN until;
ALTER TABLE run DROP COLUMN since;
ALTER TABLE run DROP COLUMN conv;
ALTER TABLE run DROP COLUMN pos;
ALTER TABLE run DROP COLUMN up_to;
