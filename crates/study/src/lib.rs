//! Experiments as files: plans, runs, results, risk analysis, and the claims that they check.
#![allow(missing_docs)]
pub mod builtin;
mod check;
pub mod claim;
pub mod columns;
pub mod experiment;
pub mod fingerprint;
pub mod measure;
mod nearest;
pub mod parse;
mod place;
pub mod plan;
pub mod results;
pub mod run;
pub mod setting;
pub mod source;
pub mod words;
