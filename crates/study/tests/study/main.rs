//! Tests of an experiment from its file to its directory of results.
//!
//! | module | behaviour |
//! |---|---|
//! | [`messages`] | one message for the first problem of a file |
//! | [`schema`] | the published schema of a file |
//! | [`plan`] | identical runs are planned once |
//! | [`determinism`] | threads and chunks do not matter |
//! | [`resume`] | a kill does not matter either |
//! | [`analysis`] | risk analysis and rankings |
//! | [`claim_results`] | the verdicts on claims |
//! | [`weeks`] | intervals over the weeks of a record |

mod analysis;
mod claim_results;
mod common;
mod determinism;
mod messages;
mod plan;
mod resume;
mod schema;
mod weeks;
