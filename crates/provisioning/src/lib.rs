//! How many pilots are wanted at each site, for how long, and when they will start.
//!
//! Pure: the keeper of sites asks with what it saw of their queues, and acts on the answer.
//!
//! | module | contents |
//! |---|---|
//! | `work` | the tasks of a service that wait and run |
//! | `supply` | a site: its pilots, and the shapes in which it takes more |
//! | `shape` | the size and the time of a pilot |
//! | `demand` | from the work that waits to the pilots at each site |
//! | `expected` | the pilots that are expected, and when |
//! | `acquisition` | the policies to compare with, by name: one table |
//! | `idle_limit` | when a pilot without tasks leaves |
//! | `horizon` | the work by its deadlines, and what pilots take of it |
//! | `choice` | the shape whose pilots do the work soonest, for the fewest core-seconds |
//! | `release` | the idle pilots that are to leave |
//! | `waits` | how long pilots wait in the queue of a site |
//! | `seen_waits` | the waits of the last jobs of a queue, of all its users |
//! | `queue_outlook` | how long pilots wait by the jobs of all users: a forest of waits, or the last ones |
//! | `hold` | for how long places in a queue are held, and how early the next one is asked for |
//! | `hazard` | how often an engine ends pilots before their time |
//! | `stagger` | time limits by which pilots do not end together |

mod acquisition;
mod choice;
mod demand;
mod expected;
mod hazard;
mod hold;
mod horizon;
mod idle_limit;
mod queue_outlook;
mod release;
mod seen_waits;
mod shape;
mod stagger;
mod supply;
mod waits;
mod work;

pub use acquisition::{ACQUISITION_POLICIES, AcquisitionPolicy};
pub use choice::ShapeChoice;
pub use demand::{DemandReason, NewPilot, SiteDemand, pilot_demand};
pub use expected::PilotArrival;
pub use hazard::PilotHazard;
pub use idle_limit::IdleLimit;
pub use queue_outlook::{PilotQuestions, QueueOutlook};
pub use seen_waits::SeenWaits;
pub use shape::PilotShape;
pub use stagger::StaggeredTimes;
pub use supply::{PendingPilot, PilotIdleness, RunningPilot, ShapeSupply, SiteSupply};
pub use waits::{PilotWait, PilotWaits};
pub use work::{PendingWork, TaskGroup};
