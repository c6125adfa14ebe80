//! Every path with its requests and responses. The router and the OpenAPI document are both made
//! from this list, so they cannot disagree.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tollgate_client::TERMINAL_PATH;
use tollgate_client::records::{JobPage, LedgerPage, PruneRequest, PruneResult, UsageReport};
use tollgate_client::types::{
    AlterRequest, AlterResponse, BatchResponse, CalibrationReport, DrainRequest, GrantRequest,
    JobBatch, JobDetails, JobExplanation, JobList, JobOutput, JobRef, JobRequest,
    JobsActionRequest, JobsActionResult, LearnRequest, LearnResult, LedgerReport, MovedEnds,
    NewToken, NodeList, ResubmitRequest, ServiceObjectives, ServiceStatus, SubmitResponse,
    TokenList, TokenRequest, WorkerEnds,
};

use super::export::{self, PageQuery};
use super::jobs::{self, JobsQuery, TasksQuery, WaitQuery};
use super::state::ApiState;
use super::submission::{self, ClaimQuery};
use super::usage::{self, UsageQuery};
use super::{
    actions, alter, batch, drain, grant, learn, metrics, openapi, outputs, prune, resubmit, sse,
    status, terminal_upgrade, tokens, worker_ends, worker_upgrade,
};
use crate::workers;

/// A path of the API.
pub(super) struct ApiEndpoint {
    pub(super) path: &'static str,
    pub(super) router: MethodRouter<ApiState>,
    pub(super) operations: Vec<ApiOperation>,
}

/// An operation on a path.
pub(super) struct ApiOperation {
    /// HTTP method, in lower case.
    pub(super) method: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Option<SchemaFn>,
    pub(super) body: Option<SchemaFn>,
    /// Whether the service recognises a repeated request by its key.
    pub(super) has_key: bool,
    /// Responses by status.
    pub(super) responses: Vec<(u16, ResponseContent)>,
    /// Statuses of errors beyond those that every request of this kind can have.
    pub(super) problems: &'static [u16],
}

/// A function that returns the schema of a type.
pub(super) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The content of a response.
pub(super) enum ResponseContent {
    /// JSON.
    Json(SchemaFn),
    /// A body of this media type.
    Other(&'static str),
    Nothing,
}

/// Returns every path.
pub(super) fn all() -> Vec<ApiEndpoint> {
    let text = ResponseContent::Other;
    let job_events = operation("Stream the state of a job and its events, until the job is over")
        .answers(200, text("text/event-stream"))
        .answers(204, ResponseContent::Nothing)
        .problems(&[]);
    vec![
        at("/healthz").get(
            status::healthz,
            operation("Check that the service answers and decides")
                .answers(200, text("text/plain; charset=utf-8"))
                .problems(&[503]),
        ),
        at("/metrics").get(
            metrics::metrics,
            operation("Metrics of the whole service, for OpenMetrics")
                .answers(200, text(metrics::MEDIA_TYPE)),
        ),
        at("/v1/openapi.json").get(
            openapi::openapi,
            operation("This description").answers(200, text("application/json")),
        ),
        at("/v1/status").get(
            status::status,
            operation("Show the state of the service").gives::<ServiceStatus>(200),
        ),
        at("/v1/jobs")
            .get(
                jobs::jobs,
                operation("List jobs, latest first")
                    .query::<JobsQuery>()
                    .gives::<JobList>(200),
            )
            .post(
                submission::submit,
                operation("Submit a job")
                    .keyed()
                    .takes_as(submission)
                    .gives::<SubmitResponse>(201)
                    .gives::<SubmitResponse>(200)
                    .problems(&[403, 429, 507]),
            ),
        at("/v1/batches").post(
            batch::submit_batch,
            operation("Submit jobs together, all or none of them")
                .keyed()
                .takes::<JobBatch>()
                .gives::<BatchResponse>(201)
                .problems(&[403, 429, 507]),
        ),
        at("/v1/actions").post(
            actions::act,
            operation("Cancel, hold or release jobs together, each that can be")
                .takes::<JobsActionRequest>()
                .gives::<JobsActionResult>(200)
                .problems(&[507]),
        ),
        at("/v1/jobs/{id}")
            .get(
                jobs::job,
                operation("Show a job, or one task of an array")
                    .gives::<JobDetails>(200)
                    .problems(&[404]),
            )
            .delete(
                jobs::cancel,
                operation("Cancel a job")
                    .keyed()
                    .gives::<JobRef>(200)
                    .problems(&[404, 409]),
            ),
        at("/v1/jobs/{id}/tasks").get(
            jobs::tasks,
            operation("List the tasks of an array")
                .query::<TasksQuery>()
                .gives::<JobList>(200)
                .problems(&[404]),
        ),
        at("/v1/jobs/{id}/alter").post(
            alter::alter,
            operation("Change a job that waits")
                .keyed()
                .takes::<AlterRequest>()
                .gives::<AlterResponse>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/resubmit").post(
            resubmit::resubmit,
            operation("Submit a failed job, or the failed tasks of an array, again")
                .keyed()
                .takes::<ResubmitRequest>()
                .gives::<SubmitResponse>(201)
                .gives::<SubmitResponse>(200)
                .problems(&[403, 404, 409, 429, 507]),
        ),
        at("/v1/jobs/{id}/explain").get(
            jobs::explain,
            operation("Explain the state of a job")
                .gives::<JobExplanation>(200)
                .problems(&[404]),
        ),
        at("/v1/jobs/{id}/wait").get(
            jobs::wait,
            operation("Wait until a job is over, or admitted or rejected")
                .query::<WaitQuery>()
                .gives::<JobDetails>(200)
                .problems(&[404]),
        ),
        at("/v1/jobs/{id}/output").get(
            outputs::output,
            operation("Read some of the output of a job on another host")
                .query::<outputs::OutputQuery>()
                .gives::<JobOutput>(200)
                .problems(&[404, 422]),
        ),
        at("/v1/jobs/{id}/events").get(sse::job_events, job_events),
        at("/v1/jobs/{id}/cancel").post(
            jobs::cancel,
            operation("Cancel a job")
                .keyed()
                .gives::<JobRef>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/hold").post(
            jobs::hold,
            operation("Hold a job")
                .keyed()
                .gives::<JobRef>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/release").post(
            jobs::release,
            operation("Release a held job")
                .keyed()
                .gives::<JobRef>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/grant").post(
            grant::grant,
            operation(
                "Let a job that waits for a promise go beyond its user's share, as an operator",
            )
            .takes::<GrantRequest>()
            .gives::<JobRef>(200)
            .problems(&[403, 404, 409]),
        ),
        at("/v1/events").get(
            sse::all_events,
            operation("Stream the events of jobs, from now on or from a known event")
                .answers(200, text("text/event-stream"))
                .problems(&[]),
        ),
        at("/v1/quotes").post(
            submission::quote,
            operation("Quote a job, or reserve room for it")
                .keyed()
                .takes_as(quote_request)
                .gives::<SubmitResponse>(200)
                .problems(&[403, 429, 507]),
        ),
        at("/v1/quotes/{id}/claim").post(
            submission::claim,
            operation("Claim a reserved quote")
                .keyed()
                .query::<ClaimQuery>()
                .takes_as(runnable)
                .gives::<JobRef>(200)
                .problems(&[403, 404, 409, 429, 507]),
        ),
        at("/v1/ledger").get(
            status::ledger,
            operation("Show the ledger, by user and day").gives::<LedgerReport>(200),
        ),
        at("/v1/usage").get(
            usage::usage,
            operation("Show usage, by user, account and day")
                .query::<UsageQuery>()
                .gives::<UsageReport>(200)
                .problems(&[422]),
        ),
        at("/v1/export/jobs").get(
            export::jobs,
            operation("List jobs that are over, page by page")
                .query::<PageQuery>()
                .gives::<JobPage>(200)
                .problems(&[422]),
        ),
        at("/v1/export/ledger").get(
            export::ledger,
            operation("List entries of the ledger, page by page")
                .query::<PageQuery>()
                .gives::<LedgerPage>(200)
                .problems(&[422]),
        ),
        at("/v1/prune").post(
            prune::prune,
            operation("Remove jobs that are over")
                .takes::<PruneRequest>()
                .gives::<PruneResult>(200)
                .problems(&[403, 507]),
        ),
        at("/v1/objectives").get(
            status::objectives,
            operation("Show the objectives so far").gives::<ServiceObjectives>(200),
        ),
        at("/v1/calibration").get(
            status::calibration,
            operation("Compare promises with how many were kept").gives::<CalibrationReport>(200),
        ),
        at("/v1/learn").post(
            learn::learn,
            operation("Learn run times from records of earlier jobs")
                .takes::<LearnRequest>()
                .gives::<LearnResult>(200)
                .problems(&[403, 507]),
        ),
        at("/v1/drain").post(
            drain::drain,
            operation("Drain nodes, or let jobs start there again")
                .takes::<DrainRequest>()
                .gives::<DrainRequest>(200)
                .problems(&[403, 404]),
        ),
        at("/v1/worker-ends").post(
            worker_ends::move_ends,
            operation("Tell workers the ends that batch systems have for them")
                .takes::<WorkerEnds>()
                .gives::<MovedEnds>(200)
                .problems(&[403]),
        ),
        at("/v1/nodes").get(
            status::nodes,
            operation("List nodes and workers").gives::<NodeList>(200),
        ),
        at(TERMINAL_PATH).post(
            terminal_upgrade::attach,
            operation("Attach to the terminal of the session (connection upgrade)")
                .answers(101, ResponseContent::Nothing)
                .problems(&[403, 404, 426]),
        ),
        at(workers::transport::PATH).get(
            worker_upgrade::register_worker,
            operation("Register a worker (connection upgrade)")
                .answers(101, ResponseContent::Nothing)
                .problems(&[426]),
        ),
        at("/v1/tokens")
            .get(
                tokens::list,
                operation("List tokens and certificates")
                    .gives::<TokenList>(200)
                    .problems(&[403]),
            )
            .post(
                tokens::create,
                operation("Create a token")
                    .takes::<TokenRequest>()
                    .gives::<NewToken>(201)
                    .problems(&[403, 429]),
            ),
        at("/v1/tokens/{id}/revoke").post(
            tokens::revoke,
            operation("Revoke a token")
                .gives::<TokenList>(200)
                .problems(&[403, 404, 409]),
        ),
    ]
}

fn at(path: &'static str) -> ApiEndpoint {
    ApiEndpoint {
        path,
        router: MethodRouter::new(),
        operations: Vec::new(),
    }
}

fn operation(summary: &'static str) -> ApiOperation {
    ApiOperation {
        method: "",
        summary,
        query: None,
        body: None,
        has_key: false,
        responses: Vec::new(),
        problems: &[],
    }
}

/// Returns the schema of a job with a command.
fn runnable(types: &mut SchemaGenerator) -> Schema {
    let job = types.subschema_for::<JobRequest>();
    json_schema!({"allOf": [job, {
        "required": ["command"],
        "properties": {"command": {"minItems": 1, "prefixItems": [{"minLength": 1}]}},
    }]})
}

/// Returns the schema of a submission: not a quote, at most one deadline, and one output per task.
fn submission(types: &mut SchemaGenerator) -> Schema {
    let job = runnable(types);
    json_schema!({"allOf": [job, one_deadline(), one_begin(), one_output_per_task(), {
        "properties": {"hold_s": {"type": "null"}},
    }]})
}

/// Returns the schema of a quote: without dependencies, not held; a single task that may begin at once if it is reserved.
fn quote_request(types: &mut SchemaGenerator) -> Schema {
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

fn describe<T: JsonSchema>(types: &mut SchemaGenerator) -> Schema {
    types.subschema_for::<T>()
}

impl ApiEndpoint {
    fn get<T: 'static>(self, handler: impl Handler<T, ApiState>, operation: ApiOperation) -> Self {
        self.on("get", MethodFilter::GET, handler, operation)
    }

    fn post<T: 'static>(self, handler: impl Handler<T, ApiState>, operation: ApiOperation) -> Self {
        self.on("post", MethodFilter::POST, handler, operation)
    }

    fn delete<T: 'static>(
        self,
        handler: impl Handler<T, ApiState>,
        operation: ApiOperation,
    ) -> Self {
        self.on("delete", MethodFilter::DELETE, handler, operation)
    }

    fn on<T: 'static>(
        mut self,
        method: &'static str,
        filter: MethodFilter,
        handler: impl Handler<T, ApiState>,
        operation: ApiOperation,
    ) -> Self {
        self.router = self.router.merge(on(filter, handler));
        self.operations.push(ApiOperation {
            method,
            ..operation
        });
        self
    }
}

impl ApiOperation {
    fn query<T: JsonSchema>(self) -> Self {
        let query = Some::<SchemaFn>(|types| T::json_schema(types));
        Self { query, ..self }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        self.takes_as(describe::<T>)
    }

    fn takes_as(self, takes: SchemaFn) -> Self {
        let takes = Some(takes);
        Self {
            body: takes,
            ..self
        }
    }

    fn gives<T: JsonSchema>(self, status: u16) -> Self {
        self.answers(status, ResponseContent::Json(describe::<T>))
    }

    fn keyed(self) -> Self {
        Self {
            has_key: true,
            ..self
        }
    }

    fn answers(mut self, status: u16, content: ResponseContent) -> Self {
        self.responses.push((status, content));
        self
    }

    fn problems(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }
}
