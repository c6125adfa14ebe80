-- What is known of attempts beside their ends: the hosts of an attempt on several, and its steps. Both are removed with
-- the job.

CREATE TABLE placement (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    hosts TEXT NOT NULL,
    PRIMARY KEY (job, task, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    n_tasks INTEGER NOT NULL,
    procs INTEGER NOT NULL,
    hosts TEXT NOT NULL,
    start INTEGER NOT NULL,
    finish INTEGER,
    code INTEGER,
    signal INTEGER,
    PRIMARY KEY (job, task, attempt, step)
) STRICT, WITHOUT ROWID;
