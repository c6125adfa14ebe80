//! The admission loop as a state machine without I/O: inputs in, effects out.
//!
//! # Examples
//! A quote on four nodes changes nothing. [`Simulation`] has an example of jobs that run.
//! ```
//! use tollgate_gate::{AdmissionDecision, Gate, GateInput, ProbeScratch, WorkerId};
//! use tollgate_model::{Instant, JobSpec, Market, Reason, Sla, Span, UserId};
//! use tollgate_policies::builtin_registry;
//!
//! let policy = builtin_registry().named("edf-bf").expect("a registered policy");
//! let mut gate = Gate::new(policy.build(Market::None), Market::None);
//! let nodes = GateInput::WorkerUp { worker: WorkerId(0), incarnation: 1, nodes: 4, memory: None, terms: Default::default(), in_use: None };
//! gate.handle(Instant::ZERO, nodes, &mut Vec::new()).expect("a new worker");
//!
//! let job = |procs| JobSpec {
//!     submit: Instant::ZERO,
//!     estimate: Span::from_secs(60),
//!     procs,
//!     memory: 0,
//!     needs: Default::default(),
//!     restarts: 0,
//!     user: UserId(0),
//!     sla: Sla::default(),
//! };
//! let quote = |procs| gate.quote(Instant::ZERO, &job(procs), None, &mut ProbeScratch::default());
//! assert!(matches!(quote(4), AdmissionDecision::Queue));
//! assert!(matches!(quote(5), AdmissionDecision::Reject(Reason::TooManyProcs)));
//! ```
//!
//! # Calls and modules
//! | call | purpose |
//! |---|---|
//! | [`Gate::handle`] | handles an input: an external event |
//! | [`Gate::run_pass`] | runs one scheduling pass, once all inputs of an instant are handled |
//! | [`Gate::next_wake`] | time of the next call without other inputs |
//! | [`Gate::quote`] | the decision that a job would get; changes nothing |
//! | [`Gate::view`], [`Gate::check`] | inspection |
//! | [`Gate::save`], [`Gate::restore`] | storage |
//! | [`LookAhead`] | predicted trajectory of a job |
//! | [`Simulation`] | a gate in simulated time, with given run times |
//!
//! | module | contents |
//! |---|---|
//! | `gate` | the state machine: admission, passes, ends, evictions |
//! | `input` | inputs, their answers and errors |
//! | `workers` | the workers that registered, with their nodes |
//! | `ledger` | the amounts that are booked when a job ends or is lost |
//! | `snapshot` | the state of a gate for storage |
//! | `simulation` | a gate in simulated time: the ends of jobs and tasks, in order |
//! | `prediction` | the predicted start and end of a job |
//! | `promise_correction` | stated probabilities, corrected by the outcomes of earlier promises |
//! | `look_ahead` | the future of one job, on a [`Simulation`] or on the job's nodes alone |
//!
//! No input reports the start of a job's processes or their usage while they run. The gate counts
//! from its own [`Effect::Start`], and the difference is milliseconds. Processor time, the only
//! usage that could be reported, is not work: a job that waits for a disk does not become longer by
//! it. The gate notices the accuracy of an estimate when the estimate is used up.
//!
//! The order within an instant is: ends, then [`GateInput::Tick`] (which every other input
//! implies), then submissions, then one [`Gate::run_pass`]. Under [`PassTrigger::Event`] submissions
//! come first and a pass follows each input. Effects are values: a simulated world and a live
//! service carry out the very same ones.

mod gate;
mod input;
mod ledger;
mod look_ahead;
mod prediction;
mod promise_correction;
mod simulation;
mod snapshot;
mod workers;

pub use gate::Gate;
pub use input::{GateInput, InputAck, InputError, OnEviction, WorkerId};
pub use look_ahead::{JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
pub use prediction::{JobPrediction, quotable};
pub use promise_correction::{PromiseCorrection, PromiseCorrections};
pub use simulation::{RunTimes, Simulation};
pub use snapshot::GateSnapshot;
pub use tollgate_policy::{
    AdmissionDecision, BookingKind, Effect, InvariantViolation, JobEnding, Notice, PassTrigger,
    ProbeScratch,
};
pub use workers::WorkerIncarnation;
