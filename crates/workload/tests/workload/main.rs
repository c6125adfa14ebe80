//! Tests of the jobs of a run.

mod generated;
mod run;
