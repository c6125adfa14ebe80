//! Tests of the worlds.
//!
//! | module | behaviour |
//! |---|---|
//! | [`oracle`] | the cluster world, compared with the brute-force oracles |
//! | [`rebid`] | the earnings of a schedule under other bids |
//! | [`long_queues`] | reservations that are left out in a long queue |
//! | [`prices`] | the constants of prices and rewards |
//! | [`tasks_in_step`] | jobs whose tasks run in step |
//! | [`preemption`] | tasks that lose work when they resume |
//! | [`speeds`] | nodes of different speeds |
//! | [`clusters`] | several clusters with gates of their own |
//! | [`campus`] | the campus world |
//! | [`federation`] | the federation world |
//! | [`sites`] | the world of sites |

mod campus;
mod clusters;
mod federation;
mod long_queues;
mod oracle;
mod preemption;
mod prices;
mod rebid;
mod sites;
mod speeds;
mod tasks_in_step;
mod unpredictable;
