-- Scripts, environments and long commands of jobs, each stored once, and those that users keep after their jobs.

CREATE TABLE content (
    sha256 TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE kept (
    user INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (user, sha256)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_by_age ON kept (user, last, sha256);

CREATE INDEX kept_content ON kept (sha256);

CREATE TABLE kept_by_user (
    user INTEGER PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT;

CREATE INDEX kept_above ON kept_by_user (bytes);

CREATE INDEX job_of_script ON job (script)
    WHERE script IS NOT NULL AND finish IS NULL;

CREATE INDEX job_of_environment ON job (environment)
    WHERE environment IS NOT NULL AND finish IS NULL;

CREATE INDEX job_of_command ON job (command)
    WHERE command IS NOT NULL AND finish IS NULL;

CREATE TRIGGER content_is_kept AFTER INSERT ON kept
BEGIN
    INSERT INTO kept_by_user VALUES (NEW.user, NEW.bytes)
        ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER content_is_dropped AFTER DELETE ON kept
BEGIN
    UPDATE kept_by_user SET bytes = bytes - OLD.bytes WHERE user = OLD.user;
    DELETE FROM content WHERE sha256 = OLD.sha256
        AND NOT EXISTS (SELECT 1 FROM kept WHERE sha256 = OLD.sha256)
        AND NOT EXISTS (SELECT 1 FROM job WHERE script = OLD.sha256 AND finish IS NULL)
        AND NOT EXISTS (SELECT 1 FROM job WHERE environment = OLD.sha256 AND finish IS NULL)
        AND NOT EXISTS (SELECT 1 FROM job WHERE command = OLD.sha256 AND finish IS NULL);
END;

CREATE TRIGGER contents_of_job_are_kept AFTER UPDATE OF finish ON job
WHEN NEW.finish IS NOT NULL AND OLD.finish IS NULL
BEGIN
    INSERT INTO kept SELECT NEW.user, sha256, octet_length(text), NEW.finish FROM content
        WHERE sha256 IN (NEW.script, NEW.environment, NEW.command)
        ON CONFLICT DO UPDATE SET last = max(last, excluded.last);
END;

CREATE TRIGGER contents_of_job_are_removed AFTER DELETE ON job
WHEN OLD.finish IS NOT NULL
BEGIN
    DELETE FROM kept WHERE user = OLD.user AND last = OLD.finish
        AND sha256 IN (OLD.script, OLD.environment, OLD.command);
END;
