-- Computers that people work at: when each was in use, and what became of the tasks there. Evictions and abandoned tasks
-- are removed with their job.

CREATE TABLE host_use (
    host TEXT NOT NULL,
    at INTEGER NOT NULL,
    cause TEXT,
    PRIMARY KEY (host, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX host_use_at ON host_use (at);

CREATE TABLE eviction (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    cause TEXT NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (job, task, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX eviction_at ON eviction (at);

CREATE TABLE abandonment (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    at INTEGER NOT NULL,
    owner TEXT NOT NULL,
    rule TEXT NOT NULL,
    evictions INTEGER NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (job, task)
) STRICT, WITHOUT ROWID;
