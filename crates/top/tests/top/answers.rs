//! Fixed answers of a service.

use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tollgate_client::types::JobDetails;
use tollgate_top::answers::TopAnswers;
use tollgate_top::state::{TopNews, TopState};
use tollgate_top::view::{ScreenColours, frame};

/// Reads an answer as the client does.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an answer")
}

/// Returns a job with these fields beside, or instead of, those that every job has.
pub(crate) fn job(id: u64, fields: &Value) -> JobDetails {
    let mut job = json!({
        "id": id, "user_id": 1000, "user": "alice", "name": "render", "state": "queued",
        "command": ["./render.sh", "scene 7"], "dir": "/home/alice", "output": "/home/alice/tollgate-1.out",
        "procs": 1, "submitted_at": "2026-12-01T09:00:00Z", "estimate_s": 600.0, "estimate_source": "user",
        "attempts": 0,
    });
    let given = fields.as_object().expect("fields").clone();
    job.as_object_mut().expect("fields").extend(given);
    read(job)
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

/// Returns a promise that is due at this minute after nine, with these fields.
fn promised(minute: u32, fields: Value) -> Value {
    let mut all = json!({"promised_at": "2026-12-01T09:00:01Z", "promised_probability": 0.95,
        "deadline_at": format!("2026-12-01T09:{minute:02}:00Z")});
    let given = fields.as_object().expect("fields").clone();
    all.as_object_mut().expect("fields").extend(given);
    all
}

/// Returns jobs that run, wait, are held, are at risk, have no promise, an array, and a reserved quote.
pub(crate) fn jobs() -> Vec<JobDetails> {
    let running = |id, minute, fields: Value| {
        let mut fields = promised(minute, fields);
        fields["state"] = json!("running");
        fields["attempts"] = json!(1);
        job(id, &fields)
    };
    vec![
        job(
            12,
            &json!({"state": "reserved", "name": "reserved", "deadline_at": "2026-12-02T08:00:00Z"}),
        ),
        job(
            11,
            &json!({"state": "held", "name": "later", "waits_for": {"key": "held", "text": "it is held"}}),
        ),
        job(
            9,
            &promised(
                50,
                json!({"name": "sweep", "user": "bob", "array": {
            "tasks": "1-40", "queued": 30, "held": 0, "running": 6, "finished": 4, "cancelled": 0, "lost": 0,
            "rejected": 0, "kept": 4, "broken": 0, "void": 0, "unpromised": 0},
            "waits_for": {"key": "array_limit", "text": "at most 6 of its tasks run at a time"},
            "expected": forecast([20, 44, 41, 49], 0.93)}),
            ),
        ),
        job(
            8,
            &json!({"name": "index", "deadline_at": "2026-12-01T09:11:00Z",
            "waits_for": {"key": "promise", "text": "its deadline cannot be promised yet"},
            "expected": forecast([18, 30, 25, 40], 0.2)}),
        ),
        job(
            7,
            &promised(
                20,
                json!({"name": "fold", "procs": 2,
            "waits_for": {"key": "resources", "text": "it needs 2 nodes at once, and none is idle"},
            "expected": forecast([12, 17, 15, 19], 0.97)}),
            ),
        ),
        running(
            6,
            20,
            json!({"name": "train-the-model-with-a-long-name", "host": "rack-b",
            "started_at": "2026-12-01T09:04:00Z", "expected": forecast([4, 18, 14, 24], 0.61)}),
        ),
        running(
            5,
            20,
            json!({"host": "head", "procs": 2, "started_at": "2026-12-01T09:03:00Z",
            "expected": forecast([3, 12, 11, 14], 0.98)}),
        ),
    ]
}

pub(crate) fn answers(jobs: Vec<JobDetails>) -> TopAnswers {
    let node = |id: u32, state: &str, worker: Option<&str>| json!({"id": id, "state": state, "tasks": u32::from(state == "busy"), "worker": worker});
    let worker = |name: &str, first: u32, site: Option<&str>| {
        json!({"name": name, "state": "connected", "incarnation": 1, "first_node": first, "nodes": 2, "site": site,
            "enforced": []})
    };
    TopAnswers {
        status: read(json!({
            "version": "0.1.0", "user": "alice", "pid": 7, "now_at": "2026-12-01T09:10:00Z", "up_since_at": "2026-11-30T12:00:00Z",
            "policy": "plan:share=auto", "market": "commodity", "nodes": 6, "idle_nodes": 1, "queued": 33, "held": 1,
            "running": 8, "at_risk": 1, "risks": [{"promises": 1, "cause": "it takes longer than was planned"}],
            "open_promises": 4, "open_unpromised": 1, "workers": 2, "workers_disconnected": 1,
        })),
        nodes: read(json!({
            "nodes": [node(0, "busy", None), node(1, "busy", None), node(2, "busy", Some("rack-b")),
                node(3, "idle", Some("rack-b")), node(4, "drained", Some("pilot")), node(5, "down", None)],
            "memory_per_node_bytes": 12_670_153_523_u64, "enforced": [],
            "workers": [worker("rack-b", 2, None), worker("pilot", 4, Some("north"))],
            "resources": [{"name": "gpu", "host": "rack-b", "total": 2, "taken": 1}],
        })),
        live: read(json!({"jobs": jobs})),
        user: None,
    }
}

/// Returns the state after these answers.
pub(crate) fn state_of(answers: TopAnswers) -> TopState {
    let mut state = TopState::new(TimeZone::UTC, None);
    state.on_news(TopNews::Answers(Box::new(answers)));
    state
}

/// Returns the state after the answers with all kinds of jobs.
pub(crate) fn usual_state() -> TopState {
    state_of(answers(jobs()))
}

/// Returns a frame without colour, and measures the state with it.
pub(crate) fn drawn(state: &mut TopState, size: (u16, u16)) -> Buffer {
    let drawn = frame(state, ScreenColours::None, size);
    state.measured(drawn.page, drawn.pane_lines);
    drawn.cells
}

/// Returns the lines of a frame, without spaces at their ends.
pub(crate) fn lines(cells: &Buffer) -> Vec<String> {
    let width = usize::from(cells.area.width);
    let rows = cells.content().chunks(width);
    let line = |row: &[ratatui_core::buffer::Cell]| {
        let text: String = row.iter().map(|cell| cell.symbol()).collect();
        text.trim_end().to_owned()
    };
    rows.map(line).collect()
}
