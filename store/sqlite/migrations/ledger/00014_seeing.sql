-- +goose Up
-- Why a person dropped a dead letter; how much one deed of an admin moved, and why.
ALTER TABLE dead ADD COLUMN note BLOB NOT NULL DEFAULT x'';
ALTER TABLE audit ADD COLUMN count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN note BLOB NOT NULL DEFAULT x'';

-- dead_list answers every filter of a list by itself; a filter of few letters among
-- many has an index of its own.
DROP INDEX dead_state;
CREATE INDEX dead_list ON dead (state, id, kind, app, platform, account, reason, at, conv);
CREATE INDEX dead_app ON dead (state, app, id);
CREATE INDEX dead_account ON dead (state, account, id);
CREATE INDEX dead_reason ON dead (state, reason, id);
CREATE INDEX dead_conv ON dead (state, conv, id);

-- How many are open, kept by the table itself, whoever writes it.
CREATE TABLE dead_count (
  kind     TEXT NOT NULL,
  app      TEXT NOT NULL,
  account  TEXT NOT NULL,
  reason   TEXT NOT NULL,
  platform TEXT NOT NULL,
  n        INTEGER NOT NULL CHECK (n >= 0),
  PRIMARY KEY (kind, app, account, reason, platform)
) WITHOUT ROWID;
INSERT INTO dead_count SELECT kind, app, account, reason, platform, count(*) FROM dead WHERE state = 'open' GROUP BY 1, 2, 3, 4, 5;
-- +goose StatementBegin
CREATE TRIGGER dead_opens AFTER INSERT ON dead WHEN NEW.state = 'open' BEGIN
  INSERT INTO dead_count VALUES (NEW.kind, NEW.app, NEW.account, NEW.reason, NEW.platform, 1)
    ON CONFLICT (kind, app, account, reason, platform) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER dead_closes AFTER UPDATE OF state ON dead WHEN OLD.state = 'open' AND NEW.state <> 'open' BEGIN
  UPDATE dead_count SET n = n - 1 WHERE kind = OLD.kind AND app = OLD.app AND account = OLD.account AND reason = OLD.reason
    AND platform = OLD.platform;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER dead_closes;
DROP TRIGGER dead_opens;
DROP TABLE dead_count;
DROP INDEX dead_conv;
DROP INDEX dead_reason;
DROP INDEX dead_account;
DROP INDEX dead_app;
DROP INDEX dead_list;
CREATE INDEX dead_state ON dead (state, id);
ALTER TABLE audit DROP COLUMN note;
ALTER TABLE audit DROP COLUMN count;
ALTER TABLE dead DROP COLUMN note;
