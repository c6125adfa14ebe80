//! Version 10: hosts of attempts, forecast ends of jobs, and sums of usage by user, account and day,
//! which outlive the rows of the jobs.

/// The columns of `usage` that are sums.
pub(super) const SUMS: [&str; 11] = [
    "jobs",
    "wait",
    "wall",
    "core_ms",
    "cpu",
    "kept",
    "broken",
    "void",
    "unpromised",
    "charges",
    "penalties",
];

/// Days since 1970 in a span of microseconds.
const DAY: &str = "/ 86400000000";

/// The wall-clock time of an attempt. The end of a lost attempt was not observed: its processors were
/// free for others once its loss was noticed.
const WALL: &str =
    "max(coalesce({row}.wall, {row}.finish - coalesce({row}.start, {row}.ordered)), 0)";

/// Processors times wall-clock time of an attempt, in milliseconds: as microseconds, the sum of a large
/// site could overflow.
const CORE: &str = "CAST(({wall} * procs + 500) / 1000 AS INTEGER)";

const TABLES: &str = "
ALTER TABLE attempt ADD COLUMN host TEXT;
ALTER TABLE job ADD COLUMN forecast INTEGER;
ALTER TABLE array ADD COLUMN cpu INTEGER;
ALTER TABLE array ADD COLUMN peak_memory INTEGER;
UPDATE array SET
    cpu = (SELECT sum(cpu) FROM attempt WHERE attempt.job = array.job),
    peak_memory = (SELECT max(peak_memory) FROM attempt WHERE attempt.job = array.job)
    WHERE EXISTS (SELECT 1 FROM attempt WHERE attempt.job = array.job);
CREATE INDEX job_ended ON job (finish) WHERE finish IS NOT NULL;
CREATE TABLE removed (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    jobs INTEGER NOT NULL,
    forecasts INTEGER NOT NULL,
    covered INTEGER NOT NULL
) STRICT;
INSERT INTO removed VALUES (0, 0, 0, 0);
CREATE TABLE usage (
    user INTEGER NOT NULL,
    account TEXT NOT NULL,
    day INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    wall INTEGER NOT NULL,
    core_ms INTEGER NOT NULL,
    cpu INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    broken INTEGER NOT NULL,
    void INTEGER NOT NULL,
    unpromised INTEGER NOT NULL,
    charges INTEGER NOT NULL,
    penalties INTEGER NOT NULL,
    PRIMARY KEY (user, account, day)
) STRICT, WITHOUT ROWID;
";

/// Returns the migration, without the checksums of the tables that it changes.
pub(super) fn step() -> String {
    [TABLES.to_owned(), usage_of_stored_rows(), triggers(&SUMS)].concat()
}

/// Returns the triggers that add up usage in these columns.
pub(super) fn triggers(sums: &[&str]) -> String {
    triggers_of_attempts(sums) + &triggers_of_jobs(sums)
}

/// Returns the expressions for what a stored attempt adds to the usage: its wall-clock time, processors
/// times that time in milliseconds, and processor time. They name columns of `attempt` and `job`.
pub(crate) fn usage_of_attempt() -> [String; 3] {
    let wall = WALL.replace("{row}", "attempt");
    let core = CORE.replace("{wall}", &wall);
    [wall, core, "coalesce(attempt.cpu, 0)".to_owned()]
}

/// Returns the statement that adds up the rows of an older store. The promises of an array's tasks
/// count on the day of the array's end, because the end of each promise is not stored.
fn usage_of_stored_rows() -> String {
    let zeros = |n: usize| vec!["0"; n].join(", ");
    let [wall, core, cpu] = usage_of_attempt();
    let promise = |key: &str| format!("promise = '{key}'");
    let promises = ["kept", "broken", "void", "unpromised"]
        .map(promise)
        .join(", ");
    let sums = SUMS.map(|sum| format!("sum({sum})")).join(", ");
    format!(
        "INSERT INTO usage SELECT user, account, day, {sums} FROM (
    SELECT 0 AS user, '' AS account, 0 AS day, {zero_sums} WHERE false
    UNION ALL SELECT user, coalesce(account, ''), attempt.finish {DAY}, 0, 0, {wall},
        {core}, {cpu}, {six}
        FROM attempt JOIN job ON id = attempt.job WHERE attempt.finish IS NOT NULL
    UNION ALL SELECT user, coalesce(account, ''), coalesce(attempt.finish, ordered) {DAY}, 1,
        (SELECT min(first.ordered) FROM attempt AS first
            WHERE first.job = attempt.job AND first.task = attempt.task) - submit, {nine}
        FROM attempt JOIN job ON id = attempt.job
        WHERE ending IS NOT NULL AND EXISTS (SELECT 1 FROM array WHERE array.job = id)
    UNION ALL SELECT user, coalesce(account, ''), finish {DAY}, 1, start - submit, {nine}
        FROM job WHERE finish IS NOT NULL AND start IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM array WHERE array.job = id)
    UNION ALL SELECT user, coalesce(account, ''),
        coalesce(CASE WHEN finish <= due OR due IS NULL THEN finish ELSE due END, submit) {DAY},
        {five}, {promises}, 0, 0
        FROM job WHERE promise IS NOT NULL
    UNION ALL SELECT user, coalesce(account, ''), coalesce(finish, due, submit) {DAY},
        {five}, kept, broken, void, unpromised, 0, 0
        FROM array JOIN job ON id = array.job WHERE kept + broken + void + unpromised > 0
    UNION ALL SELECT ledger.user, coalesce(account, ''), at {DAY}, {nine},
        CASE kind WHEN 'charge' THEN amount ELSE 0 END,
        CASE kind WHEN 'penalty' THEN amount ELSE 0 END
        FROM ledger LEFT JOIN job ON id = ledger.job)
    GROUP BY user, account, day;
",
        zero_sums = SUMS.map(|sum| format!("0 AS {sum}")).join(", "),
        five = zeros(5),
        six = zeros(6),
        nine = zeros(9),
    )
}

/// Returns the triggers that count attempts once they are over, and tasks of arrays.
fn triggers_of_attempts(sums: &[&str]) -> String {
    let wall = WALL.replace("{row}", "NEW");
    let core = CORE.replace("{wall}", &wall);
    let used = add_to_usage(
        sums,
        "NEW.finish",
        "NEW.job",
        &[
            ("wall", &wall),
            ("core_ms", &core),
            ("cpu", "coalesce(NEW.cpu, 0)"),
        ],
    );
    let array = "    UPDATE array SET cpu = coalesce(cpu + NEW.cpu, cpu, NEW.cpu),
            peak_memory = CASE WHEN NEW.peak_memory IS NULL THEN peak_memory
                ELSE max(coalesce(peak_memory, 0), NEW.peak_memory) END
        WHERE job = NEW.job;
";
    let ended = add_to_usage(
        sums,
        "coalesce(NEW.finish, NEW.ordered)",
        "NEW.job",
        &[
            ("jobs", "1"),
            (
                "wait",
                "(SELECT min(ordered) FROM attempt WHERE job = NEW.job AND task = NEW.task) - submit",
            ),
        ],
    );
    let of_array = "EXISTS (SELECT 1 FROM array WHERE job = NEW.job)";
    format!(
        "CREATE TRIGGER attempt_is_inserted_as_over AFTER INSERT ON attempt
WHEN NEW.finish IS NOT NULL
BEGIN
{used}{array}END;
CREATE TRIGGER attempt_is_over AFTER UPDATE OF finish ON attempt
WHEN NEW.finish IS NOT NULL AND OLD.finish IS NULL
BEGIN
{used}{array}END;
CREATE TRIGGER task_is_inserted_as_ended AFTER INSERT ON attempt
WHEN NEW.ending IS NOT NULL AND {of_array}
BEGIN
{ended}END;
CREATE TRIGGER task_has_ended AFTER UPDATE OF ending ON attempt
WHEN NEW.ending IS NOT NULL AND OLD.ending IS NULL AND {of_array}
BEGIN
{ended}END;
"
    )
}

/// Returns the triggers that count jobs, bookings and, where there are columns for them, promises.
fn triggers_of_jobs(sums: &[&str]) -> String {
    let ended = add_to_usage(
        sums,
        "NEW.finish",
        "NEW.id",
        &[("jobs", "1"), ("wait", "NEW.start - NEW.submit")],
    );
    let promises = match sums.contains(&"kept") {
        true => triggers_of_promises(sums),
        false => String::new(),
    };
    let account = "coalesce((SELECT account FROM job WHERE id = NEW.job), '')";
    let amounts = [("charges", "charge"), ("penalties", "penalty")];
    let amounts = amounts.map(|(sum, kind)| {
        let amount = format!("CASE NEW.kind WHEN '{kind}' THEN NEW.amount ELSE 0 END");
        (sum, amount)
    });
    let amounts = amounts
        .each_ref()
        .map(|(sum, amount)| (*sum, amount.as_str()));
    let booked = upsert(
        sums,
        ["NEW.user", account, "NEW.at"],
        &amounts,
        "WHERE true",
    );
    format!(
        "CREATE TRIGGER job_is_over AFTER UPDATE OF finish ON job
WHEN NEW.finish IS NOT NULL AND OLD.finish IS NULL AND NEW.start IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
{ended}END;
{promises}CREATE TRIGGER ledger_is_used AFTER INSERT ON ledger
BEGIN
{booked}END;
"
    )
}

/// Returns the triggers that count promises. A promise counts on the day of the step in which it ends; the row of
/// that step is written first.
fn triggers_of_promises(sums: &[&str]) -> String {
    let now = "(SELECT at FROM batch ORDER BY seq DESC LIMIT 1)";
    let keys = ["kept", "broken", "void", "unpromised"];
    let promises = keys.map(|key| (key, format!("NEW.promise = '{key}'")));
    let promise = add_to_usage(
        sums,
        now,
        "NEW.id",
        &promises.each_ref().map(|(key, sum)| (*key, sum.as_str())),
    );
    let deltas = keys.map(|key| (key, format!("NEW.{key} - OLD.{key}")));
    let of_array = add_to_usage(
        sums,
        now,
        "NEW.job",
        &deltas.each_ref().map(|(key, sum)| (*key, sum.as_str())),
    );
    let total = |row: &str| keys.map(|key| format!("{row}.{key}")).join(" + ");
    let (was, is) = (total("OLD"), total("NEW"));
    format!(
        "CREATE TRIGGER promise_is_used AFTER UPDATE OF promise ON job
WHEN NEW.promise IS NOT NULL AND OLD.promise IS NULL
BEGIN
{promise}END;
CREATE TRIGGER promises_of_tasks_are_used AFTER UPDATE ON array
WHEN {is} > {was}
BEGIN
{of_array}END;
"
    )
}

/// Returns a statement that adds `sums` to the row of a job's user and account on the day of `at`.
/// The expressions may name columns of the job.
fn add_to_usage(columns: &[&str], at: &str, job: &str, sums: &[(&str, &str)]) -> String {
    let row = format!("FROM job WHERE id = {job}");
    upsert(columns, ["user", "coalesce(account, '')", at], sums, &row)
}

/// Returns a statement that adds `sums` to the row of a user and an account on the day of an instant,
/// once for each row of `source`.
fn upsert(columns: &[&str], key: [&str; 3], sums: &[(&str, &str)], source: &str) -> String {
    let [user, account, at] = key;
    let value = |column: &&str| {
        let sum = sums.iter().find(|(name, _)| name == column);
        sum.map_or("0", |(_, value)| value)
    };
    let values: Vec<&str> = columns.iter().map(value).collect();
    let values = values.join(", ");
    let updates = sums
        .iter()
        .map(|(name, _)| format!("{name} = {name} + excluded.{name}"));
    let updates: Vec<String> = updates.collect();
    let updates = updates.join(", ");
    format!(
        "    INSERT INTO usage SELECT {user}, {account}, {at} {DAY}, {values} {source}
        ON CONFLICT DO UPDATE SET {updates};
"
    )
}
