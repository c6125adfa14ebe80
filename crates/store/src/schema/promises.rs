//! Versions 8 and 9: the endings of promises, and jobs without one.

/// The part of version 8 between the sums of the changed tables: each promise ends as kept, broken or
/// void. Old rows are classified by their status and their end; which limit or signal ended an
/// attempt is not always known, so every failure in time counts as the job's own.
pub(super) const PROMISES: &str = "
DROP TRIGGER job_is_over;
DROP TRIGGER job_was_rejected;
DROP TRIGGER tasks_are_over;
DROP TRIGGER ledger_is_added_up;
DROP VIEW ended;
DROP TABLE total;
DROP TABLE promise;
ALTER TABLE job ADD COLUMN promise TEXT;
ALTER TABLE job ADD COLUMN account TEXT;
ALTER TABLE job ADD COLUMN queue TEXT;
ALTER TABLE attempt ADD COLUMN promise TEXT;
ALTER TABLE attempt ADD COLUMN work INTEGER;
ALTER TABLE array RENAME COLUMN fulfilled TO kept;
ALTER TABLE array ADD COLUMN broken INTEGER NOT NULL DEFAULT 0;
ALTER TABLE array ADD COLUMN void INTEGER NOT NULL DEFAULT 0;
CREATE TABLE total (
    user INTEGER PRIMARY KEY,
    submitted INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    broken INTEGER NOT NULL,
    void INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    budgets INTEGER NOT NULL,
    utility INTEGER NOT NULL
) STRICT;
CREATE TABLE promise (
    user INTEGER NOT NULL,
    tenth INTEGER NOT NULL,
    promises INTEGER NOT NULL,
    expected REAL NOT NULL,
    kept INTEGER NOT NULL,
    void INTEGER NOT NULL,
    PRIMARY KEY (user, tenth)
) STRICT, WITHOUT ROWID;

UPDATE job SET promise = CASE
        WHEN state = 'lost' OR finish > due + 1000 THEN 'broken'
        WHEN state = 'cancelled' THEN 'void'
        ELSE (SELECT CASE WHEN status = 'exit 0' THEN 'kept'
                WHEN status LIKE '%(evicted)' THEN 'broken' ELSE 'void' END
            FROM attempt WHERE attempt.job = job.id ORDER BY attempt DESC LIMIT 1) END
    WHERE state IN ('finished', 'lost', 'cancelled') AND decided IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM array WHERE array.job = job.id);
UPDATE attempt SET promise = CASE
        WHEN ending = 'lost' OR finish > (SELECT due FROM job WHERE id = attempt.job) + 1000
            THEN 'broken'
        WHEN ending = 'cancelled' THEN 'void'
        WHEN status = 'exit 0' THEN 'kept'
        WHEN status LIKE '%(evicted)' THEN 'broken'
        ELSE 'void' END
    WHERE ending IS NOT NULL AND EXISTS (SELECT 1 FROM array WHERE array.job = attempt.job);
UPDATE array SET
    kept = (SELECT count(*) FROM attempt WHERE attempt.job = array.job AND promise = 'kept'),
    broken = (SELECT count(*) FROM attempt WHERE attempt.job = array.job AND promise = 'broken'),
    void = (SELECT count(*) FROM attempt WHERE attempt.job = array.job AND promise = 'void'),
    wait = (SELECT coalesce(sum(ordered - submit), 0) FROM attempt JOIN job ON id = attempt.job
        WHERE attempt.job = array.job AND attempt.promise = 'kept');
INSERT INTO total
    SELECT user, sum(submitted), sum(accepted), sum(kept), sum(broken), sum(void), sum(wait),
        sum(budget), sum(utility)
    FROM (
        SELECT user, 1 AS submitted, promise IS NOT NULL AS accepted,
            coalesce(promise = 'kept', 0) AS kept, coalesce(promise = 'broken', 0) AS broken,
            coalesce(promise = 'void', 0) AS void,
            CASE promise WHEN 'kept' THEN start - submit ELSE 0 END AS wait,
            coalesce(budget, 0) AS budget, 0 AS utility
        FROM job WHERE (promise IS NOT NULL OR state = 'rejected')
            AND NOT EXISTS (SELECT 1 FROM array WHERE array.job = job.id)
        UNION ALL SELECT user, kept + broken + void + rejected, kept + broken + void, kept, broken,
            void, wait, coalesce(budget, 0) * (kept + broken + void + rejected), 0
        FROM array JOIN job ON id = array.job WHERE kept + broken + void + rejected > 0
        UNION ALL SELECT user, 0, 0, 0, 0, 0, 0, 0, amount FROM ledger)
    GROUP BY user;
INSERT INTO promise
    SELECT user, min(CAST(probability * 10 AS INTEGER), 9) AS tenth, sum(kept + broken),
        sum(probability * (kept + broken)), sum(kept), sum(void)
    FROM (
        SELECT user, due, probability, promise = 'kept' AS kept, promise = 'broken' AS broken,
            promise = 'void' AS void
        FROM job WHERE promise IS NOT NULL
        UNION ALL SELECT user, due, probability, kept, broken, void
        FROM array JOIN job ON id = array.job WHERE kept + broken + void > 0)
    WHERE due IS NOT NULL AND probability IS NOT NULL GROUP BY user, tenth;

CREATE TRIGGER promise_has_ended AFTER UPDATE OF promise ON job
WHEN NEW.promise IS NOT NULL AND OLD.promise IS NULL
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, 1, NEW.promise = 'kept', NEW.promise = 'broken',
            NEW.promise = 'void',
            CASE NEW.promise WHEN 'kept' THEN NEW.start - NEW.submit ELSE 0 END,
            coalesce(NEW.budget, 0), 0)
        ON CONFLICT DO UPDATE SET submitted = submitted + 1, accepted = accepted + 1,
            kept = kept + excluded.kept, broken = broken + excluded.broken,
            void = void + excluded.void, wait = wait + excluded.wait,
            budgets = budgets + excluded.budgets;
    INSERT INTO promise SELECT NEW.user, min(CAST(NEW.probability * 10 AS INTEGER), 9),
            NEW.promise <> 'void', NEW.probability * (NEW.promise <> 'void'),
            NEW.promise = 'kept', NEW.promise = 'void'
        WHERE NEW.due IS NOT NULL AND NEW.probability IS NOT NULL
        ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
            expected = expected + excluded.expected, kept = kept + excluded.kept,
            void = void + excluded.void;
END;
CREATE TRIGGER job_is_inserted_as_rejected AFTER INSERT ON job
WHEN NEW.state = 'rejected' AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, 0, 0, 0, 0, 0, coalesce(NEW.budget, 0), 0)
        ON CONFLICT DO UPDATE SET submitted = submitted + 1, budgets = budgets + excluded.budgets;
END;
CREATE TRIGGER job_is_rejected_later AFTER UPDATE OF state ON job
WHEN NEW.state = 'rejected' AND OLD.state <> 'rejected'
    AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, 0, 0, 0, 0, 0, coalesce(NEW.budget, 0), 0)
        ON CONFLICT DO UPDATE SET submitted = submitted + 1, budgets = budgets + excluded.budgets;
END;
CREATE TRIGGER promises_of_tasks_have_ended AFTER UPDATE ON array
WHEN NEW.kept + NEW.broken + NEW.void + NEW.rejected
    > OLD.kept + OLD.broken + OLD.void + OLD.rejected
BEGIN
    INSERT INTO total SELECT user, judged + NEW.rejected - OLD.rejected, judged,
            NEW.kept - OLD.kept, NEW.broken - OLD.broken, NEW.void - OLD.void,
            NEW.wait - OLD.wait, coalesce(budget, 0) * (judged + NEW.rejected - OLD.rejected), 0
        FROM (SELECT user, budget, NEW.kept + NEW.broken + NEW.void
                - OLD.kept - OLD.broken - OLD.void AS judged
            FROM job WHERE id = NEW.job) WHERE true
        ON CONFLICT DO UPDATE SET submitted = submitted + excluded.submitted,
            accepted = accepted + excluded.accepted, kept = kept + excluded.kept,
            broken = broken + excluded.broken, void = void + excluded.void,
            wait = wait + excluded.wait, budgets = budgets + excluded.budgets;
    INSERT INTO promise SELECT user, min(CAST(probability * 10 AS INTEGER), 9),
            NEW.kept + NEW.broken - OLD.kept - OLD.broken,
            probability * (NEW.kept + NEW.broken - OLD.kept - OLD.broken),
            NEW.kept - OLD.kept, NEW.void - OLD.void
        FROM job WHERE id = NEW.job AND due IS NOT NULL AND probability IS NOT NULL
            AND NEW.kept + NEW.broken + NEW.void > OLD.kept + OLD.broken + OLD.void
        ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
            expected = expected + excluded.expected, kept = kept + excluded.kept,
            void = void + excluded.void;
END;
CREATE TRIGGER ledger_is_added_up AFTER INSERT ON ledger
BEGIN
    INSERT INTO account VALUES (NEW.user, NEW.at / 86400000000,
            CASE NEW.kind WHEN 'charge' THEN NEW.amount ELSE 0 END,
            CASE NEW.kind WHEN 'penalty' THEN NEW.amount ELSE 0 END)
        ON CONFLICT DO UPDATE SET charges = charges + excluded.charges,
            penalties = penalties + excluded.penalties;
    INSERT INTO total VALUES (NEW.user, 0, 0, 0, 0, 0, 0, 0, NEW.amount)
        ON CONFLICT DO UPDATE SET utility = utility + excluded.utility;
END;
";

/// The part of version 9 between the sums of the changed tables: a job that ran without a promise, because
/// its deadline could not be promised, counts as submitted and not as admitted.
pub(super) const UNPROMISED: &str = "
DROP TRIGGER promise_has_ended;
DROP TRIGGER promises_of_tasks_have_ended;
DROP TRIGGER job_is_inserted_as_rejected;
DROP TRIGGER job_is_rejected_later;
DROP TRIGGER ledger_is_added_up;
ALTER TABLE array ADD COLUMN unpromised INTEGER NOT NULL DEFAULT 0;
ALTER TABLE total ADD COLUMN unpromised INTEGER NOT NULL DEFAULT 0;
";

/// The triggers of version 9, which add up jobs, promises and the ledger.
pub(super) const TOTALS: &str = "
CREATE TRIGGER promise_has_ended AFTER UPDATE OF promise ON job
WHEN NEW.promise IS NOT NULL AND OLD.promise IS NULL
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, NEW.promise <> 'unpromised', NEW.promise = 'kept',
            NEW.promise = 'broken', NEW.promise = 'void',
            CASE NEW.promise WHEN 'kept' THEN NEW.start - NEW.submit ELSE 0 END,
            coalesce(NEW.budget, 0), 0, NEW.promise = 'unpromised')
        ON CONFLICT DO UPDATE SET submitted = submitted + 1,
            accepted = accepted + excluded.accepted, kept = kept + excluded.kept,
            broken = broken + excluded.broken, void = void + excluded.void,
            wait = wait + excluded.wait, budgets = budgets + excluded.budgets,
            unpromised = unpromised + excluded.unpromised;
    INSERT INTO promise SELECT NEW.user, min(CAST(NEW.probability * 10 AS INTEGER), 9),
            NEW.promise <> 'void', NEW.probability * (NEW.promise <> 'void'),
            NEW.promise = 'kept', NEW.promise = 'void'
        WHERE NEW.due IS NOT NULL AND NEW.probability IS NOT NULL AND NEW.promise <> 'unpromised'
        ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
            expected = expected + excluded.expected, kept = kept + excluded.kept,
            void = void + excluded.void;
END;
CREATE TRIGGER job_is_inserted_as_rejected AFTER INSERT ON job
WHEN NEW.state = 'rejected' AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, 0, 0, 0, 0, 0, coalesce(NEW.budget, 0), 0, 0)
        ON CONFLICT DO UPDATE SET submitted = submitted + 1, budgets = budgets + excluded.budgets;
END;
CREATE TRIGGER job_is_rejected_later AFTER UPDATE OF state ON job
WHEN NEW.state = 'rejected' AND OLD.state <> 'rejected'
    AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, 0, 0, 0, 0, 0, coalesce(NEW.budget, 0), 0, 0)
        ON CONFLICT DO UPDATE SET submitted = submitted + 1, budgets = budgets + excluded.budgets;
END;
CREATE TRIGGER promises_of_tasks_have_ended AFTER UPDATE ON array
WHEN NEW.kept + NEW.broken + NEW.void + NEW.rejected + NEW.unpromised
    > OLD.kept + OLD.broken + OLD.void + OLD.rejected + OLD.unpromised
BEGIN
    INSERT INTO total SELECT user, judged + others, judged, NEW.kept - OLD.kept,
            NEW.broken - OLD.broken, NEW.void - OLD.void, NEW.wait - OLD.wait,
            coalesce(budget, 0) * (judged + others), 0, NEW.unpromised - OLD.unpromised
        FROM (SELECT user, budget, NEW.kept + NEW.broken + NEW.void
                - OLD.kept - OLD.broken - OLD.void AS judged,
                NEW.rejected + NEW.unpromised - OLD.rejected - OLD.unpromised AS others
            FROM job WHERE id = NEW.job) WHERE true
        ON CONFLICT DO UPDATE SET submitted = submitted + excluded.submitted,
            accepted = accepted + excluded.accepted, kept = kept + excluded.kept,
            broken = broken + excluded.broken, void = void + excluded.void,
            wait = wait + excluded.wait, budgets = budgets + excluded.budgets,
            unpromised = unpromised + excluded.unpromised;
    INSERT INTO promise SELECT user, min(CAST(probability * 10 AS INTEGER), 9),
            NEW.kept + NEW.broken - OLD.kept - OLD.broken,
            probability * (NEW.kept + NEW.broken - OLD.kept - OLD.broken),
            NEW.kept - OLD.kept, NEW.void - OLD.void
        FROM job WHERE id = NEW.job AND due IS NOT NULL AND probability IS NOT NULL
            AND NEW.kept + NEW.broken + NEW.void > OLD.kept + OLD.broken + OLD.void
        ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
            expected = expected + excluded.expected, kept = kept + excluded.kept,
            void = void + excluded.void;
END;
CREATE TRIGGER ledger_is_added_up AFTER INSERT ON ledger
BEGIN
    INSERT INTO account VALUES (NEW.user, NEW.at / 86400000000,
            CASE NEW.kind WHEN 'charge' THEN NEW.amount ELSE 0 END,
            CASE NEW.kind WHEN 'penalty' THEN NEW.amount ELSE 0 END)
        ON CONFLICT DO UPDATE SET charges = charges + excluded.charges,
            penalties = penalties + excluded.penalties;
    INSERT INTO total VALUES (NEW.user, 0, 0, 0, 0, 0, 0, 0, NEW.amount, 0)
        ON CONFLICT DO UPDATE SET utility = utility + excluded.utility;
END;
";
