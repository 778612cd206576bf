-- +goose Up
-- Pictures that go with the end of an answer: a JSON list of files, of which the
-- first were fetched.
ALTER TABLE progress ADD COLUMN pictures BLOB NOT NULL DEFAULT x'';
ALTER TABLE progress ADD COLUMN pictures_taken INTEGER NOT NULL DEFAULT 0 CHECK (pictures_taken >= 0);

-- +goose Down
ALTER TABLE progress DROP COLUMN pictures;
ALTER TABLE progress DROP COLUMN pictures_taken;
