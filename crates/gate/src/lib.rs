//! The loop itself as a state machine without I/O: inputs in, effects out.
//!
//! | call | class |
//! |---|---|
//! | [`Gate::handle`] | an input in: what happened outside |
//! | [`Gate::settle`] | one scheduling pass, once all inputs of an instant are in |
//! | [`Gate::next_wake`] | when to call again although nothing happens outside |
//! | [`Gate::quote`] | what a job would be told; changes nothing |
//! | [`Gate::view`], [`Gate::check`] | looking in |
//! | [`Gate::save`], [`Gate::restore`] | on its way to a file and back |
//! | [`LookAhead`] | what will become of a job |
//! | [`next_end()`] | what ends next, for a world on paper |
//!
//! There is no input for the start of a job's processes, nor for what they use while they run. The
//! gate counts from its own [`Effect::Start`]: what comes between is milliseconds. And processor
//! time, which is all that could be reported, is not work: a job that waits for a disk does not
//! become longer by it. What an estimate was worth is noticed when it is used up.
//!
//! The order of an instant is: ends, then [`GateInput::Tick`] (which every other input implies), then
//! submissions, then one [`Gate::settle`]; under [`Discipline::Event`] submissions come first and
//! a pass follows each input. Effects are values: a simulated world and a live service carry out
//! the very same ones.

mod gate;
mod input;
mod ledger;
mod look_ahead;
mod next_completion;
mod snapshot;
mod workers;

pub use gate::Gate;
pub use input::{GateInput, InputAck, InputError, OnEviction, WorkerId};
pub use look_ahead::{JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
pub use next_completion::next_completion;
pub use snapshot::GateSnapshot;
pub use tollgate_policy::{
    AdmissionDecision, BookingKind, Effect, InvariantViolation, JobEnding, Notice, PassTrigger,
    ProbeScratch,
};
pub use workers::WorkerIncarnation;
