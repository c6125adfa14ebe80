//! Brute-force schedulers that verify the fast ones. For tests only: product crates depend on this
//! crate only in their tests.
//!
//! | module | contents |
//! |---|---|
//! | [`job`] | the input [`OracleJob`] and the output [`OracleOutcome`] |
//! | [`queue`] | the space-shared policies: FCFS, EASY, conservative, EDF, SJF, FirstReward |
//! | [`share`] | the time-shared policies: Libra, Libra+$, LibraRisk |
//! | [`tail`] | admission by the tail of distributions |
//! | [`examples`] | the worked examples with their expected outcomes |
//! | [`generate`] | `proptest` strategies for small adversarial cases |
//!
//! Everything is derived anew from plain lists at every event; no result is indexed, cached or
//! carried over. The rules come from the admission specification alone, so agreement with another
//! implementation is independent evidence.

pub mod examples;
pub mod generate;
pub mod job;
pub mod queue;
pub mod share;
pub mod tail;

pub use job::{OracleJob, OracleOutcome};
