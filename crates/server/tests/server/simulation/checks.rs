//! Invariants of the simulation.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_engine::Engine;
use tollgate_model::{AttemptId, BookEntry, Books, Credits};
use tollgate_service::EngineAction;
use tollgate_store::{JobFilter, JobRow};

use super::ServiceSimulation;

const LIVE: [&str; 5] = ["queued", "held", "running", "reserved", "dependent"];

/// Checks the invariants after a step.
pub(super) fn invariants(run: &ServiceSimulation) {
    let core = run.controller().core();
    // Covers nodes, shares, the policy's index, and that gate and service have the same jobs.
    if let Err(violation) = core.check_invariants() {
        panic!("at {}: {violation:?}", run.now());
    }
    let rows = rows(run);
    for (job, accepted) in &run.acknowledged_jobs {
        let row = rows.get(job).unwrap_or_else(|| panic!("job {job} is lost"));
        assert!(
            !accepted || row.state != "rejected",
            "job {job} was admitted, and then rejected"
        );
    }
    for (job, requested) in &run.requested_due {
        let due = rows[job].due;
        assert!(
            due <= Some(*requested),
            "job {job} is due later than was asked"
        );
    }
    for row in rows.values() {
        let program = row.program.as_ref();
        if let Some(begin) = program.and_then(|program| program.begin) {
            let decided = row.decided.into_iter().chain(row.start).min();
            let is_early = decided.is_some_and(|decided| decided < begin);
            assert!(
                !is_early || row.state == "rejected",
                "job {} is early",
                row.id
            );
        }
    }
    let live: BTreeSet<u64> = core.jobs().into_keys().collect();
    let stored = rows.values().filter(|row| LIVE.contains(&&*row.state));
    let stored: BTreeSet<u64> = stored.map(|row| row.id).collect();
    assert_eq!(live, stored, "what is live, and what is reported as live");
    arrays(run, &rows);
    ledger(run, &rows);
}

/// Returns every job by number.
fn rows(run: &ServiceSimulation) -> BTreeMap<u64, JobRow> {
    let view = run.view();
    let reader = &view.reader;
    let all = JobFilter {
        limit: u32::MAX,
        ..JobFilter::default()
    };
    let rows = reader.jobs(&all).unwrap();
    rows.into_iter().map(|row| (row.id, row)).collect()
}

/// Checks that each task of an array has exactly one state, and that the stored counts match.
fn arrays(run: &ServiceSimulation, rows: &BTreeMap<u64, JobRow>) {
    let view = run.view();
    let reader = &view.reader;
    for row in rows.values() {
        let Some(array) = &row.array else {
            continue;
        };
        let tasks = reader.tasks(row.id, None, u32::MAX).unwrap().unwrap();
        let counts = &array.counts;
        let counted = [
            ("queued", counts.queued),
            ("held", counts.held),
            ("running", counts.running.into()),
            ("finished", counts.finished.into()),
            ("timed_out", counts.timed_out.into()),
            ("out_of_memory", counts.out_of_memory.into()),
            ("output_limit", counts.output_limit.into()),
            ("cancelled", counts.cancelled.into()),
            ("lost", counts.lost.into()),
            ("rejected", counts.rejected.into()),
        ];
        let sum: u64 = counted.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, array.tasks.len(), "array {}", row.id);
        for (state, count) in counted {
            let there = tasks.iter().filter(|task| task.state == state).count() as u64;
            // The state of a task that was not created yet depends on the array.
            let asleep = ["dependent", "held"].contains(&&*row.state);
            assert!(
                there == count || asleep,
                "array {}: {there} of {count} {state}",
                row.id
            );
        }
    }
}

/// Checks that the stored totals equal sums over all jobs.
fn totals(run: &ServiceSimulation) {
    let view = run.view();
    let connection = &view.connection;
    let sum = |sql: &str| -> Vec<i64> {
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let row = statement.query_row([], |row| (0..columns).map(|n| row.get(n)).collect());
        row.unwrap()
    };
    // Every job is over, so what became of it follows from its row and its last attempt. Jobs that their users
    // cancelled before their start are in no book, unless their promise was broken before.
    let single = "job WHERE (state IN ('finished', 'timed_out', 'lost', 'rejected')
            OR state = 'cancelled' AND (reasons = 'late'
                OR decided IS NOT NULL AND (start IS NOT NULL OR promise IS NOT NULL)))
        AND NOT EXISTS (SELECT 1 FROM array WHERE array.job = job.id)";
    let late = "finish > due + 1000";
    let exit = "(SELECT status FROM attempt WHERE job = id ORDER BY attempt DESC LIMIT 1)";
    let is_site = format!("(state = 'lost' OR state = 'finished' AND {exit} LIKE '%(evicted)')");
    let course = format!(
        "CASE WHEN state = 'rejected' THEN CASE WHEN due IS NULL THEN 'no_deadline_rejected' ELSE 'rejected' END
              WHEN due IS NULL THEN 'no_deadline'
              WHEN state = 'cancelled' AND reasons = 'late' THEN 'dropped'
              WHEN {is_site} OR {late} THEN 'missed'
              WHEN state = 'finished' AND {exit} = 'exit 0' THEN 'in_time' ELSE 'void' END"
    );
    let entered = "CASE WHEN state = 'rejected'
            THEN CASE WHEN due IS NULL THEN 'no_deadline_rejected' ELSE 'rejected' END
        WHEN promise = 'no_deadline' THEN promise
        WHEN promise = 'unpromised_dropped' THEN 'dropped'
        WHEN promise = 'unpromised_late' OR promise LIKE 'broken%' THEN 'missed'
        WHEN promise IN ('kept', 'unpromised_in_time') THEN 'in_time' ELSE 'void' END";
    // A promise that was broken stays broken, although its job was changed and met its new deadline.
    let changed: Vec<String> = run.altered_jobs.iter().map(u64::to_string).collect();
    let changed = changed.join(",");
    let differ = sum(&format!(
        "SELECT count(*) FROM {single} AND {course} <> {entered}
             AND NOT (promise LIKE 'broken%' AND id IN ({changed}))"
    ));
    assert_eq!(differ, [0], "jobs have another entry than their course");
    let sql = format!(
        "SELECT entry, sum(n) FROM (
             SELECT CASE WHEN state = 'rejected' THEN {course} ELSE promise END AS entry, 1 AS n FROM {single}
             UNION ALL SELECT CASE WHEN due IS NULL THEN 'no_deadline_rejected' ELSE 'rejected' END,
                 rejected FROM array JOIN job ON id = array.job WHERE rejected > 0)
         GROUP BY entry"
    );
    let mut statement = connection.prepare(&sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
    let mut expected = Books::default();
    for row in rows.unwrap() {
        let (entry, n_jobs) = row.unwrap();
        expected.add(BookEntry::from_key(&entry).expect("an entry"), n_jobs);
    }
    let tasks = sum(
        "SELECT coalesce(sum(kept), 0), coalesce(sum(broken), 0), coalesce(sum(void), 0),
             coalesce(sum(unpromised), 0), coalesce(sum(unpromised_in_time), 0) FROM array",
    );
    let reader = &view.reader;
    let figures = reader.objective_sums(None).unwrap();
    let of = |books: &Books| {
        let counts = [
            books.kept(),
            books.broken(),
            books.void(),
            books.unpromised(),
            books.unpromised_in_time(),
        ];
        counts.map(|count| count as i64)
    };
    let all: Vec<i64> = of(&expected)
        .iter()
        .zip(&tasks)
        .map(|(a, b)| a + b)
        .collect();
    assert_eq!(of(&figures.books).to_vec(), all);
    assert_eq!(figures.books.rejected(), expected.rejected());
    // A task that ran is in the books once.
    let of_tasks = "coalesce((SELECT sum(jobs) FROM book), 0)";
    let ran = sum(&format!(
        "SELECT {of_tasks} - (SELECT count(*) FROM {single}) - coalesce(sum(rejected), 0),
             coalesce(sum(finished + timed_out + lost), 0),
             coalesce(sum(finished + timed_out + lost + cancelled), 0) FROM array"
    ));
    assert!(ran[1] <= ran[0] && ran[0] <= ran[2], "{ran:?}");
    let money = sum("SELECT coalesce(sum(amount), 0) FROM ledger");
    assert_eq!(figures.utility.as_micros(), money[0]);
    let kept_wait = sum(&format!(
        "SELECT coalesce(sum(start - submit), 0) FROM {single} AND promise = 'kept'"
    ));
    assert!(figures.wait.as_micros() >= kept_wait[0]);
    for (bins, recorded) in [
        (reader.calibration(None).unwrap(), "probability"),
        (reader.calibration_by_batches(None).unwrap(), "batches"),
    ] {
        let jobs = sum(&format!(
            "SELECT coalesce(sum(promise = 'kept' OR promise LIKE 'broken%'), 0),
                 coalesce(sum(promise = 'kept'), 0)
             FROM {single} AND probability IS NOT NULL AND {recorded} IS NOT NULL"
        ));
        let tasks = sum(
            "SELECT coalesce(sum(kept + broken), 0), coalesce(sum(kept), 0)
             FROM array JOIN job ON id = array.job WHERE probability IS NOT NULL",
        );
        let promises: u64 = bins.iter().map(|(_, bin)| bin.promises).sum();
        let kept: u64 = bins.iter().map(|(_, bin)| bin.kept).sum();
        let counted = [promises, kept].map(|n| n as i64);
        let most = [jobs[0] + tasks[0], jobs[1] + tasks[1]];
        match recorded {
            "probability" => assert_eq!(counted, most),
            // Tasks of an array that are promised one by one rest on more and more batches, or on siblings alone.
            _ => assert!(
                (0..2).all(|n| jobs[n] <= counted[n] && counted[n] <= most[n]),
                "{counted:?}, {jobs:?}, {most:?}"
            ),
        }
    }
}

/// Checks that the totals are the sum of the entries, and that each task was charged at most once
/// and at most its price. A task that never ended by itself was not charged.
fn ledger(run: &ServiceSimulation, rows: &BTreeMap<u64, JobRow>) {
    let view = run.view();
    let connection = &view.connection;
    let sql = "SELECT job, task, kind, amount FROM ledger";
    let mut statement = connection.prepare(sql).unwrap();
    let entries = statement.query_map([], |row| {
        let task: (u64, u32) = (row.get(0)?, row.get(1)?);
        let (kind, amount): (String, i64) = (row.get(2)?, row.get(3)?);
        Ok((task, kind, Credits::from_micros(amount)))
    });
    let entries: Vec<_> = entries.unwrap().map(Result::unwrap).collect();
    let mut charged = BTreeSet::new();
    let mut total = Credits::ZERO;
    let mut arrays: BTreeMap<u64, Credits> = BTreeMap::new();
    for ((job, task), kind, amount) in entries {
        total += amount;
        let row = &rows[&job];
        if kind == "charge" {
            assert!(charged.insert((job, task)), "job {job} was charged twice");
            if row.array.is_some() {
                *arrays.entry(job).or_insert(Credits::ZERO) += amount;
                continue;
            }
            assert_eq!(Some(amount), row.price, "job {job}");
            let states = ["finished", "cancelled", "timed_out"];
            assert!(
                states.contains(&&*row.state),
                "job {job} is {} and was charged",
                row.state
            );
        }
    }
    for (job, amount) in arrays {
        assert!(
            Some(amount) <= rows[&job].price,
            "array {job} costs more than its answer states"
        );
    }
    let view = run.view();
    let reader = &view.reader;
    let accounts = reader.ledger(None).unwrap();
    let booked = accounts
        .iter()
        .map(|account| account.charges + account.penalties);
    assert_eq!(booked.sum::<Credits>(), total);
}

/// Returns the attempts that are to run, and that the engine does not run.
pub(super) fn not_running(run: &ServiceSimulation) -> BTreeSet<AttemptId> {
    let known = run.engine().running().unwrap();
    let known: BTreeSet<AttemptId> = known.iter().map(|running| running.attempt).collect();
    let actions = run.controller().core().running_actions().into_iter();
    let ordered = actions.filter_map(|action| match action {
        EngineAction::Start { attempt, after, .. } => after.is_none().then_some(attempt),
        EngineAction::SetShare { .. }
        | EngineAction::Kill { .. }
        | EngineAction::Withdraw { .. }
        | EngineAction::Continued { .. } => None,
    });
    ordered.filter(|attempt| !known.contains(attempt)).collect()
}

/// Maximum number of tries at a task that its user lets fail.
const MAX_TRIES: usize = 3;

/// Checks the final state after all faults have ended.
pub(super) fn everything_is_over(run: &ServiceSimulation) {
    let left: Vec<u64> = run.controller().core().jobs().into_keys().collect();
    assert_eq!(
        left,
        [] as [u64; 0],
        "these never end under {}",
        run.rules.policy
    );
    assert_eq!(
        run.engine().running().unwrap(),
        [],
        "these run without a user"
    );
    totals(run);
    let view = run.view();
    let reader = &view.reader;
    for row in rows(run).values() {
        let attempts = reader.attempts(row.id).unwrap();
        let tasks = reader.tasks(row.id, None, u32::MAX).unwrap();
        assert_eq!(attempts.len() as u32, row.attempts, "job {}", row.id);
        // An attempt that was withdrawn, or that the site could not launch, never ran.
        let has_run = |status: &str| {
            let is_lost = status.starts_with("lost") || status.starts_with("not started: record");
            !is_lost && !status.ends_with("(withdrawn)")
        };
        let ended = |status: &Option<String>| status.as_deref().is_some_and(has_run);
        let program = row.program.as_ref();
        let is_retried = program.is_some_and(|program| program.retries.is_some());
        let requeues = run.requeues.get(&row.id).copied().unwrap_or(0);
        let tries = requeues + if is_retried { MAX_TRIES } else { 1 };
        for row in tasks.unwrap_or_else(|| vec![row.clone()]) {
            let own = |task: u32| row.task.unwrap_or(0) == task;
            let ran_to_its_end = attempts
                .iter()
                .filter(|a| own(a.task) && ended(&a.status))
                .count();
            let job = (row.id, row.task);
            match row.state.as_str() {
                "finished" | "timed_out" => {
                    assert!((1..=tries).contains(&ran_to_its_end), "job {job:?}");
                }
                // The try after one that failed may be lost.
                "lost" => assert!(ran_to_its_end < tries, "job {job:?}"),
                "rejected" | "expired" => assert_eq!(ran_to_its_end, 0, "job {job:?}"),
                "cancelled" => assert!(ran_to_its_end <= tries, "job {job:?}"),
                other => panic!("job {job:?} is {other}"),
            }
        }
    }
}
