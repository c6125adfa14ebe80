//! Readers for HTCondor's records of jobs.
//!
//! | module | input |
//! |---|---|
//! | [`history`] | job ads: `condor_history -l`, the history file itself |
//! | [`json`] | the same ads as `condor_history -json` prints them |
//! | [`events`] | job event logs (user logs), with every eviction and suspension |

pub mod events;
pub mod history;
mod job_ad;
pub mod json;
