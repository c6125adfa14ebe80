//! Schemas of requests that demand more of a job than its type says.

use schemars::{Schema, SchemaGenerator, json_schema};
use tollgate_client::types::JobRequest;

/// Returns the schema of a job with a command.
pub(super) fn runnable(types: &mut SchemaGenerator) -> Schema {
    let job = types.subschema_for::<JobRequest>();
    json_schema!({"allOf": [job, {
        "required": ["command"],
        "properties": {"command": {"minItems": 1, "prefixItems": [{"minLength": 1}]}},
    }]})
}

/// Returns the schema of a submission: not a quote, at most one deadline, and one output per task.
pub(super) fn submission(types: &mut SchemaGenerator) -> Schema {
    let job = runnable(types);
    json_schema!({"allOf": [job, one_deadline(), one_begin(), one_output_per_task(), {
        "properties": {"hold_s": {"type": "null"}},
    }]})
}

/// Returns the schema of a quote: without dependencies, not held; a single task that may begin at once if it is reserved.
pub(super) fn quote_request(types: &mut SchemaGenerator) -> Schema {
    let job = types.subschema_for::<JobRequest>();
    json_schema!({"allOf": [job, one_deadline(), one_begin(), one_output_per_task(), {
        "properties": {
            "after": {"maxItems": 0},
            "held": {"const": false},
        },
    }, {
        "anyOf": [
            {"properties": {
                "array": {"type": "null"}, "begin_s": {"type": "null"}, "begin_at": {"type": "null"},
            }},
            {"properties": {"hold_s": {"type": "null"}}},
        ],
    }]})
}

fn one_output_per_task() -> Schema {
    json_schema!({"anyOf": [
        {"properties": {"array": {"type": "null"}}},
        {"properties": {"output": {"type": "null"}}},
        {"properties": {"output": {"pattern": "(^|[^%])(%%)*%[0-9]*a|^/dev/"}}},
    ]})
}

/// Returns the schema of a time that is given as a span or as an instant, not both.
fn one_of_two(span: &str, instant: &str) -> Schema {
    json_schema!({"anyOf": [
        {"properties": {span: {"type": "null"}}},
        {"properties": {instant: {"type": "null"}}},
    ]})
}

fn one_deadline() -> Schema {
    one_of_two("deadline_s", "deadline_at")
}

fn one_begin() -> Schema {
    one_of_two("begin_s", "begin_at")
}
