-- What happened to jobs besides their starts and ends: the nodes of their attempts, promises that were made after the
-- submission, turns such as holds, and what was expected of them as time went by. All are removed with the job.

CREATE TABLE place (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    nodes TEXT NOT NULL,
    start INTEGER NOT NULL,
    finish INTEGER,
    PRIMARY KEY (job, task, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX place_ended ON place (finish);

CREATE TABLE late_promise (
    job INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    quoted REAL
) STRICT;

CREATE TABLE turn (
    job INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tasks TEXT NOT NULL,
    note TEXT,
    PRIMARY KEY (job, at, kind, tasks)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample (
    job INTEGER NOT NULL,
    at INTEGER NOT NULL,
    start INTEGER NOT NULL,
    finish INTEGER NOT NULL,
    earliest INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    probability REAL,
    PRIMARY KEY (job, at)
) STRICT, WITHOUT ROWID;
