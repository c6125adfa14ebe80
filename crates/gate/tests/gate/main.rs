//! Tests of the gate under every policy.
//!
//! | module | behaviour |
//! |---|---|
//! | [`adversarial_driver`] | reports that come late, twice or out of order |
//! | [`arrays`] | equal jobs that wait in one slot |
//! | [`best_effort`] | jobs without a promise beside those that have one |
//! | [`expected_starts`] | when jobs are expected to start, and when they start |
//! | [`followers`] | jobs that start in the place of another one |
//! | [`hosts`] | promises where hosts close, have devices, or are wanted alone |
//! | [`limits`] | the limits of a node |
//! | [`look_ahead`] | predictions, compared with event-by-event runs |
//! | [`node_groups`] | nodes that hold equal tasks, computed once |
//! | [`plan`] | what `plan` promises, and that it keeps it |

mod adversarial_driver;
mod arrays;
mod best_effort;
mod cluster;
mod expected_starts;
mod followers;
mod hosts;
mod limits;
mod look_ahead;
mod node_groups;
mod plan;
mod plan_properties;
