-- What a step changes: its commands, the state from which they are replayed, and the history of each job.

CREATE TABLE batch (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    commands BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    seq INTEGER NOT NULL,
    format INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE rules (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    program TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    program TEXT NOT NULL,
    procs INTEGER NOT NULL,
    submit INTEGER NOT NULL,
    estimate INTEGER NOT NULL,
    source TEXT NOT NULL,
    due INTEGER,
    budget INTEGER,
    penalty REAL NOT NULL,
    decided INTEGER,
    price INTEGER,
    reasons TEXT,
    probability REAL,
    start INTEGER,
    finish INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    after TEXT,
    script TEXT,
    promise TEXT,
    account TEXT,
    queue TEXT,
    forecast INTEGER,
    environment TEXT,
    command TEXT,
    batches INTEGER
) STRICT;

CREATE INDEX job_of_user ON job (user, id);

CREATE INDEX job_live ON job (state, id)
    WHERE state IN ('queued', 'held', 'running', 'reserved', 'dependent');

CREATE INDEX job_ended ON job (finish) WHERE finish IS NOT NULL;

CREATE TABLE attempt (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ordered INTEGER NOT NULL,
    start INTEGER,
    pid INTEGER,
    finish INTEGER,
    status TEXT,
    wall INTEGER,
    cpu INTEGER,
    peak_memory INTEGER,
    ending TEXT,
    promise TEXT,
    work INTEGER,
    host TEXT,
    PRIMARY KEY (job, task, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_failed ON attempt (job, task)
    WHERE (ending IN ('timed_out', 'out_of_memory', 'output_limit', 'lost')
    OR ending = 'finished' AND status <> 'exit 0');

CREATE TABLE array (
    job INTEGER PRIMARY KEY,
    tasks TEXT NOT NULL,
    most INTEGER,
    queued INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    finished INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    kept INTEGER NOT NULL DEFAULT 0,
    worst INTEGER,
    broken INTEGER NOT NULL DEFAULT 0,
    void INTEGER NOT NULL DEFAULT 0,
    unpromised INTEGER NOT NULL DEFAULT 0,
    cpu INTEGER,
    peak_memory INTEGER,
    timed_out INTEGER NOT NULL DEFAULT 0,
    out_of_memory INTEGER NOT NULL DEFAULT 0,
    output_limit INTEGER NOT NULL DEFAULT 0,
    unpromised_in_time INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE task_range (
    job INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    state TEXT NOT NULL,
    at INTEGER NOT NULL,
    reasons TEXT,
    PRIMARY KEY (job, first, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_numbers (
    first INTEGER PRIMARY KEY,
    job INTEGER NOT NULL UNIQUE,
    n_tasks INTEGER NOT NULL
) STRICT;

CREATE TABLE granted (
    job INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    user INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;

CREATE TABLE answered (
    user INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    request TEXT NOT NULL,
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (user, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answered_at ON answered (at);
