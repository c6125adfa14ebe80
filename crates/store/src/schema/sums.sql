-- The ledger, and sums that outlive the rows of the jobs.
--
-- SQLite makes a real number of a sum that overflows, and refuses to store it in a column of integers. A cast makes
-- the nearest integer of it: a sum that exceeds its column stays at the greatest number of the column, or the least.
--
-- Processors times wall-clock time is in milliseconds: as microseconds, the sum of a large site could overflow. The
-- end of a lost attempt was not observed: its processors were free for others once its loss was noticed.

CREATE TABLE ledger (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    user INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (job, task, attempt, kind)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ledger_is_never_changed BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER ledger_is_never_cut BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TABLE account (
    user INTEGER NOT NULL,
    day INTEGER NOT NULL,
    charges INTEGER NOT NULL,
    penalties INTEGER NOT NULL,
    PRIMARY KEY (user, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE total (
    user INTEGER PRIMARY KEY,
    wait INTEGER NOT NULL,
    budgets INTEGER NOT NULL,
    utility INTEGER NOT NULL
) STRICT;

CREATE TABLE promise (
    user INTEGER NOT NULL,
    tenth INTEGER NOT NULL,
    batches INTEGER NOT NULL,
    promises INTEGER NOT NULL,
    expected REAL NOT NULL,
    kept INTEGER NOT NULL,
    void INTEGER NOT NULL,
    PRIMARY KEY (user, tenth, batches)
) STRICT, WITHOUT ROWID;

CREATE TABLE book (
    user INTEGER NOT NULL,
    account TEXT NOT NULL,
    day INTEGER NOT NULL,
    entry TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (user, account, day, entry)
) STRICT, WITHOUT ROWID;

CREATE TABLE removed (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    jobs INTEGER NOT NULL,
    forecasts INTEGER NOT NULL,
    covered INTEGER NOT NULL
) STRICT;

CREATE TABLE usage (
    user INTEGER NOT NULL,
    account TEXT NOT NULL,
    day INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    wall INTEGER NOT NULL,
    core_ms INTEGER NOT NULL,
    cpu INTEGER NOT NULL,
    charges INTEGER NOT NULL,
    penalties INTEGER NOT NULL,
    PRIMARY KEY (user, account, day)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ledger_is_added_up AFTER INSERT ON ledger
BEGIN
    INSERT INTO account VALUES (NEW.user, NEW.at / 86400000000,
            CASE NEW.kind WHEN 'charge' THEN NEW.amount ELSE 0 END,
            CASE NEW.kind WHEN 'penalty' THEN NEW.amount ELSE 0 END)
        ON CONFLICT DO UPDATE SET charges = CAST(charges + excluded.charges AS INTEGER),
            penalties = CAST(penalties + excluded.penalties AS INTEGER);
    INSERT INTO total VALUES (NEW.user, 0, 0, NEW.amount)
        ON CONFLICT DO UPDATE SET utility = CAST(utility + excluded.utility AS INTEGER);
END;

CREATE TRIGGER ledger_is_used AFTER INSERT ON ledger
BEGIN
    INSERT INTO usage SELECT NEW.user, coalesce((SELECT account FROM job WHERE id = NEW.job), ''),
            NEW.at / 86400000000, 0, 0, 0, 0, 0,
            CASE NEW.kind WHEN 'charge' THEN NEW.amount ELSE 0 END,
            CASE NEW.kind WHEN 'penalty' THEN NEW.amount ELSE 0 END WHERE true
        ON CONFLICT DO UPDATE SET charges = CAST(charges + excluded.charges AS INTEGER),
            penalties = CAST(penalties + excluded.penalties AS INTEGER);
END;

CREATE TRIGGER attempt_is_inserted_as_over AFTER INSERT ON attempt
WHEN NEW.finish IS NOT NULL
BEGIN
    INSERT INTO usage SELECT user, coalesce(account, ''), NEW.finish / 86400000000, 0, 0,
            max(coalesce(NEW.wall, NEW.finish - coalesce(NEW.start, NEW.ordered)), 0),
            CAST((max(coalesce(NEW.wall, NEW.finish - coalesce(NEW.start, NEW.ordered)), 0) * procs + 500) / 1000
                AS INTEGER),
            coalesce(NEW.cpu, 0), 0, 0
        FROM job WHERE id = NEW.job
        ON CONFLICT DO UPDATE SET wall = CAST(wall + excluded.wall AS INTEGER),
            core_ms = CAST(core_ms + excluded.core_ms AS INTEGER), cpu = CAST(cpu + excluded.cpu AS INTEGER);
    UPDATE array SET cpu = coalesce(CAST(cpu + NEW.cpu AS INTEGER), cpu, NEW.cpu),
            peak_memory = CASE WHEN NEW.peak_memory IS NULL THEN peak_memory
                ELSE max(coalesce(peak_memory, 0), NEW.peak_memory) END
        WHERE job = NEW.job;
END;

CREATE TRIGGER attempt_is_over AFTER UPDATE OF finish ON attempt
WHEN NEW.finish IS NOT NULL AND OLD.finish IS NULL
BEGIN
    INSERT INTO usage SELECT user, coalesce(account, ''), NEW.finish / 86400000000, 0, 0,
            max(coalesce(NEW.wall, NEW.finish - coalesce(NEW.start, NEW.ordered)), 0),
            CAST((max(coalesce(NEW.wall, NEW.finish - coalesce(NEW.start, NEW.ordered)), 0) * procs + 500) / 1000
                AS INTEGER),
            coalesce(NEW.cpu, 0), 0, 0
        FROM job WHERE id = NEW.job
        ON CONFLICT DO UPDATE SET wall = CAST(wall + excluded.wall AS INTEGER),
            core_ms = CAST(core_ms + excluded.core_ms AS INTEGER), cpu = CAST(cpu + excluded.cpu AS INTEGER);
    UPDATE array SET cpu = coalesce(CAST(cpu + NEW.cpu AS INTEGER), cpu, NEW.cpu),
            peak_memory = CASE WHEN NEW.peak_memory IS NULL THEN peak_memory
                ELSE max(coalesce(peak_memory, 0), NEW.peak_memory) END
        WHERE job = NEW.job;
END;

CREATE TRIGGER task_is_inserted_as_ended AFTER INSERT ON attempt
WHEN NEW.ending IS NOT NULL AND EXISTS (SELECT 1 FROM array WHERE job = NEW.job)
BEGIN
    INSERT INTO usage SELECT user, coalesce(account, ''), coalesce(NEW.finish, NEW.ordered) / 86400000000,
            1, (SELECT min(ordered) FROM attempt WHERE job = NEW.job AND task = NEW.task) - submit, 0, 0, 0, 0, 0
        FROM job WHERE id = NEW.job
        ON CONFLICT DO UPDATE SET jobs = CAST(jobs + excluded.jobs AS INTEGER),
            wait = CAST(wait + excluded.wait AS INTEGER);
END;

CREATE TRIGGER task_has_ended AFTER UPDATE OF ending ON attempt
WHEN NEW.ending IS NOT NULL AND OLD.ending IS NULL AND EXISTS (SELECT 1 FROM array WHERE job = NEW.job)
BEGIN
    INSERT INTO usage SELECT user, coalesce(account, ''), coalesce(NEW.finish, NEW.ordered) / 86400000000,
            1, (SELECT min(ordered) FROM attempt WHERE job = NEW.job AND task = NEW.task) - submit, 0, 0, 0, 0, 0
        FROM job WHERE id = NEW.job
        ON CONFLICT DO UPDATE SET jobs = CAST(jobs + excluded.jobs AS INTEGER),
            wait = CAST(wait + excluded.wait AS INTEGER);
END;

CREATE TRIGGER job_is_over AFTER UPDATE OF finish ON job
WHEN NEW.finish IS NOT NULL AND OLD.finish IS NULL AND NEW.start IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO usage SELECT user, coalesce(account, ''), NEW.finish / 86400000000,
            1, NEW.start - NEW.submit, 0, 0, 0, 0, 0
        FROM job WHERE id = NEW.id
        ON CONFLICT DO UPDATE SET jobs = CAST(jobs + excluded.jobs AS INTEGER),
            wait = CAST(wait + excluded.wait AS INTEGER);
END;

INSERT INTO removed VALUES (0, 0, 0, 0);
