//! The pages of what a service says of itself: events and metrics.

use schemars::{JsonSchema, schema_for};
use serde_json::Value;
use tollgate_client::types::{
    ClassCourseEvent, JobEvent, JobEventKind, NodeEvent, WireVocabulary, WorkerEvent,
};
use tollgate_server::api::metrics::{METRICS, MetricFamily};
use tollgate_server::api::sse::STREAM_EVENTS;

use super::table::{code, table};

/// The text below the heading of the events.
const EVENTS_HEAD: &str = "\
`/v1/events` and `/v1/jobs/ID/events` are streams of server-sent events. Each event has a line `id:`, a line `event:` \
with its name, and a line `data:` with JSON.";

/// Returns the page of events in Markdown.
pub(super) fn events_page() -> String {
    let kinds = descriptions::<JobEventKind>();
    let kinds = JobEventKind::ALL.iter().map(|kind| {
        let last = if kind.is_end() { "yes" } else { "" };
        let meaning = kinds.iter().find(|(key, _)| key == kind.key());
        let meaning = meaning.map_or_else(String::new, |(_, meaning)| meaning.clone());
        [code(kind.key()), meaning, last.to_owned()]
    });
    let kinds = table(["event", "meaning", "last event of a job"], kinds);
    let fields = fields::<JobEvent>();
    let fields = table(["field", "meaning"], fields);
    let classes = table(["field", "meaning"], self::fields::<ClassCourseEvent>());
    let workers = table(["field", "meaning"], self::fields::<WorkerEvent>());
    let nodes = table(["field", "meaning"], self::fields::<NodeEvent>());
    let others = STREAM_EVENTS.map(|event| [code(event.name), event.meaning.to_owned()]);
    let others = table(["event", "meaning"], others);
    format!(
        "# Events\n\n{EVENTS_HEAD}\n\n## Steps of a job\n\n{kinds}\n## Fields of a step\n\n{fields}\n\
         ## Events of the stream\n\n{others}\n## Fields of a class's event\n\n{classes}\n\
         ## Fields of a worker's event\n\n{workers}\n## Fields of a node's event\n\n{nodes}"
    )
}

/// Returns the page of metrics in Markdown.
pub(super) fn metrics_page() -> String {
    let rows = METRICS.iter().map(|family| {
        let names = family.kind.suffixes().iter();
        let names: Vec<String> = names
            .map(|suffix| code(&format!("{}{suffix}", family.name)))
            .collect();
        [
            names.join(", "),
            family.kind.key().to_owned(),
            family.unit.to_owned(),
            labels(family),
            family.help.to_owned(),
        ]
    });
    let table = table(["metric", "type", "unit", "labels", "meaning"], rows);
    format!(
        "# Metrics\n\n`/metrics` describes the whole service in the format OpenMetrics 1.0, without names of users. \
         Sums over all jobs are at most 30 seconds old.\n\n{table}"
    )
}

fn labels(family: &MetricFamily) -> String {
    let labels: Vec<String> = family.labels.iter().map(|label| code(label)).collect();
    labels.join(", ")
}

/// Returns the fields of a type with their documentation.
fn fields<T: JsonSchema>() -> Vec<[String; 2]> {
    let schema = schema_for!(T);
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten();
    fields
        .map(|(key, field)| [code(key), description(field)])
        .collect()
}

/// Returns the words of a vocabulary with their documentation.
fn descriptions<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = schema_for!(T);
    let words = schema.get("oneOf").and_then(Value::as_array);
    let words = words.into_iter().flatten();
    words
        .filter_map(|word| Some((word.get("const")?.as_str()?.to_owned(), description(word))))
        .collect()
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}
