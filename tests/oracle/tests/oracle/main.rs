//! Tests of the oracles.
//!
//! | module | behaviour |
//! |---|---|
//! | [`worked_examples`] | the worked examples |
//! | [`corner_rules`] | rules that no worked example covers |
//! | [`queue_safety`] | invariants of the space-shared policies |
//! | [`share_safety`] | invariants of the time-shared policies |
//! | [`easy_on_lublin`] | published figures of EASY backfilling |

mod corner_rules;
mod easy_on_lublin;
mod queue_safety;
mod share_safety;
mod traces;
mod worked_examples;
