//! The admission loop as a state machine without I/O: inputs in, effects out.
//!
//! | call | purpose |
//! |---|---|
//! | [`Gate::handle`] | handles an input: an external event |
//! | [`Gate::run_pass`] | runs one scheduling pass, once all inputs of an instant are handled |
//! | [`Gate::next_wake`] | time of the next call without other inputs |
//! | [`Gate::quote`] | the decision that a job would get; changes nothing |
//! | [`Gate::view`], [`Gate::check`] | inspection |
//! | [`Gate::save`], [`Gate::restore`] | storage |
//! | [`LookAhead`] | predicted trajectory of a job |
//! | [`next_completion()`] | the next end, for a simulated world |
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
mod next_completion;
mod simulation;
mod snapshot;
mod workers;

pub use gate::Gate;
pub use input::{GateInput, InputAck, InputError, OnEviction, WorkerId};
pub use look_ahead::{JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
pub use next_completion::next_completion;
pub use simulation::{RunTimes, Simulation};
pub use snapshot::GateSnapshot;
pub use tollgate_policy::{
    AdmissionDecision, BookingKind, Effect, InvariantViolation, JobEnding, Notice, PassTrigger,
    ProbeScratch,
};
pub use workers::WorkerIncarnation;
