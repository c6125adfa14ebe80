//! The use of this computer by people, beside which no task of others may run.
//!
//! *Sources* observe the computer: terminals, log-in sessions, input devices and more. The machine in [`state`] turns their
//! observations into one state. It is pure: time is an argument. [`PresenceMonitor`] owns the thread that waits for
//! the sources and calls back at each change. A source waits for events of the kernel where there are some,
//! and else looks every five seconds.
//!
//! | module | contents |
//! |---|---|
//! | [`state`] | [`PresenceMachine`]: observations in, free or in use out |
//! | `settings` | [`PresenceSettings`], [`PresenceSource`] |
//! | `hours` | [`DesktopHours`]: the hours of the week in which tasks may run |
//! | `monitor` | [`PresenceMonitor`], and what it reports: [`Presence`] |
//! | `sources` | one file for each source |
//! | `clock` | the two clocks: one that cannot be set, and that of the wall |
//! | `error` | [`PresenceError`] |

mod clock;
mod error;
mod hours;
mod monitor;
mod settings;
mod sources;
pub mod state;

pub use error::PresenceError;
pub use hours::{DesktopHours, DesktopHoursError};
pub use monitor::{Presence, PresenceMonitor, PresenceState, SourceStatus};
pub use settings::{PresenceSettings, PresenceSource, SessionRule};
pub use state::PresenceMachine;
