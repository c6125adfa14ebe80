//! Agents of sites: the processes that agree without a central coordinator on which pilot moves
//! (Walker 2009, §III).
//!
//! The agent of a site looks at the site's queue, measures its value from what its pilots really
//! waited, and takes part in the protocol of `tollgate-federation`. The queue follows the number of
//! pilots that the agents have agreed on: a pilot that ended is submitted again, one that was given
//! away is cancelled if it waits. No pilot that runs is cancelled for a move.
//!
//! | module | contents |
//! |---|---|
//! | [`membership`](AgentMembership) | the list of sites, and the rules that they share |
//! | [`agent`](SiteAgent) | the agent of a site, without clock, network and engine |
//! | [`meter`](SiteMeter) | the value of a site |
//! | [`queue`](PilotQueue) | the pilots of a site |
//! | [`journal`](AgentJournal) | the state of a site on disk |
//! | [`frame`](AgentFrame) | frames between agents |
//! | `link` | connections between agents |
//! | `tls` | the keys of connections |
//! | [`run`](AgentDirectory), `agent_input`, `engine_thread`, `agent_clock` | the process of an agent, its inputs, its engine and its clock |
//! | [`operator`](AgentOperator) | the user's side: asks agents, sends lists, ends agents |
//! | [`status`](AgentStatus) | the state of an agent, for people |
//! | [`error`](AgentError) | errors |

mod agent;
mod agent_clock;
mod agent_input;
mod engine_thread;
mod error;
mod frame;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod journal;
mod link;
mod membership;
mod meter;
mod operator;
mod queue;
mod run;
mod status;
mod tls;

pub use agent::{AgentNames, OutgoingMessage, SiteAgent};
pub use error::AgentError;
pub use frame::{AgentAnswer, AgentFrame};
pub use journal::{
    AgentJournal, AgentJournalEntry, JournalFault, ReadJournal, RecordLog, encode, read_journal,
    snapshot,
};
pub use membership::{AgentMembership, DroppedSite, MEMBERS_FILE, MemberSite};
pub use meter::{CLOSED_VALUE, MeasuredValue, PilotKind, SiteMeter};
pub use operator::AgentOperator;
pub use queue::{PilotQueue, QueueView, StartedPilot};
pub use run::{AgentDirectory, key_files};
pub use status::{AgentStatus, SiteMove};
