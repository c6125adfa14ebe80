//! How many pilots are wanted at each site, for how long, and when they will start.
//!
//! Pure: the keeper of sites asks with what it saw of their queues, and acts on the answer.
//!
//! | module | contents |
//! |---|---|
//! | `demand` | from the work that waits to the number of pilots at each site |
//! | `acquisition` | the policies to compare with, by name: one table |
//! | `idle_limit` | when a pilot without tasks leaves |
//! | `waits` | how long pilots wait in the queue of a site |
//! | `stagger` | time limits by which pilots do not end together |

mod acquisition;
mod demand;
mod idle_limit;
mod stagger;
mod waits;

pub use acquisition::{ACQUISITION_POLICIES, AcquisitionPolicy};
pub use demand::{
    DemandReason, PendingWork, RunningPilot, SiteDemand, SiteSupply, TaskGroup, pilot_demand,
};
pub use idle_limit::IdleLimit;
pub use stagger::StaggeredTimes;
pub use waits::{PilotWait, PilotWaits};
