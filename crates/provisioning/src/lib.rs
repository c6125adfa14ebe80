//! How many pilots are wanted at each site, for how long, and when they will start.
//!
//! Pure: the keeper of sites asks with what it saw of their queues, and acts on the answer.
//!
//! | module | contents |
//! |---|---|
//! | `demand` | from the work that waits to the number of pilots at each site |
//! | `waits` | how long pilots wait in the queue of a site |
//! | `stagger` | time limits by which pilots do not end together |

mod demand;
mod stagger;
mod waits;

pub use demand::{
    DemandReason, PendingWork, RunningPilot, SiteDemand, SiteSupply, TaskGroup, pilot_demand,
};
pub use stagger::StaggeredTimes;
pub use waits::{PilotWait, PilotWaits};
