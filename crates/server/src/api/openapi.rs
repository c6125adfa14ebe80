//! The OpenAPI 3.1 document of every path. Its schemas come from the types that the service reads
//! and writes.

use std::sync::OnceLock;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tollgate_client::KEY_HEADER;
use tollgate_client::limits::MAX_KEY;
use tollgate_client::types::ErrorResponse;

use super::endpoint::{ApiOperation, ResponseContent, SchemaFn};
use super::endpoints;

/// JSON pointer to the schemas of types.
const TYPES: &str = "/components/schemas";
/// Error statuses that every request can have.
const COMMON_PROBLEMS: &[u16] = &[400, 401, 403, 405, 408, 413, 421, 429, 500, 503];
/// Error statuses of paths that name a job or a token.
const NAME_PROBLEMS: &[u16] = &[404, 422];
/// Error statuses of requests with a body.
const BODY_PROBLEMS: &[u16] = &[415, 422];

/// Returns the document.
pub fn document() -> Value {
    let mut read = generator(SchemaSettings::for_deserialize);
    let mut written = generator(SchemaSettings::for_serialize);
    let mut paths = Map::new();
    for endpoint in endpoints::all() {
        let mut item = Map::new();
        for operation in &endpoint.operations {
            let described = describe(endpoint.path, operation, &mut read, &mut written);
            item.insert(operation.method.to_owned(), described);
        }
        paths.insert(endpoint.path.to_owned(), Value::Object(item));
    }
    let problem = written.subschema_for::<ErrorResponse>();
    let mut types = read.take_definitions(true);
    types.extend(written.take_definitions(true));
    let mut types = Value::Object(types);
    add_limits(&mut types);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "tollgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Instants are ISO 8601 in UTC (`_at`), spans are seconds (`_s`), memory \
                is bytes, money is credits.",
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": types,
            "responses": {
                "Problem": {
                    "description": "The error",
                    "content": {"application/json": {"schema": problem}},
                },
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Required over TCP; at the socket the system identifies the user",
                },
            },
        },
    })
}

pub(super) async fn openapi() -> impl IntoResponse {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| document().to_string());
    ([(CONTENT_TYPE, "application/json")], text.as_str())
}

fn generator(contract: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    let mut settings = contract(SchemaSettings::draft2020_12());
    settings.definitions_path = TYPES.into();
    settings.meta_schema = None;
    settings.into_generator()
}

fn describe(
    path: &str,
    operation: &ApiOperation,
    read: &mut SchemaGenerator,
    written: &mut SchemaGenerator,
) -> Value {
    let mut words = Map::new();
    words.insert("summary".to_owned(), operation.summary.into());
    let mut parameters: Vec<Value> = path_parameters(path).map(in_path).collect();
    parameters.extend(
        operation
            .query
            .map(|query| in_query(query, read))
            .unwrap_or_default(),
    );
    if path.ends_with("/events") {
        parameters.push(json!({
            "name": "last-event-id", "in": "header", "required": false,
            "schema": {"type": "string"},
            "description": "The last event that was seen: go on behind it",
        }));
    }
    if operation.has_key {
        parameters.push(json!({
            "name": KEY_HEADER, "in": "header", "required": false,
            "schema": {"type": "string", "pattern": "^[!-~]+$", "minLength": 1, "maxLength": MAX_KEY},
            "description": "A key of the client's own for this request: the same request with the same \
                            key within a day gets the same answer, and changes nothing",
        }));
    }
    if !parameters.is_empty() {
        words.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(takes) = operation.body {
        let schema = takes(read);
        let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        words.insert("requestBody".to_owned(), body);
    }
    let mut responses = Map::new();
    for (status, content) in &operation.responses {
        let answer = match content {
            ResponseContent::Json(describe) => {
                let schema = describe(written);
                json!({"description": "Done", "content": {"application/json": {"schema": schema}}})
            }
            ResponseContent::Other(media) => {
                json!({"description": "Done", "content": {*media: {}}})
            }
            ResponseContent::Nothing => json!({"description": "Without a body"}),
        };
        responses.insert(status.to_string(), answer);
    }
    let named = path_parameters(path)
        .next()
        .map_or(&[][..], |_| NAME_PROBLEMS);
    let body = operation.body.map_or(&[][..], |_| BODY_PROBLEMS);
    let problems = [COMMON_PROBLEMS, named, body, operation.problems];
    let mut problems: Vec<u16> = problems.concat();
    problems.sort_unstable();
    problems.dedup();
    for status in problems {
        let problem = json!({"$ref": "#/components/responses/Problem"});
        responses.insert(status.to_string(), problem);
    }
    words.insert("responses".to_owned(), Value::Object(responses));
    Value::Object(words)
}

/// Returns the parameter names in braces.
fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    let pieces = path.split('/');
    pieces.filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
}

fn in_path(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
}

/// Returns one parameter per field of a query.
fn in_query(query: SchemaFn, read: &mut SchemaGenerator) -> Vec<Value> {
    let schema: Schema = query(read);
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten();
    fields
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            add_limits(&mut schema);
            json!({"name": name, "in": "query", "required": false, "schema": schema})
        })
        .collect()
}

/// Adds to a schema the constraints that field names and formats imply: `_at` is a date-time, and
/// integers have a maximum.
fn add_limits(schema: &mut Value) {
    match schema {
        Value::Object(words) => {
            let greatest = match words.get("format").and_then(Value::as_str) {
                Some("uint8") => Some(u64::from(u8::MAX)),
                Some("uint32") => Some(u64::from(u32::MAX)),
                Some("uint64") => Some(u64::MAX),
                Some(_) | None => None,
            };
            if let Some(greatest) = greatest {
                words.entry("maximum").or_insert(greatest.into());
            }
            let fields = words.get_mut("properties").and_then(Value::as_object_mut);
            for (name, field) in fields.into_iter().flatten() {
                if (name == "at" || name.ends_with("_at")) && field.is_object() {
                    field["format"] = "date-time".into();
                }
            }
            words.values_mut().for_each(add_limits);
        }
        Value::Array(items) => items.iter_mut().for_each(add_limits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
