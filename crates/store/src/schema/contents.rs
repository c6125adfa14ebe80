//! Version 15: scripts, environments and long commands, each stored once, and those that users keep after
//! their jobs.

/// Maximum size of a command, in bytes of JSON, that is part of the record of its job. A longer one is a text
/// of its own.
pub(crate) const MAX_COMMAND: usize = 1_024;

/// Maximum length of the word that stays of a longer command.
pub(crate) const MAX_WORD: usize = 255;

/// The columns of a job that name its texts.
pub(crate) const TEXTS: [&str; 3] = ["script", "environment", "command"];

const TABLES: &str = "
DROP TRIGGER script_is_needed_no_more;
DROP INDEX job_of_script;
ALTER TABLE job ADD COLUMN environment TEXT;
ALTER TABLE job ADD COLUMN command TEXT;
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
INSERT INTO content SELECT sha256, text FROM script;
DROP TABLE script;
";

const TRIGGERS: &str = "
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
INSERT INTO kept SELECT user, sha256, octet_length(text), max(finish)
    FROM job JOIN content ON sha256 IN (script, environment, command)
    WHERE finish IS NOT NULL GROUP BY user, sha256;
";

/// Returns the part of the version between the sums of the changed tables. Environments and long commands move
/// out of the programs. Those of jobs that are over are kept; the scripts of such jobs are gone.
pub(super) fn step() -> String {
    let environment = moved(
        "environment",
        "env",
        "json_array_length(program, '$.env') > 0",
        "json('[]')",
    );
    let is_long = format!("octet_length(json_extract(program, '$.argv')) > {MAX_COMMAND}");
    let word = format!("json_array(substr(json_extract(program, '$.argv[0]'), 1, {MAX_WORD}))");
    let command = moved("command", "argv", &is_long, &word);
    let index = |column| {
        format!(
            "CREATE INDEX job_of_{column} ON job ({column})
    WHERE {column} IS NOT NULL AND finish IS NULL;
"
        )
    };
    let indices = TEXTS.map(index).concat();
    [TABLES, &environment, &command, &indices, TRIGGERS].concat()
}

/// Returns the statements that move a part of programs to a text of its own where `condition` holds, and leave
/// `rest` in its place.
fn moved(column: &str, part: &str, condition: &str, rest: &str) -> String {
    format!(
        "UPDATE job SET {column} = sha256(json_extract(program, '$.{part}'))
    WHERE CASE WHEN json_valid(program) THEN {condition} END;
INSERT OR IGNORE INTO content SELECT {column}, json_extract(program, '$.{part}') FROM job
    WHERE {column} IS NOT NULL;
UPDATE job SET program = json_set(program, '$.{part}', {rest}) WHERE {column} IS NOT NULL;
"
    )
}
