//! Pilots in the queues of batch systems: workers that run inside jobs of other schedulers.
//!
//! A site is a user's account at a batch system, with the kind of pilots that are submitted there.
//! [`SiteControl::reconcile`] makes the number of pilots that wait or run the wanted one. Each
//! pilot's name is on disk before the pilot is submitted, and an engine is asked for the name before
//! anything else is submitted. So no pilot is submitted twice and none is forgotten, whichever
//! process is killed.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`](SiteSettings), [`sites_file`](SitesFile) | `sites.toml` |
//! | [`core_speed`](CoreSpeed) | how fast a core of a site is |
//! | [`control`](SiteControl), [`pilot_counts`](PilotCounts) | what is done at one site |
//! | [`service_address`](ServiceAddress) | the service that pilots join |
//! | [`keep`](KeepRecord) | the last decision about a site that follows the work, and its pauses |
//! | [`keeper`](SiteKeeper) | rounds in which the pilots of several sites follow the work |
//! | [`work`](PilotService) | the service that pilots join, as sites need it |
//! | [`ending`](end_pilots) | the end of a site's pilots |
//! | [`pace`](QueueQueries) | when the queue is looked at |
//! | [`queue`](LiveQueue) | the queue of a site with the jobs of all users, followed |
//! | [`outlook`](SiteOutlook) | how long pilots wait, by the jobs of all users or by their own |
//! | [`usage`](SiteUsage), [`pilot_use`](PilotUse) | what the pilots of a site have used, and each of them |
//! | [`plan`](ScalePlan) | from the wanted number to submissions and cancellations |
//! | [`journal`](SiteJournal) | the pilots of a site on disk, and its log |
//! | [`shape_setting`](ShapeSetting) | the shapes of pilots, as users write them |
//! | [`pilot`](PilotRecord) | a pilot as it was last seen |
//! | [`script`](PilotScript) | the script of a pilot |
//! | [`probe`](SiteProbe), [`node_size`](NodeSize) | a job that says what works at a site, and the largest pilot there |
//! | [`array`](ArrayControl) | job arrays, found again by their names |
//! | [`shell`](EngineShell) | commands run here or over `ssh`, with a time limit |
//! | [`local_queue`] | the engine `local`: processes of this host |
//! | [`error`](SiteError) | errors |

mod array;
mod control;
mod core_speed;
mod ending;
mod error;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod journal;
mod keep;
mod keeper;
pub mod local_queue;
mod node_size;
mod outlook;
mod pace;
mod pilot;
mod pilot_counts;
mod pilot_use;
mod plan;
mod probe;
mod queue;
mod script;
mod service_address;
mod settings;
mod shape_setting;
mod shell;
mod sites_file;
mod usage;
mod work;

pub use array::{ArrayControl, ArrayError, ArrayPhase, ArrayRecord};
pub use control::{PilotWorker, PilotWorkers, ScaleOutcome, ScalePreview, SiteControl};
pub use core_speed::CoreSpeed;
pub use ending::{RemainingPilots, end_pilots};
pub use error::SiteError;
pub use journal::{LogEntry, SiteJournal, SiteState, now, replace_file};
pub use keep::{KeepLock, KeepRecord, LearnedLimit};
pub use keeper::{KeeperDecision, KeeperReport, SiteKeeper, decide, describe_changes};
pub use node_size::NodeSize;
pub use outlook::SiteOutlook;
pub use pace::QueueQueries;
pub use pilot::{PilotPhase, PilotRecord};
pub use pilot_counts::PilotCounts;
pub use pilot_use::PilotUse;
pub use plan::ScalePlan;
pub use probe::{ProbeFinding, ProbeOutcome, SiteProbe};
pub use queue::{
    AnswerPace, FollowerLock, FollowerStore, FollowerStoreError, FollowerWriter, LiveQueue,
    QueueError, QueueFinding, QueueRound, QueueRounds, QueueWatch, StoredFollower,
    parse_observations,
};
pub use script::{EXECUTION_NODE_ARG, PilotScript};
pub use service_address::{PilotBody, PilotToken, ServiceAddress, TokenIssuer};
pub use settings::{PilotForm, SiteSettings};
pub use shape_setting::{InvalidShape, ShapeSetting};
pub use sites_file::{SITES_FILE, SITES_VARIABLE, SitesFile, state_dir, user_dir};
pub use usage::{IdleParts, SiteUsage};
pub use work::{PilotService, PilotWork, for_sites};

pub use shell::{
    CONFIG_VARIABLES, ENGINE_PATH_VARIABLE, EngineConfigVariable, EngineShell, ShellError,
};
