//! How well a policy did, how surely, and how it compares with others.
//!
//! | module | step | source |
//! |---|---|---|
//! | [`objectives`] | outcomes of jobs to the four objectives and the usual measures | eq. 1-4 |
//! | [`objective`] | the four objectives by name | Table I |
//!
//! The equations, tables and sections are those of Yeo & Buyya, *Integrated Risk Analysis for a
//! Commercial Computing Service in Utility Computing* (2008).
//!
//! Everything here is a pure function: the same outcomes, in the same order, give the same bytes.

pub mod objective;
pub mod objectives;

pub use objective::{Objective, Preference};
pub use objectives::Objectives;
