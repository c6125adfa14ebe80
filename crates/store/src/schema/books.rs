//! Version 16: the books, with one entry for each job and task, and calibration by the batches known.
//!
//! The writer enters jobs ([`crate::books`]), so the triggers of earlier versions that added up promises are gone.

use std::iter::once;

use super::{records, saturation};

/// The columns of `usage` that are sums, from this version on: promises are in the books.
const USAGE_SUMS: [&str; 7] = [
    "jobs",
    "wait",
    "wall",
    "core_ms",
    "cpu",
    "charges",
    "penalties",
];

/// The trigger that adds up the ledger.
const LEDGER: &str = "
CREATE TRIGGER ledger_is_added_up AFTER INSERT ON ledger
BEGIN
    INSERT INTO account VALUES (NEW.user, NEW.at / 86400000000,
            CASE NEW.kind WHEN 'charge' THEN NEW.amount ELSE 0 END,
            CASE NEW.kind WHEN 'penalty' THEN NEW.amount ELSE 0 END)
        ON CONFLICT DO UPDATE SET charges = charges + excluded.charges,
            penalties = penalties + excluded.penalties;
    INSERT INTO total VALUES (NEW.user, 0, 0, NEW.amount)
        ON CONFLICT DO UPDATE SET utility = utility + excluded.utility;
END;
";

const TABLES: &str = "
CREATE TABLE book (
    user INTEGER NOT NULL,
    account TEXT NOT NULL,
    day INTEGER NOT NULL,
    entry TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (user, account, day, entry)
) STRICT, WITHOUT ROWID;
ALTER TABLE job ADD COLUMN batches INTEGER;
ALTER TABLE array ADD COLUMN unpromised_in_time INTEGER NOT NULL DEFAULT 0;
";

/// The entry of an old row, from `{row}.promise`, the columns of its job, and the end and the status of its last
/// attempt. Rows of jobs that never started have none.
const ENTRY: &str = "CASE
        WHEN {row}.promise IS NULL OR {start} IS NULL AND {row}.promise = 'void' THEN NULL
        WHEN job.due IS NULL THEN 'no_deadline'
        WHEN {row}.promise = 'unpromised' THEN CASE
            WHEN {row}.finish IS NULL OR {row}.finish > job.due + 1000 THEN 'unpromised_late'
            WHEN {status} = 'exit 0' THEN 'unpromised_in_time'
            WHEN {status} LIKE '%lost%' OR {status} LIKE '%(evicted)' THEN 'unpromised_late'
            ELSE 'unpromised_void' END
        WHEN {row}.promise <> 'broken' THEN {row}.promise
        WHEN {status} LIKE '%lost%' OR {status} LIKE '%(evicted)' THEN 'broken_site'
        WHEN {start} + job.estimate <= job.due + 1000 THEN 'broken_own_run'
        ELSE 'broken_others' END";

/// Entries of the rows, if no row was ever removed; else those that the sums tell. The sums count jobs without a
/// deadline as kept, and say nothing of what became of jobs without a promise, nor why promises were broken.
const OLD_BOOKS: &str = "
UPDATE job SET promise = {entry_of_job}
    WHERE NOT EXISTS (SELECT 1 FROM array WHERE array.job = job.id);
UPDATE attempt SET promise = (SELECT {entry_of_task} FROM job WHERE job.id = attempt.job);
UPDATE array SET unpromised_in_time = (SELECT count(*) FROM attempt
    WHERE attempt.job = array.job AND promise = 'unpromised_in_time');
UPDATE array SET kept = 0, broken = 0, void = 0
    WHERE (SELECT due FROM job WHERE job.id = array.job) IS NULL;
INSERT INTO book SELECT user, account, day, entry, sum(jobs) FROM (
    SELECT user, coalesce(account, '') AS account, coalesce(finish, due, submit) / 86400000000 AS day,
        promise AS entry, 1 AS jobs
        FROM job WHERE promise IS NOT NULL
    UNION ALL SELECT user, coalesce(account, ''), coalesce(attempt.finish, ordered) / 86400000000,
        attempt.promise, 1
        FROM attempt JOIN job ON id = attempt.job
        WHERE attempt.promise IS NOT NULL AND attempt.attempt = (SELECT max(attempt) FROM attempt AS last
            WHERE last.job = attempt.job AND last.task = attempt.task)
    UNION ALL SELECT user, coalesce(account, ''), coalesce(finish, submit) / 86400000000,
        CASE WHEN due IS NULL THEN 'no_deadline_rejected' ELSE 'rejected' END,
        coalesce((SELECT rejected FROM array WHERE array.job = job.id), state = 'rejected') AS n
        FROM job WHERE n > 0)
    WHERE (SELECT jobs FROM removed) = 0 GROUP BY user, account, day, entry;
UPDATE total SET wait = coalesce((SELECT sum(start - submit) FROM job
        WHERE job.user = total.user AND promise = 'kept'), 0)
    + coalesce((SELECT sum(array.wait) FROM array JOIN job ON id = array.job
        WHERE job.user = total.user AND due IS NOT NULL), 0)
    WHERE (SELECT jobs FROM removed) = 0;
INSERT INTO book SELECT user, account, day, entry, sum(jobs) FROM (
    SELECT user, account, day, 'kept' AS entry, kept AS jobs FROM usage
    UNION ALL SELECT user, account, day, 'broken_others', broken FROM usage
    UNION ALL SELECT user, account, day, 'void', void FROM usage
    UNION ALL SELECT user, account, day, 'unpromised_late', unpromised FROM usage
    UNION ALL SELECT user, '', 0, 'rejected', submitted - accepted - unpromised FROM total)
    WHERE (SELECT jobs FROM removed) > 0 AND jobs > 0 GROUP BY user, account, day, entry;
ALTER TABLE promise RENAME TO promise_before;
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
INSERT INTO promise SELECT user, tenth, -1, promises, expected, kept, void FROM promise_before;
DROP TABLE promise_before;
";

/// The columns that the books replace.
const REPLACED: [(&str, &[&str]); 3] = [
    (
        "total",
        &[
            "submitted",
            "accepted",
            "kept",
            "broken",
            "void",
            "unpromised",
        ],
    ),
    ("usage", &["kept", "broken", "void", "unpromised"]),
    ("array", &["wait"]),
];

/// Returns the migration, without the checksums of the tables that it changes.
pub(super) fn step() -> String {
    let of_promises = [
        "promise_has_ended",
        "job_is_inserted_as_rejected",
        "job_is_rejected_later",
        "promises_of_tasks_have_ended",
        "ledger_is_added_up",
    ];
    let of_usage = records::triggers(&records::SUMS);
    let dropped = of_promises.into_iter().chain(saturation::names(&of_usage));
    let drops: String = dropped
        .map(|name| format!("DROP TRIGGER {name};\n"))
        .collect();
    let entry = |row: &str, start: &str, status: &str| {
        let entry = ENTRY.replace("{row}", row).replace("{start}", start);
        entry.replace("{status}", status)
    };
    let last =
        "(SELECT status FROM attempt WHERE attempt.job = job.id ORDER BY attempt DESC LIMIT 1)";
    let old = OLD_BOOKS
        .replace("{entry_of_job}", &entry("job", "job.start", last))
        .replace(
            "{entry_of_task}",
            &entry("attempt", "attempt.ordered", "attempt.status"),
        );
    let columns = REPLACED.iter().flat_map(|(table, columns)| {
        let drop = move |column| format!("ALTER TABLE {table} DROP COLUMN {column};\n");
        columns.iter().map(drop)
    });
    let triggers = [LEDGER, &records::triggers(&USAGE_SUMS)].concat();
    once(drops)
        .chain([TABLES.to_owned(), old])
        .chain(columns)
        .chain([saturation::saturating(&triggers)])
        .collect()
}
