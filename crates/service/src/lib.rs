//! The service without its input and output: a state machine that takes commands and returns rows
//! to store, replies and actions.
//!
//! [`Core::step`] is the only way to change the state. It reads no clock, file or socket, so the
//! same commands at the same instants lead to the same state and the same replies. Recovery after a
//! crash therefore replays the stored commands, and tests can simulate the whole service.
//!
//! | module | contents |
//! |---|---|
//! | `core`, `step` | the state, and one step of it |
//! | `clock` | the clock of the service, which the host's clock cannot set back |
//! | `command`, `output` | the commands; the rows, replies and actions that a step returns |
//! | `submit`, `array`, `dependency`, `hold` | the acceptance of single, array, dependent, later and held jobs, and of quotes |
//! | `early_tasks` | tasks of arrays that are cancelled, held or released before the decision about their array |
//! | `admission`, `admission_candidate`, `counter_offer` | the decision about a submission, and the nearest one that would be accepted |
//! | `alter` | changes to jobs that wait |
//! | `grant` | exceptions from the shares of users |
//! | `promise` | the endings of promises: kept, broken, void |
//! | `prediction`, `runtime_forecast`, `runtime_estimate` | the expected starts and ends of jobs, and the forecasts behind them |
//! | `host_arrival`, `expected_hosts` | [`SiteStatement`], [`ExpectedArrival`]: hosts that are expected at sites |
//! | `expected_runs` | the same of all jobs at once |
//! | `work` | the work of attempts |
//! | `start_floor` | the minimum probability of promises that are made when jobs start |
//! | `at_risk` | promises whose chance to be kept is low |
//! | `late_start` | attempts whose program the engine has not started yet |
//! | `cut_short` | runs that the end of their host cuts short |
//! | `desktop_logins`, `desktops` | the log-ins at computers that people work at, and the order in which tasks take idle ones |
//! | `draws` | random numbers of decisions |
//! | `eviction`, `abandonment` | evicted tasks, which a rule may abandon |
//! | `launch_retry` | attempts that the site could not launch, which are tried again |
//! | `requeue` | running tasks that their user queues again |
//! | `retry_rule`, `retry` | failed tasks that are tried again, as their users want it |
//! | `run_record`, `learning` | what is learned from the ends of jobs and from records, and beliefs taken anew |
//! | `active_task`, `jobs`, `task_ranges` | the unfinished jobs, and sets of task numbers |
//! | `expected_usage`, `usage` | the memory and the busy processors of jobs, and the memory of jobs that leave it to the service |
//! | `unpredictable_terms`, `unpredictable` | the rule of the site and the treatment of jobs whose run time cannot be predicted |
//! | `unfinished` | the numbers of unfinished jobs and tasks, of all users and of each |
//! | `job_classes`, `executable` | the classes of jobs that behave alike, and their labels |
//! | `workers` | the nodes that come and go with their workers |
//! | `effects` | the effects of the gate as rows and actions |
//! | `foreign_load` | load of hosts that is not of jobs |
//! | `task_pace`, `followers`, `follower_ends` | tasks of short arrays that the engine gets ahead of time |
//! | `resources`, `resource_needs` | the names of hosts, devices and licences |
//! | `rules` | the rules under which the service decides |
//! | `takeover` | a change of rules while jobs are unfinished |
//! | `shadow` | a second policy that decides about the same jobs on paper |
//! | `query`, `wait_cause` | answers to queries, and checks of invariants |

mod abandonment;
mod active_task;
mod admission;
mod admission_candidate;
mod alter;
mod array;
mod at_risk;
mod clock;
mod command;
mod core;
mod counter_offer;
mod cut_short;
mod dependency;
mod desktop_logins;
mod desktops;
mod draws;
mod early_tasks;
mod effects;
mod eviction;
mod executable;
mod expected_hosts;
mod expected_runs;
mod expected_usage;
mod follower_ends;
mod followers;
mod foreign_load;
mod grant;
mod hold;
mod host_arrival;
mod job_classes;
mod jobs;
mod late_start;
mod launch_retry;
mod learning;
mod output;
mod prediction;
mod promise;
mod query;
mod requeue;
mod resource_needs;
mod resources;
mod retry;
mod retry_rule;
mod rules;
mod run_record;
mod runtime_estimate;
mod runtime_forecast;
mod shadow;
mod start_floor;
mod step;
mod submit;
mod takeover;
mod task_pace;
mod task_ranges;
mod unfinished;
mod unpredictable;
mod unpredictable_terms;
mod usage;
mod wait_cause;
mod work;
mod workers;

pub use crate::core::{Core, CoreSnapshot, LOCAL_WORKER};
pub use abandonment::{Abandonment, MIN_FINISHED_TASKS};
pub use active_task::ActiveTask;
pub use array::{ActiveArray, ArrayOutlook, RunningTask, TaskCounts, TaskGroup};
pub use clock::{ClockReading, ServiceClock};
pub use command::{
    ArraySpec, DependencyCondition, EarlyTasks, JobChange, JobDependency, ServiceCommand,
    Submission, SubmissionOptions,
};
pub use desktop_logins::{DesktopChoice, DesktopLogins};
pub use executable::executable;
pub use expected_usage::{AutoMemory, ExpectedUsage};
pub use host_arrival::{ExpectedArrival, HostArrival, SiteStatement};
pub use late_start::EngineWait;
pub use launch_retry::{FailedLaunches, MAX_FAILED_LAUNCHES};
pub use output::{
    AdmissionState, CommandError, CommandResult, ConfidenceThreshold, CounterOffer, EngineAction,
    EstimateSource, HostMismatch, HostUse, OfferAxis, PromiseAtRisk, PromiseRisk, RejectReason,
    ResourceShortage, RowChange, StepOutput, SubmitOutcome, TaskDropCause, TaskGroupOutcome,
    text_of_reason,
};
pub use resources::{HostNames, HostOffer, NamedResources, ResourceNames};
pub use retry_rule::{BadRetryRule, MAX_RETRIES, RetryRule};
pub use rules::{AdmissionRules, StoredRules};
pub use run_record::{OwnRun, RunRecord};
pub use runtime_forecast::RuntimeForecast;
pub use shadow::{ObjectiveSums, PolicyComparison};
pub use takeover::TakeoverObstacle;
pub use task_ranges::{BadTaskRanges, TaskRanges};
pub use tollgate_forecast::{
    BeliefBasis, ClassChange, Doubt, UnpredictableAction, UnpredictableActionError,
    UnpredictableJob, UnpredictableRule,
};
pub use tollgate_gate::JobPrediction;
pub use tollgate_grid_policies::retry::{RetryError, RetryPolicy};
pub use tollgate_grid_policies::select::{BuiltinSelectPolicy, UnknownSelectPolicy};
pub use unfinished::UnfinishedCounts;
pub use unpredictable_terms::UnpredictableTerms;
pub use wait_cause::WaitCause;
