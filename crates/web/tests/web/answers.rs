//! Fixed answers of a service.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tollgate_client::types::{JobDetails, JobExplanation, JobList};
use tollgate_web::pages::how_well::HowWellAnswers;
use tollgate_web::pages::now::NowAnswers;

/// Reads an answer as the client does.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Returns a job with these fields beside, or instead of, those that every job has.
pub(crate) fn job_value(id: u64, fields: &Value) -> Value {
    let mut job = json!({
        "id": id, "user_id": 1000, "user": "alice", "name": "render", "state": "queued",
        "command": ["./render.sh", "scene 7"], "dir": "/home/alice", "output": "/home/alice/tollgate-1.out",
        "procs": 1, "submitted_at": "2026-12-01T09:00:00Z", "estimate_s": 600.0, "estimate_source": "user",
        "attempts": 0,
    });
    let given = fields.as_object().unwrap().clone();
    job.as_object_mut().unwrap().extend(given);
    job
}

pub(crate) fn job(id: u64, fields: &Value) -> JobDetails {
    read(job_value(id, fields))
}

/// Returns a forecast with this start, end, interval and probability, in minutes after nine.
pub(crate) fn forecast(minutes: [u32; 4], probability: f64) -> Value {
    let at = |minute: u32| format!("2026-12-01T09:{minute:02}:00Z");
    let [start, end, low, high] = minutes.map(at);
    json!({
        "expected_start_at": start, "expected_finish_at": end, "earliest_finish_at": low, "latest_finish_at": high,
        "probability": probability,
    })
}

/// Returns a job of each kind: late, running, at risk, waiting, without a promise, an array.
pub(crate) fn jobs() -> Vec<JobDetails> {
    let promised = json!({"decided_at": "2026-12-01T09:00:01Z", "deadline_at": "2026-12-01T09:20:00Z", "probability": 0.95, "promised_at": "2026-12-01T09:00:01Z", "promised_probability": 0.95});
    let with = |fields: Value| {
        let mut all = promised.as_object().unwrap().clone();
        all.extend(fields.as_object().unwrap().clone());
        Value::Object(all)
    };
    vec![
        job(
            9,
            &with(json!({"state": "queued", "name": "sweep", "array": {
            "tasks": "1-40", "queued": 40, "held": 0, "running": 0, "finished": 0, "cancelled": 0, "lost": 0,
            "rejected": 0, "kept": 0, "broken": 0, "void": 0, "unpromised": 0}})),
        ),
        job(
            8,
            &json!({"state": "queued", "name": "index", "decided_at": "2026-12-01T09:00:01Z",
            "deadline_at": "2026-12-01T09:11:00Z", "reasons": [{"key": "no_room", "text": "no room before its deadline"}],
            "waits_for": {"key": "promise", "text": "its deadline cannot be promised yet"},
            "expected": forecast([18, 30, 25, 40], 0.2)}),
        ),
        job(
            7,
            &with(json!({"state": "queued", "name": "fold", "procs": 2,
            "waits_for": {"key": "resources", "text": "it needs 2 nodes at once, and none is idle"},
            "expected": forecast([12, 17, 15, 19], 0.97)})),
        ),
        job(
            6,
            &with(
                json!({"state": "running", "name": "train", "attempts": 1, "host": "rack-b",
            "started_at": "2026-12-01T09:04:00Z", "expected": forecast([4, 18, 14, 24], 0.61)}),
            ),
        ),
        job(
            5,
            &with(
                json!({"state": "running", "attempts": 1, "host": "head", "procs": 2,
            "started_at": "2026-12-01T09:03:00Z", "expected": forecast([3, 12, 11, 14], 0.98)}),
            ),
        ),
        job(
            4,
            &with(
                json!({"state": "finished", "status": "exit 0", "exit_code": 0, "attempts": 1, "host": "rack-b",
            "deadline_at": "2026-12-01T09:02:00Z", "started_at": "2026-12-01T09:00:05Z",
            "finished_at": "2026-12-01T09:03:30Z", "run_s": 205.0, "promise": "broken", "broken_by": "own_run",
            "forecast_finish_at": "2026-12-01T09:01:40Z", "price": 3.5}),
            ),
        ),
        job(
            3,
            &json!({"state": "rejected", "decided_at": "2026-12-01T09:00:01Z",
            "finished_at": "2026-12-01T09:00:01Z", "reasons": [{"key": "budget", "text": "it would cost 9 credits"}]}),
        ),
        job(
            2,
            &json!({"state": "timed_out", "status": "signal 15 (time limit)", "attempts": 2, "host": "head",
            "started_at": "2026-12-01T09:00:05Z", "finished_at": "2026-12-01T09:02:05Z", "time_limit_s": 120.0}),
        ),
    ]
}

pub(crate) fn list(jobs: Vec<JobDetails>) -> JobList {
    JobList {
        jobs,
        array: None,
        more: true,
    }
}

pub(crate) fn status() -> Value {
    json!({
        "version": "0.1.0", "pid": 7, "now_at": "2026-12-01T09:10:00Z", "up_since_at": "2026-11-30T12:00:00Z",
        "policy": "plan:share=auto", "market": "commodity", "nodes": 4, "idle_nodes": 1, "queued": 42, "held": 0,
        "running": 2, "at_risk": 1, "risks": [{"promises": 1, "cause": "it takes longer than was planned"}],
        "open_promises": 3, "open_unpromised": 1, "workers": 1, "workers_disconnected": 0,
        "shadow": {"policy": "edf-bf", "since_at": "2026-12-01T08:00:00Z", "running": 1, "queued": 2, "undecided": 4,
            "by_forecast": 1, "real_objectives": objectives(), "paper_objectives": objectives()},
    })
}

pub(crate) fn objectives() -> Value {
    json!({
        "submitted": 40, "accepted": 38, "kept": 30, "broken": 4, "broken_by_own_run": 3, "broken_by_others": 1,
        "void": 1, "unpromised": 3, "unpromised_in_time": 2, "wait_s": 31.5, "sla_pct": 80.0, "reliability_pct": 88.235,
        "profitability_pct": 61.25,
    })
}

pub(crate) fn nodes() -> Value {
    let node = |id: u32, state: &str, worker: Option<&str>| match worker {
        Some(worker) => {
            json!({"id": id, "state": state, "tasks": u32::from(state == "busy"), "worker": worker})
        }
        None => json!({"id": id, "state": state, "tasks": u32::from(state == "busy")}),
    };
    json!({
        "nodes": [node(0, "busy", None), node(1, "busy", None), node(2, "busy", Some("rack-b")), node(3, "idle", Some("rack-b"))],
        "memory_per_node_bytes": 12_670_153_523_u64, "enforced": ["memory limits hold for a task as a whole"],
        "workers": [{"name": "rack-b", "state": "connected", "incarnation": 1, "first_node": 2, "nodes": 2,
            "until": "2026-12-01T18:00:00Z", "site": "north", "enforced": ["a process can outlive its task"]}],
        "resources": [{"name": "gpu", "host": "rack-b", "total": 2, "taken": 1}, {"name": "matlab", "total": 3, "taken": 0}],
    })
}

pub(crate) fn ledger() -> Value {
    json!({"accounts": [{"user_id": 1000, "user": "alice", "day": "2026-12-01", "charges": 12.5, "penalties": -4.86, "utility": 7.64}]})
}

/// Returns the nodes of the jobs that have started, of a task, and of a job of another user.
pub(crate) fn placements() -> Value {
    let at = |minute: u32| format!("2026-12-01T09:{minute:02}:00Z");
    let job = |id: u64, name: &str, nodes: [u32; 2], from: u32, to: Option<u32>, due: u32| {
        json!({"job": id, "attempt": 1, "name": name, "user_id": 1000, "user": "alice", "deadline_at": at(due),
            "nodes": [{"first": nodes[0], "last": nodes[1]}], "from_at": at(from), "to_at": to.map(at)})
    };
    json!({"now_at": at(10), "placements": [
        job(5, "render", [0, 1], 3, None, 20),
        job(6, "train", [2, 2], 4, None, 20),
        job(4, "render", [2, 2], 0, Some(3), 2),
        {"job": 9, "task": 3, "name": "sweep", "nodes": [{"first": 3, "last": 3}], "from_at": at(4), "to_at": at(6)},
        {"nodes": [{"first": 3, "last": 3}], "from_at": at(6), "to_at": at(9)},
        {"job": 1, "name": "gone", "nodes": [{"first": 77, "last": 77}], "from_at": at(6), "to_at": at(9)},
    ]})
}

pub(crate) fn now_answers() -> NowAnswers {
    let (live, ended) = jobs().into_iter().partition(|job| !job.state.is_over());
    NowAnswers {
        status: read(status()),
        objectives: read(objectives()),
        ledger: read(ledger()),
        nodes: read(nodes()),
        live: JobList {
            jobs: live,
            array: None,
            more: false,
        },
        ended,
        placements: read(placements()),
        offset_s: 3_600,
        first_node: 0,
    }
}

pub(crate) fn how_well_answers() -> HowWellAnswers {
    let bin = |from: f64, promises: u64, kept: u64| {
        json!({"from": from, "to": from + 0.1, "promises": promises, "promised": from + 0.06, "kept": kept,
            "kept_part": kept as f64 / promises as f64, "kept_part_low": 0.4, "kept_part_high": 0.96, "void": 0})
    };
    HowWellAnswers {
        status: read(status()),
        calibration: read(json!({"bins": [bin(0.5, 3, 2), bin(0.8, 12, 10), bin(0.9, 80, 75)]})),
        objectives: read(objectives()),
        ledger: read(ledger()),
        evictions: read(
            json!({"by_cause": [{"cause": "user", "evictions": 41, "held_s": 51_000.0},
            {"cause": "reboot", "evictions": 3, "held_s": 9_100.0}], "abandoned": 2, "abandoned_held_s": 20_400.0}),
        ),
        what_if: Some(read(policy_risks())),
    }
}

/// Returns the results of two policies over two windows.
pub(crate) fn policy_risks() -> Value {
    let policy = |name: &str, performance: f64, volatility: f64| {
        let risk = json!({"performance": performance, "volatility": volatility});
        json!({"policy": name, "windows": [], "separate": {"sla": risk, "reliability": risk}, "integrated": risk})
    };
    json!({"state": "ready", "jobs": 410, "needed_jobs": 60, "windows": 6, "made_at": "2026-12-01T09:05:00Z", "made_of": 400,
        "policies": [policy("plan", 0.81, 0.07), policy("edf-bf", 0.64, 0.22)]})
}

/// Returns a history whose forecast moved twice.
pub(crate) fn history() -> Value {
    let at = |minute: u32| format!("2026-12-01T09:{minute:02}:00Z");
    let sample = |minute: u32, end: u32, probability: f64| {
        let mut sample = forecast([4, end, end - 2, end + 3], probability);
        sample["at"] = json!(at(minute));
        sample
    };
    json!({
        "id": 6, "now_at": at(10),
        "turns": [
            {"at": at(0), "key": "submitted", "text": "submitted, due at 2026-12-01T09:20:00.25Z, quoted with probability 0.95"},
            {"at": at(1), "key": "promised", "text": "promised with probability 0.95"},
            {"at": at(4), "key": "started", "text": "started on rack-b"},
            {"at": at(9), "key": "at_risk", "text": "its promise is at risk", "tasks": "1-2"},
        ],
        "samples": [sample(0, 12, 0.95), sample(3, 13, 0.93), sample(6, 16, 0.75), sample(9, 18, 0.58)],
    })
}

/// Returns the explanation of the job that has most to tell.
pub(crate) fn explanation() -> JobExplanation {
    let mut value = json!({
        "job": job_value(6, &json!({"state": "running", "name": "train", "attempts": 1, "host": "rack-b",
            "decided_at": "2026-12-01T09:00:01Z", "deadline_at": "2026-12-01T09:20:00Z", "probability": 0.95,
            "promised_at": "2026-12-01T09:00:01Z", "promised_probability": 0.95, "started_at": "2026-12-01T09:04:00Z", "price": 3.5, "budget": 5.0, "memory_bytes": 2_000_000_000_u64,
            "resources": {"gpu": 1}, "comment": "second try", "after": [3, 4]})),
        "words": ["running", "it takes longer than was planned, so its promise is at risk"],
    });
    let expected = forecast([4, 18, 14, 24], 0.61);
    value
        .as_object_mut()
        .unwrap()
        .extend(expected.as_object().unwrap().clone());
    read(value)
}
