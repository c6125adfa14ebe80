-- Promises that count on hosts that were not there when they were made: their jobs, and the sums of what became of them.

CREATE TABLE on_expected (
    job INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE promise_on_expected (
    user INTEGER NOT NULL,
    tenth INTEGER NOT NULL,
    promises INTEGER NOT NULL,
    expected REAL NOT NULL,
    kept INTEGER NOT NULL,
    void INTEGER NOT NULL,
    PRIMARY KEY (user, tenth)
) STRICT, WITHOUT ROWID;
