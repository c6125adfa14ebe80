//! Tests of forecasts.
//!
//! | module | behaviour |
//! |---|---|
//! | [`beliefs`] | what batches of jobs teach |
//! | [`course`] | the timing of feedback |
//! | [`joint_law`] | how long the tasks of a batch are together, over archived traces |
//! | [`mode_changes`] | planted changes of mode |
//! | [`real_beliefs`] | beliefs over archived traces |
//! | [`real_traces`] | promises over archived traces |
//! | [`safety`] | any input |
//! | [`stated`] | statements that never contradict themselves |
//! | [`statsmodels`] | models and smoothers, compared with statsmodels |
//! | [`usage`] | what jobs use of memory and of processors |
//! | [`waits`] | statements about waits |

mod archive;
mod beliefs;
mod changes;
mod course;
mod joint_law;
mod mode_changes;

mod real_beliefs;
mod real_traces;
mod safety;
mod stated;
mod statsmodels;
mod usage;
mod waits;
