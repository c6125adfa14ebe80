//! Invariants of the simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tollgate_engine::SimHost;
use tollgate_grid_policies::retry::{RetryDecision, TaskHistory};
use tollgate_model::{AttemptId, Credits, EvictionCause};
use tollgate_policy::RandomSource;
use tollgate_service::RetryPolicy;
use tollgate_store::{JobFilter, JobRow};

use super::run::{EVICTION_RULE, WorkerSimulation};

const LIVE: [&str; 4] = ["queued", "held", "running", "reserved"];

/// Checks at every moment that each task has at most one running attempt on all hosts.
pub(super) fn nothing_runs_twice(run: &WorkerSimulation) {
    let worlds = run.worlds();
    let mut running: BTreeMap<(u64, u32), AttemptId> = BTreeMap::new();
    for attempt in worlds.iter().flat_map(|world| world.running()) {
        let attempt = attempt.attempt;
        let other = running.insert((attempt.job, attempt.task), attempt);
        assert_eq!(other, None, "beside {attempt} at {:?}", run.now());
    }
}

/// Checks the invariants after a step.
pub(super) fn invariants(run: &WorkerSimulation) {
    let core = run.controller().core();
    if let Err(violation) = core.check_invariants() {
        panic!("at {:?}: {violation:?}", run.now());
    }
    let rows = rows(run);
    for (job, accepted) in &run.acknowledged_jobs {
        let row = rows.get(job).unwrap_or_else(|| panic!("job {job} is lost"));
        let stays = !accepted || row.state != "rejected";
        assert!(stays, "job {job} was admitted, and then rejected");
    }
    for row in rows.values().filter(|row| row.state == "finished") {
        let status = row.status.as_deref().unwrap_or_default();
        let is_signal = status.starts_with("signal");
        assert!(
            !is_signal,
            "job {} is blamed for the end of its pilot: {status}",
            row.id
        );
    }
    let live: BTreeSet<u64> = core.jobs().into_keys().collect();
    let stored = rows.values().filter(|row| LIVE.contains(&&*row.state));
    let stored: BTreeSet<u64> = stored.map(|row| row.id).collect();
    assert_eq!(live, stored, "what is live, and what is reported as live");
    ledger(run, &rows);
}

fn rows(run: &WorkerSimulation) -> BTreeMap<u64, JobRow> {
    let view = run.view();
    let reader = &view.reader;
    let all = JobFilter {
        limit: u32::MAX,
        ..JobFilter::default()
    };
    let rows = reader.jobs(&all).unwrap();
    rows.into_iter().map(|row| (row.id, row)).collect()
}

/// Checks that the totals are the sum of the entries, that no job is charged twice, and that only
/// finished or cancelled jobs are charged.
fn ledger(run: &WorkerSimulation, rows: &BTreeMap<u64, JobRow>) {
    let view = run.view();
    let connection = &view.connection;
    let sql = "SELECT job, kind, amount FROM ledger";
    let mut statement = connection.prepare(sql).unwrap();
    let entries = statement.query_map([], |row| {
        let (job, kind, amount): (u64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((job, kind, Credits::from_micros(amount)))
    });
    let mut charged = BTreeSet::new();
    let mut total = Credits::ZERO;
    for (job, kind, amount) in entries.unwrap().map(Result::unwrap) {
        total += amount;
        if kind == "charge" {
            assert!(charged.insert(job), "job {job} was charged twice");
            let state = rows[&job].state.as_str();
            assert!(["finished", "cancelled"].contains(&state), "{job}: {state}");
        }
    }
    let view = run.view();
    let reader = &view.reader;
    let accounts = reader.ledger(None).unwrap();
    let booked = accounts
        .iter()
        .map(|account| account.charges + account.penalties);
    assert_eq!(booked.sum::<Credits>(), total);
}

/// Checks the final state after all faults have ended.
pub(super) fn everything_is_over(run: &WorkerSimulation) {
    let left: Vec<u64> = run.controller().core().jobs().into_keys().collect();
    assert_eq!(left, [] as [u64; 0], "these never end");
    for (worker, live) in run.controller().core().gate().workers() {
        let is_free = !live.up || live.in_use.is_none();
        assert!(is_free, "{worker:?} is taken for a host in use");
    }
    for world in run.worlds() {
        assert_eq!(world.running(), [], "these run without a user");
        assert_eq!(world.unacknowledged(), [], "these are never forgotten");
    }
    let view = run.view();
    let reader = &view.reader;
    for row in rows(run).values() {
        let attempts = reader.attempts(row.id).unwrap();
        assert!(
            attempts.iter().all(|attempt| attempt.status.is_some()),
            "job {}: an attempt with an unknown end",
            row.id
        );
        let ended = |status: &Option<String>| {
            let status = status.as_deref();
            let gave_way = |s: &str| s.contains("(evicted: ") || s.ends_with("(withdrawn)");
            status.is_some_and(|s| !s.starts_with("lost") && !gave_way(s))
        };
        let ran_to_its_end = attempts.iter().filter(|a| ended(&a.status)).count();
        match row.state.as_str() {
            "finished" => assert_eq!(ran_to_its_end, 1, "job {}", row.id),
            "lost" | "rejected" | "abandoned" => assert_eq!(ran_to_its_end, 0, "job {}", row.id),
            "cancelled" => assert!(ran_to_its_end <= 1, "job {}", row.id),
            other => panic!("job {} is {other}", row.id),
        }
    }
}

/// Checks that each eviction is recorded once, and that a job is abandoned exactly when the rule says so: the same function
/// judges the recorded evictions again. Returns the number of attempts that gave way, and of abandoned jobs.
pub(super) fn evictions(run: &WorkerSimulation) -> (u32, u32) {
    let rule: RetryPolicy = EVICTION_RULE.parse().unwrap();
    let view = run.view();
    let reader = &view.reader;
    let (mut n_gave_way, mut n_abandoned) = (0, 0);
    for row in rows(run).values() {
        let evictions = reader.evictions(row.id, None).unwrap();
        let gave_way = evictions
            .iter()
            .filter(|one| one.cause != EvictionCause::Lost);
        n_gave_way += gave_way.count() as u32;
        let mut history = TaskHistory::default();
        let mut is_exceeded = false;
        let mut last = 0;
        for one in &evictions {
            assert!(
                one.attempt.attempt > last,
                "job {}: one eviction twice",
                row.id
            );
            assert!(
                !is_exceeded || row.state == "lost",
                "job {}: tried again",
                row.id
            );
            last = one.attempt.attempt;
            history.record_eviction(one.cause, one.held);
            let decision = rule.decide(&history, 0, &mut NoDraws);
            is_exceeded |= decision == RetryDecision::Abandon;
        }
        let is_abandoned = row.state == "abandoned";
        n_abandoned += u32::from(is_abandoned);
        assert!(
            is_exceeded || !is_abandoned,
            "job {}: abandoned too early",
            row.id
        );
        let reasons = reader.abandonments(row.id).unwrap();
        assert_eq!(reasons.len(), usize::from(is_abandoned), "job {}", row.id);
        let stays = ["abandoned", "lost", "cancelled"].contains(&row.state.as_str());
        assert!(
            !is_exceeded || stays,
            "job {} is {} all the same",
            row.id,
            row.state
        );
    }
    (n_gave_way, n_abandoned)
}

/// The rule of the runs draws nothing.
struct NoDraws;

impl RandomSource for NoDraws {
    fn unit(&mut self) -> f64 {
        unreachable!("the rule counts")
    }
}

/// Checks that each kept output is that of its attempt, whole or up to where its worker was lost. Returns the
/// number of whole ones.
pub(super) fn kept_outputs(run: &WorkerSimulation) -> u32 {
    let mut whole = 0;
    for entry in fs::read_dir(run.outputs()).unwrap() {
        let path = entry.unwrap().path();
        let job = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let (header, kept) = text.split_once('\n').unwrap();
        let header: serde_json::Value = serde_json::from_str(header).unwrap();
        let attempt = AttemptId {
            job,
            task: 0,
            attempt: header["attempt"].as_u64().unwrap() as u32,
        };
        match header["problem"].is_string() {
            true => assert_eq!(kept, "", "{attempt}"),
            false => {
                assert_eq!(kept, SimHost::output_of(attempt));
                whole += 1;
            }
        }
    }
    whole
}
