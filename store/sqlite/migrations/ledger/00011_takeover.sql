-- +goose Up
-- While a colleague answers a conversation it is taken: until when, since when, by
-- whom, and what becomes of the replies held meanwhile. taken_until stays until all of
-- them have moved; 0 when nobody has it.
ALTER TABLE conversation ADD COLUMN taken_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN taken_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN taken_by BLOB NOT NULL DEFAULT x'';
ALTER TABLE conversation ADD COLUMN taken_then TEXT NOT NULL DEFAULT '' CHECK (taken_then = '' OR taken_then = 'drop' OR taken_then = 'send');
CREATE INDEX conversation_taken ON conversation (taken_until) WHERE taken_until > 0;

-- heard_at is the platform's time of what the customer last did beside writing
-- messages, which newest_at knows. told_at is when the template of a closed window was
-- last sent for a reply.
ALTER TABLE conversation ADD COLUMN heard_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN told_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX message_taken ON message (conv, row) WHERE state = 'held' AND reason = 'takeover';

-- +goose Down
DROP INDEX message_taken;
ALTER TABLE conversation DROP COLUMN told_at;
ALTER TABLE conversation DROP COLUMN heard_at;
DROP INDEX conversation_taken;
ALTER TABLE conversation DROP COLUMN taken_then;
ALTER TABLE conversation DROP COLUMN taken_by;
ALTER TABLE conversation DROP COLUMN taken_since;
ALTER TABLE conversation DROP COLUMN taken_until;
