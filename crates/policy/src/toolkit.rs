//! The tools that policies are built from.
//!
//! | tool | contents |
//! |---|---|
//! | [`CapacityProfile`] | free processors over time, by the estimates: holes and reservations |
//! | [`HeadReservation`] | the one reservation of EASY backfilling, and the window beside it |
//! | [`BlockedList`] | an ordered sequence that scans skip block by block |
//! | [`fits_machine`], [`take_first`] | checks of a job against the machine, and the best few of many nodes |
//! | [`price`] | fixed prices, and the test against the budget |
//! | [`Waitlist`], [`HeadOfLine`] | the jobs that wait although nodes are shared |

mod blocked_list;
mod capacity_profile;
mod head_reservation;
mod node_fit;
pub mod price;
mod waitlist;

pub use blocked_list::{BlockCursor, BlockEntry, BlockedList};
pub use capacity_profile::CapacityProfile;
pub use head_reservation::{BackfillWindow, HeadReservation};
pub use node_fit::{TieOrder, fits_machine, take_first};
pub use waitlist::{HeadOfLine, Waitlist, can_never_start, remaining_spec};
