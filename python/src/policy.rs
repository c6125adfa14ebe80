//! Policies that are written in Python.
//!
//! | module | contents |
//! |---|---|
//! | [`prototype`] | the object of the user, from which each run gets a policy of its own |
//! | [`decider`] | the policy of a run, which asks Python and checks the answers |
//! | [`keyed_queue`] | a queue in the order of keys, for policies with `key` |
//! | [`answers`] | what Python may answer |
//! | [`jobs`] | jobs as Python sees them |
//! | [`view`] | the machine as Python sees it during a call |

mod answers;
mod decider;
mod jobs;
mod keyed_queue;
mod prototype;
mod view;

pub(crate) use jobs::{Job, JobList, RecordNames};
pub(crate) use prototype::{PolicyPrototype, is_policy, run_with};
pub(crate) use view::PolicyView;
