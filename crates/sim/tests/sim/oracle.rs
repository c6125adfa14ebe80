//! Comparison of the product with the brute-force oracles: same jobs, same decisions, same
//! instants.

pub(crate) mod common;
mod queue;
mod share;
mod worked_examples;
