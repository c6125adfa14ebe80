//! Every path with what it takes and answers: the router and the description of it are both made
//! from this list, so that none of them knows more than the other.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::routes::{self, Few, Service, Until, Wanted};
use super::types::{
    Answer, Calibration, Done, Explanation, Job, JobRequest, Jobs, Ledger, NewToken, Nodes,
    Objectives, Status, TokenRequest, Tokens,
};
use super::{metrics, openapi, streams, tokens, work};
use crate::fleet;

/// A path.
pub(super) struct Endpoint {
    pub(super) path: &'static str,
    pub(super) router: MethodRouter<Service>,
    pub(super) operations: Vec<Operation>,
}

/// What can be done with a path.
pub(super) struct Operation {
    /// In small letters.
    pub(super) method: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Option<Describe>,
    pub(super) takes: Option<Describe>,
    /// By status.
    pub(super) answers: Vec<(u16, Content)>,
    /// Statuses of what goes wrong beside what may go wrong with every request like it.
    pub(super) problems: &'static [u16],
}

/// The schema of a type.
pub(super) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// What an answer holds.
pub(super) enum Content {
    /// JSON.
    Json(Describe),
    /// Something else, of this media type.
    Other(&'static str),
    Nothing,
}

/// Every path.
pub(super) fn all() -> Vec<Endpoint> {
    let text = Content::Other;
    let job_events = does("Stream the state of a job and its events, until the job is over")
        .answers(200, text("text/event-stream"))
        .answers(204, Content::Nothing)
        .problems(&[]);
    vec![
        at("/healthz").get(
            routes::healthz,
            does("Check that the service answers and decides")
                .answers(200, text("text/plain; charset=utf-8"))
                .problems(&[503]),
        ),
        at("/metrics").get(
            metrics::metrics,
            does("Metrics of the whole service, for OpenMetrics")
                .answers(200, text(metrics::MEDIA_TYPE)),
        ),
        at("/v1/openapi.json").get(
            openapi::openapi,
            does("This description").answers(200, text("application/json")),
        ),
        at("/v1/status").get(
            routes::status,
            does("Show the state of the service").gives::<Status>(200),
        ),
        at("/v1/jobs")
            .get(
                routes::jobs,
                does("List jobs, latest first")
                    .query::<Wanted>()
                    .gives::<Jobs>(200),
            )
            .post(
                routes::submit,
                does("Submit a job")
                    .takes_as(submission)
                    .gives::<Answer>(201)
                    .gives::<Answer>(200)
                    .problems(&[403, 429, 507]),
            ),
        at("/v1/jobs/{id}")
            .get(
                routes::job,
                does("Show a job, or one task of an array")
                    .gives::<Job>(200)
                    .problems(&[404]),
            )
            .delete(
                routes::cancel,
                does("Cancel a job")
                    .gives::<Done>(200)
                    .problems(&[404, 409]),
            ),
        at("/v1/jobs/{id}/tasks").get(
            routes::tasks,
            does("List the tasks of an array")
                .query::<Few>()
                .gives::<Jobs>(200)
                .problems(&[404]),
        ),
        at("/v1/jobs/{id}/explain").get(
            routes::explain,
            does("Explain the state of a job")
                .gives::<Explanation>(200)
                .problems(&[404]),
        ),
        at("/v1/jobs/{id}/wait").get(
            routes::wait,
            does("Wait until a job is over, or admitted or rejected")
                .query::<Until>()
                .gives::<Job>(200)
                .problems(&[404]),
        ),
        at("/v1/jobs/{id}/events").get(streams::of_job, job_events),
        at("/v1/jobs/{id}/cancel").post(
            routes::cancel,
            does("Cancel a job")
                .gives::<Done>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/hold").post(
            routes::hold,
            does("Hold a job").gives::<Done>(200).problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/release").post(
            routes::release,
            does("Release a held job")
                .gives::<Done>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/events").get(
            streams::all,
            does("Stream the events of jobs, from now on or from a known event")
                .answers(200, text("text/event-stream"))
                .problems(&[]),
        ),
        at("/v1/quotes").post(
            routes::quote,
            does("Quote a job, or reserve room for it")
                .takes_as(question)
                .gives::<Answer>(200)
                .problems(&[403, 429, 507]),
        ),
        at("/v1/quotes/{id}/claim").post(
            routes::claim,
            does("Claim a reserved quote")
                .takes_as(runnable)
                .gives::<Done>(200)
                .problems(&[403, 404, 409, 507]),
        ),
        at("/v1/ledger").get(
            routes::ledger,
            does("Show the ledger, by user and day").gives::<Ledger>(200),
        ),
        at("/v1/objectives").get(
            routes::objectives,
            does("Show the objectives so far").gives::<Objectives>(200),
        ),
        at("/v1/calibration").get(
            routes::calibration,
            does("Compare promises with how many were kept").gives::<Calibration>(200),
        ),
        at("/v1/nodes").get(
            routes::nodes,
            does("List nodes and workers").gives::<Nodes>(200),
        ),
        at(fleet::route::PATH).get(
            work::take,
            does("Register a worker (connection upgrade)")
                .answers(101, Content::Nothing)
                .problems(&[426]),
        ),
        at("/v1/tokens")
            .get(
                tokens::list,
                does("List tokens and certificates")
                    .gives::<Tokens>(200)
                    .problems(&[403]),
            )
            .post(
                tokens::make,
                does("Create a token")
                    .takes::<TokenRequest>()
                    .gives::<NewToken>(201)
                    .problems(&[403, 429]),
            ),
        at("/v1/tokens/{id}/revoke").post(
            tokens::revoke,
            does("Revoke a token")
                .gives::<Tokens>(200)
                .problems(&[403, 404, 409]),
        ),
    ]
}

fn at(path: &'static str) -> Endpoint {
    Endpoint {
        path,
        router: MethodRouter::new(),
        operations: Vec::new(),
    }
}

fn does(summary: &'static str) -> Operation {
    Operation {
        method: "",
        summary,
        query: None,
        takes: None,
        answers: Vec::new(),
        problems: &[],
    }
}

/// A job with the program that it runs.
fn runnable(types: &mut SchemaGenerator) -> Schema {
    let job = types.subschema_for::<JobRequest>();
    json_schema!({"allOf": [job, {
        "required": ["command"],
        "properties": {"command": {"minItems": 1, "prefixItems": [{"minLength": 1}]}},
    }]})
}

/// A job that is submitted: no quote, with one deadline at most, and an output for each task.
fn submission(types: &mut SchemaGenerator) -> Schema {
    let job = runnable(types);
    json_schema!({"allOf": [job, one_deadline(), {
        "properties": {"hold_s": {"type": "null"}},
    }, {
        "anyOf": [
            {"properties": {"array": {"type": "null"}}},
            {"properties": {"output": {"type": "null"}}},
            {"properties": {"output": {"pattern": "%a|^/dev/"}}},
        ],
    }]})
}

/// A job that is asked about: one task that may start at once.
fn question(types: &mut SchemaGenerator) -> Schema {
    let job = types.subschema_for::<JobRequest>();
    json_schema!({"allOf": [job, one_deadline(), {
        "properties": {
            "array": {"type": "null"},
            "after": {"maxItems": 0},
            "held": {"const": false},
        },
    }]})
}

fn one_deadline() -> Schema {
    json_schema!({"anyOf": [
        {"properties": {"deadline_s": {"type": "null"}}},
        {"properties": {"deadline_at": {"type": "null"}}},
    ]})
}

fn describe<T: JsonSchema>(types: &mut SchemaGenerator) -> Schema {
    types.subschema_for::<T>()
}

impl Endpoint {
    fn get<T: 'static>(self, handler: impl Handler<T, Service>, operation: Operation) -> Self {
        self.on("get", MethodFilter::GET, handler, operation)
    }

    fn post<T: 'static>(self, handler: impl Handler<T, Service>, operation: Operation) -> Self {
        self.on("post", MethodFilter::POST, handler, operation)
    }

    fn delete<T: 'static>(self, handler: impl Handler<T, Service>, operation: Operation) -> Self {
        self.on("delete", MethodFilter::DELETE, handler, operation)
    }

    fn on<T: 'static>(
        mut self,
        method: &'static str,
        filter: MethodFilter,
        handler: impl Handler<T, Service>,
        operation: Operation,
    ) -> Self {
        self.router = self.router.merge(on(filter, handler));
        self.operations.push(Operation {
            method,
            ..operation
        });
        self
    }
}

impl Operation {
    fn query<T: JsonSchema>(self) -> Self {
        let query = Some::<Describe>(|types| T::json_schema(types));
        Self { query, ..self }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        self.takes_as(describe::<T>)
    }

    fn takes_as(self, takes: Describe) -> Self {
        let takes = Some(takes);
        Self { takes, ..self }
    }

    fn gives<T: JsonSchema>(self, status: u16) -> Self {
        self.answers(status, Content::Json(describe::<T>))
    }

    fn answers(mut self, status: u16, content: Content) -> Self {
        self.answers.push((status, content));
        self
    }

    fn problems(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }
}
