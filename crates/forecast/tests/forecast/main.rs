//! Tests of forecasts.
//!
//! | module | behaviour |
//! |---|---|
//! | [`course`] | the timing of feedback |
//! | [`mode_changes`] | planted changes of mode |
//! | [`real_traces`] | promises over archived traces |
//! | [`safety`] | any input |
//! | [`statsmodels`] | models and smoothers, compared with statsmodels |

mod archive;
mod beliefs;
mod course;
mod mode_changes;
mod real_beliefs;
mod real_traces;
mod safety;
mod statsmodels;
