//! Jobs for tests.

use tollgate_client::types::JobDetails;

/// Returns job 7 of user mia, which waits, with these fields of the API instead.
pub(crate) fn job(fields: serde_json::Value) -> JobDetails {
    let mut job = serde_json::json!({
        "id": 7, "user_id": 1000, "user": "mia", "name": "sim", "state": "queued", "command": ["./sim.sh"],
        "dir": "/home/mia", "procs": 2, "submitted_at": "2026-12-01T09:00:00Z", "estimate_s": 600.0,
        "estimate_source": "user", "attempts": 0,
    });
    let all = job.as_object_mut().expect("an object");
    for (name, value) in fields.as_object().expect("an object") {
        all.insert(name.clone(), value.clone());
    }
    serde_json::from_value(job).expect("a job")
}
