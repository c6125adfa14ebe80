//! Every path with its requests and responses. The router and the OpenAPI document are both made
//! from this list, so they cannot disagree.

use tollgate_client::TERMINAL_PATH;
use tollgate_client::records::{
    EvictionPage, EvictionReport, JobPage, LedgerPage, LoginPage, PruneRequest, PruneResult,
    UsageReport,
};
use tollgate_client::types::{
    AlterRequest, AlterResponse, BatchResponse, CalibrationReport, DrainRequest, ExpectedPilots,
    GrantRequest, JobBatch, JobDetails, JobExplanation, JobHistory, JobList, JobOutput, JobRef,
    JobsActionRequest, JobsActionResult, LearnRequest, LearnResult, LedgerReport, MovedEnds,
    NewToken, NodeList, PlacementList, ReleasedWorkers, ResubmitRequest, ServiceObjectives,
    ServiceStatus, SignalRequest, SignalResult, StepEnd, StepList, StepRef, StepStart,
    SubmitResponse, TokenList, TokenRequest, WhatIfReport, WindowLink, WorkerEnds, WorkerRelease,
};

use super::endpoint::{ApiEndpoint, ResponseContent, at, operation};
use super::expected_pilots;
use super::export::{self, PageQuery};
use super::job_list::{self, JobsQuery};
use super::jobs::{self, TasksQuery, WaitQuery};
use super::placements::PlacementsQuery;
use super::request_schemas::{quote_request, runnable, submission as submission_request};
use super::steps::StepsQuery;
use super::submission::{self, ClaimQuery};
use super::usage::{self, UsageQuery};
use super::what_if::WhatIfQuery;
use super::{
    actions, alter, batch, drain, grant, history, learn, metrics, openapi, outputs, placements,
    prune, resubmit, signal, sse, status, steps, terminal_upgrade, tokens, what_if, window,
    worker_ends, worker_release, worker_upgrade,
};
use crate::workers;

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
                job_list::jobs,
                operation("List jobs, latest first")
                    .query::<JobsQuery>()
                    .gives::<JobList>(200),
            )
            .post(
                submission::submit,
                operation("Submit a job")
                    .keyed()
                    .takes_as(submission_request)
                    .gives::<SubmitResponse>(201)
                    .gives::<SubmitResponse>(200)
                    .problems(&[403, 429, 507]),
            ),
        at("/v1/placements").get(
            placements::placements,
            operation("List the nodes that jobs take, and took: anonymous for jobs of others")
                .query::<PlacementsQuery>()
                .gives::<PlacementList>(200)
                .problems(&[404, 422]),
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
            operation(
                "Cancel, hold, release or requeue jobs together, or send a signal, each that can be",
            )
            .takes::<JobsActionRequest>()
            .gives::<JobsActionResult>(200)
            .problems(&[409, 507]),
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
        at("/v1/jobs/{id}/history").get(
            history::history,
            operation("Show what happened to a job, and what was expected as time went by")
                .gives::<JobHistory>(200)
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
        at("/v1/jobs/{id}/requeue").post(
            jobs::requeue,
            operation("End a running job, and queue it again")
                .keyed()
                .gives::<JobRef>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/signal").post(
            signal::signal,
            operation("Send a signal to the processes of a running job, or of tasks of an array")
                .takes::<SignalRequest>()
                .gives::<SignalResult>(200)
                .problems(&[404, 409]),
        ),
        at("/v1/jobs/{id}/steps").post(
            steps::begin,
            operation("Record that a step of a running job begins, as `srun` in it does")
                .takes::<StepStart>()
                .gives::<StepRef>(200)
                .problems(&[404, 409, 507]),
        ),
        at("/v1/jobs/{id}/steps/{step}/end").post(
            steps::end,
            operation("Record the end of a step")
                .takes::<StepEnd>()
                .gives::<StepRef>(200)
                .problems(&[404, 507]),
        ),
        at("/v1/steps").get(
            steps::list,
            operation("List the steps of jobs")
                .query::<StepsQuery>()
                .gives::<StepList>(200),
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
        at("/v1/export/evictions").get(
            export::evictions,
            operation("List evictions, page by page")
                .query::<PageQuery>()
                .gives::<EvictionPage>(200)
                .problems(&[422]),
        ),
        at("/v1/evictions").get(
            export::eviction_report,
            operation("Sum evictions by cause, and abandoned tasks").gives::<EvictionReport>(200),
        ),
        at("/v1/export/logins").get(
            export::logins,
            operation("List the times in which computers were in use, page by page")
                .query::<PageQuery>()
                .gives::<LoginPage>(200)
                .problems(&[403, 422]),
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
        at("/v1/worker-releases").post(
            worker_release::release,
            operation("Ask pilots that run nothing to leave")
                .takes::<WorkerRelease>()
                .gives::<ReleasedWorkers>(200)
                .problems(&[403]),
        ),
        at("/v1/expected-pilots").post(
            expected_pilots::expect,
            operation("State which pilots of a site are expected, and when")
                .takes::<ExpectedPilots>()
                .gives::<ExpectedPilots>(200)
                .problems(&[403, 507]),
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
        at("/v1/what-if").get(
            what_if::compare_policies,
            operation("Compare policies on the record of the service, by simulation")
                .query::<WhatIfQuery>()
                .gives::<WhatIfReport>(200)
                .problems(&[403, 404, 422]),
        ),
        at("/v1/window").post(
            window::new_link,
            operation("Make a link to the window of the service, for one use within a minute")
                .gives::<WindowLink>(201)
                .problems(&[403, 404]),
        ),
        at("/v1/tokens/{id}/revoke").post(
            tokens::revoke,
            operation("Revoke a token")
                .gives::<TokenList>(200)
                .problems(&[403, 404, 409]),
        ),
    ]
}
