//! The requests and responses of the API. Field names, units and meanings are a contract: instants
//! are ISO 8601 in UTC (`_at`), spans are seconds (`_s`), memory is bytes.
//!
//! | module | contents |
//! |---|---|
//! | `access` | grants, tokens and roles |
//! | `array` | the tasks of an array together |
//! | `decision` | decisions about jobs |
//! | `event` | events of jobs |
//! | `history` | what happened to a job, and what was expected of it |
//! | `job` | jobs as their users see them |
//! | `learning` | records of jobs to learn from |
//! | `nodes` | workers, their nodes and what these offer |
//! | `output` | the output of jobs |
//! | `placement` | the nodes that jobs take over time |
//! | `promise` | the end of a promise |
//! | `request` | jobs to submit, to quote or to change |
//! | `service` | the state of the service, what it promised and kept, and what users spent |
//! | `signal` | signals to running jobs |
//! | `state` | the state of a job |
//! | `step` | steps of running jobs |
//! | `wait_reason` | the reason for which a job waits |
//! | `word` | words of this version and of later ones |

mod access;
mod array;
mod decision;
mod event;
mod history;
mod job;
mod learning;
mod nodes;
mod output;
mod placement;
mod promise;
mod request;
mod service;
mod signal;
mod state;
mod step;
mod wait_reason;
mod what_if;
mod word;

pub use access::{
    AccessRole, CredentialProof, GrantRequest, NewToken, TokenInfo, TokenList, TokenRequest,
    WindowLink,
};
pub use array::{RunningTaskAge, TaskFailures, TaskRuns, TasksOutlook};
pub use decision::{
    AlterResponse, BatchResponse, ForecastDoubt, ForecastPart, JobDecision, JobEstimateSource,
    JobForecast, JobOffer, MemoryUsage, OfferChange, ProcessorUsage, ReasonMessage, RunTimeBelief,
    RunTimeQuantile, SubmitResponse, TaskRangeDecision, UnpredictableRun, UsageMessage,
};
pub use event::{
    ClassCourse, ClassCourseEvent, JobEvent, JobEventKind, NodeEvent, NodeEventState, WorkerEvent,
};
pub use history::{ForecastSample, JobHistory, JobTurn};
pub use job::{ArrayStatus, DroppedText, JobDetails, JobExplanation, JobList, JobRef};
pub use learning::{LearnRequest, LearnResult, LearnedJob};
pub use nodes::{
    DrainRequest, EndOfWorker, ExpectedHostStatus, ExpectedPilot, ExpectedPilots, HostUseCause,
    MovedEnds, NodeAvailability, NodeList, NodeStatus, ReleasedWorkers, ResourceStatus, SlowedHost,
    WorkerEnds, WorkerLinkState, WorkerRelease, WorkerStatus,
};
pub use output::{JobOutput, OutputSource};
pub use placement::{NodeSpan, Placement, PlacementList};
pub use promise::{BrokenPromiseCause, PromiseOutcome, PromiseSelection};
pub use request::{
    AlterRequest, JobAction, JobBatch, JobOtherwise, JobRequest, JobSignal, JobsActionRequest,
    JobsActionResult, ResubmitRequest,
};
pub use service::{
    AccountEntry, CalibrationBin, CalibrationByBatches, CalibrationFigures, CalibrationReport,
    ErrorResponse, LedgerReport, RiskCount, ServiceMarket, ServiceObjectives, ServiceStatus,
    ShadowStatus,
};
pub use signal::{SignalRequest, SignalResult};
pub use state::JobState;
pub use step::{StepDetails, StepEnd, StepList, StepRef, StepStart};
pub use wait_reason::{WaitMessage, WaitReason};
pub use what_if::{PolicyRisk, RiskFigures, WhatIfReport, WhatIfState, WindowObjectives};
pub use word::{WireVocabulary, WireWord};
