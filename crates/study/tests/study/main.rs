//! What an experiment does from its file to its folder of results.
//!
//! | module | behaviour |
//! |---|---|
//! | [`messages`] | one message for what is wrong with a file |
//! | [`schema`] | the published schema of a file |
//! | [`plan`] | runs that are the same are one |
//! | [`determinism`] | threads and chunks do not matter |
//! | [`resume`] | nor does being killed |
//! | [`analysis`] | risk analysis and rankings |
//! | [`ledger`] | what claims come to |

mod analysis;
mod claim_results;
mod common;
mod determinism;
mod messages;
mod plan;
mod resume;
mod schema;
