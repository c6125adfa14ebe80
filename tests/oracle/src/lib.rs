//! Brute-force schedulers that keep the fast ones honest. For tests only: no product crate
//! depends on this one except in its tests.
//!
//! | module | what |
//! |---|---|
//! | [`job`] | [`OracleJob`] in, [`OracleOutcome`] out |
//! | [`queue`] | every space-shared policy: FCFS, EASY, conservative, EDF, backfilling, FirstReward |
//! | [`share`] | every time-shared policy: Libra, Libra+$, LibraRisk |
//! | [`tail`] | admission by the tail of distributions |
//! | [`examples`] | the worked examples, with what they expect |
//! | [`generate`] | `proptest` strategies for small adversarial cases |
//!
//! Everything is derived anew from plain lists at every event; nothing is indexed, cached or
//! carried over that could be computed again. The rules come from the admission specification
//! alone, so agreement with another implementation is evidence and not an echo.

pub mod examples;
pub mod generate;
pub mod job;
pub mod queue;
pub mod share;
pub mod tail;

pub use job::{OracleJob, OracleOutcome};
