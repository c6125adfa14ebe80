//! The tables with a checksum, and the versions that changed them.

/// The tables with a checksum, and their columns in the first version with checksums.
pub(super) const SUMMED_TABLES: &[(&str, &str)] = &[
    ("account", "user, day, charges, penalties"),
    (
        "array",
        "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, fulfilled, wait, worst",
    ),
    (
        "attempt",
        "job, task, attempt, ordered, start, pid, finish, status, wall, cpu, peak_memory, ending",
    ),
    // `checksum` covers the commands; a replay verifies it.
    ("batch", "seq, at, checksum"),
    (
        "job",
        "id, user, name, state, program, procs, submit, estimate, source, due, budget, penalty, decided, price, reasons, probability, start, finish, attempts, after, script",
    ),
    ("ledger", "job, task, attempt, kind, at, user, amount"),
    ("promise", "user, tenth, promises, expected, kept"),
    ("rules", "id, program, body"),
    ("script", "sha256, text"),
    ("snapshot", "id, seq, format, checksum"),
    ("task_range", "job, first, last, state, at, reasons"),
    (
        "total",
        "user, submitted, accepted, fulfilled, wait, budgets, utility",
    ),
];

/// The versions that changed columns of tables with a checksum, ascending, with those tables.
pub(super) const CHANGED_TABLES: &[(u32, &[(&str, &str)])] = &[
    (
        FIRST_VERSION_WITH_PROMISES,
        &[
            (
                "array",
                "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, kept, wait, worst, broken, void",
            ),
            (
                "attempt",
                "job, task, attempt, ordered, start, pid, finish, status, wall, cpu, peak_memory, ending, promise, work",
            ),
            (
                "job",
                "id, user, name, state, program, procs, submit, estimate, source, due, budget, penalty, decided, price, reasons, probability, start, finish, attempts, after, script, promise, account, queue",
            ),
            ("promise", "user, tenth, promises, expected, kept, void"),
            (
                "total",
                "user, submitted, accepted, kept, broken, void, wait, budgets, utility",
            ),
        ],
    ),
    (
        FIRST_VERSION_WITH_UNPROMISED,
        &[
            (
                "array",
                "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, kept, wait, worst, broken, void, unpromised",
            ),
            (
                "total",
                "user, submitted, accepted, kept, broken, void, wait, budgets, utility, unpromised",
            ),
        ],
    ),
    (
        FIRST_VERSION_WITH_USAGE,
        &[
            (
                "array",
                "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, kept, wait, worst, broken, void, unpromised, cpu, peak_memory",
            ),
            (
                "attempt",
                "job, task, attempt, ordered, start, pid, finish, status, wall, cpu, peak_memory, ending, promise, work, host",
            ),
            (
                "job",
                "id, user, name, state, program, procs, submit, estimate, source, due, budget, penalty, decided, price, reasons, probability, start, finish, attempts, after, script, promise, account, queue, forecast",
            ),
        ],
    ),
    (
        FIRST_VERSION_WITH_ENDS,
        &[(
            "array",
            "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, kept, wait, worst, broken, void, unpromised, cpu, peak_memory, timed_out, out_of_memory, output_limit",
        )],
    ),
    (
        FIRST_VERSION_WITH_CONTENTS,
        &[(
            "job",
            "id, user, name, state, program, procs, submit, estimate, source, due, budget, penalty, decided, price, reasons, probability, start, finish, attempts, after, script, promise, account, queue, forecast, environment, command",
        )],
    ),
    (
        FIRST_VERSION_WITH_BOOKS,
        &[
            (
                "array",
                "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, kept, worst, broken, void, unpromised, cpu, peak_memory, timed_out, out_of_memory, output_limit, unpromised_in_time",
            ),
            (
                "attempt",
                "job, task, attempt, ordered, start, pid, finish, status, wall, cpu, peak_memory, ending, promise, work, host",
            ),
            (
                "job",
                "id, user, name, state, program, procs, submit, estimate, source, due, budget, penalty, decided, price, reasons, probability, start, finish, attempts, after, script, promise, account, queue, forecast, environment, command, batches",
            ),
            (
                "promise",
                "user, tenth, batches, promises, expected, kept, void",
            ),
            ("total", "user, wait, budgets, utility"),
            (
                "usage",
                "user, account, day, jobs, wait, wall, core_ms, cpu, charges, penalties",
            ),
        ],
    ),
];

/// The tables with a checksum that a later version removed, with that version.
pub(super) const REMOVED_TABLES: &[(u32, &str)] = &[(FIRST_VERSION_WITH_CONTENTS, "script")];

/// The tables with a checksum that a later version added, with that version and their columns.
pub(super) const ADDED_TABLES: &[(u32, (&str, &str))] = &[
    (
        FIRST_VERSION_WITH_USAGE,
        ("removed", "id, jobs, forecasts, covered"),
    ),
    (
        FIRST_VERSION_WITH_GRANTS,
        ("granted", "job, at, user, reason"),
    ),
    (
        FIRST_VERSION_WITH_ANSWERS,
        ("answered", "user, key, at, request, status, body"),
    ),
    (
        FIRST_VERSION_WITH_BOOKS,
        ("book", "user, account, day, entry, jobs"),
    ),
    (
        FIRST_VERSION_WITH_TASK_NUMBERS,
        ("task_numbers", "first, job, n_tasks"),
    ),
    (FIRST_VERSION_WITH_CONTENTS, ("content", "sha256, text")),
    (
        FIRST_VERSION_WITH_CONTENTS,
        ("kept", "user, sha256, bytes, last"),
    ),
    (FIRST_VERSION_WITH_CONTENTS, ("kept_by_user", "user, bytes")),
    (
        FIRST_VERSION_WITH_USAGE,
        (
            "usage",
            "user, account, day, jobs, wait, wall, core_ms, cpu, kept, broken, void, unpromised, charges, penalties",
        ),
    ),
];

/// The first version with numbers of tasks.
pub(crate) const FIRST_VERSION_WITH_TASK_NUMBERS: u32 = 17;

/// The first version with books.
pub(crate) const FIRST_VERSION_WITH_BOOKS: u32 = 16;

/// The first version with texts of jobs that are stored once each.
pub(crate) const FIRST_VERSION_WITH_CONTENTS: u32 = 15;

/// The first version with answers to requests that their clients may send again.
pub(crate) const FIRST_VERSION_WITH_ANSWERS: u32 = 13;

/// The first version with states of their own for ends by limits.
pub(crate) const FIRST_VERSION_WITH_ENDS: u32 = 12;

/// The first version with exceptions from the shares of users.
pub(crate) const FIRST_VERSION_WITH_GRANTS: u32 = 11;

/// The first version with sums of usage, hosts of attempts, and removal of old jobs.
pub(crate) const FIRST_VERSION_WITH_USAGE: u32 = 10;

/// The first version in which each promise is kept, broken or void.
pub(crate) const FIRST_VERSION_WITH_PROMISES: u32 = 8;

/// The first version that counts jobs without a promise for themselves.
pub(crate) const FIRST_VERSION_WITH_UNPROMISED: u32 = 9;

/// The first version of the tables with checksums.
pub(crate) const FIRST_VERSION_WITH_SUMS: u32 = 7;

/// Returns the tables with a checksum, and their columns in `version`.
pub(super) fn summed_tables(version: u32) -> impl Iterator<Item = (&'static str, &'static str)> {
    let added = ADDED_TABLES
        .iter()
        .filter(move |(since, _)| *since <= version);
    let tables = SUMMED_TABLES.iter().chain(added.map(|(_, table)| table));
    let is_there = move |(name, _): &&(&str, &str)| {
        let removed = REMOVED_TABLES.iter().find(|(_, removed)| removed == name);
        removed.is_none_or(|(since, _)| version < *since)
    };
    tables.filter(is_there).map(move |&(name, first)| {
        let changes = CHANGED_TABLES.iter().filter(|(since, _)| *since <= version);
        let tables = changes.flat_map(|(_, tables)| tables.iter());
        let last = tables.rev().find(|(changed, _)| *changed == name);
        (name, last.map_or(first, |(_, columns)| columns))
    })
}
