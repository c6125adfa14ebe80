//! Log-in sessions on a cluster of one's own, made of pilots at several sites (Walker 2009, §II.A).
//!
//! A session is a directory with a service, the sites of the session, and a shell on a terminal. Each of
//! the three is a process of its own, which outlives the terminal that it was started from; [`start`] and
//! [`ensure_running`] start those that are missing. The processes are commands of the program that uses
//! this crate.
//!
//! | module | contents |
//! |---|---|
//! | [`folder`](SessionFolder) | the directory of a session |
//! | [`record`](SessionRecord) | the facts of a session, on disk |
//! | `environment` | the variables of its processes |
//! | [`context`](SessionContext) | the program that acts on sessions, and the events that are reported to it |
//! | [`mod@start`] | a new session |
//! | [`processes`](ensure_running) | the processes of a session: which run, and how they start |
//! | `ending` | the end of such a process |
//! | [`holder`](hold_terminal) | the process that holds the terminal, and starts a killed keeper of pilots again |
//! | [`login`](log_in) | the process on the terminal: it runs the user's shell, and ends the session after it |
//! | [`attach`](attach_terminal) | a terminal of the user's on the shell of a session |
//! | [`job_shell`](JobShell) | a job on a terminal of the user's |
//! | [`moving`](SessionAgency) | the agents of a session whose pilots move |
//! | [`agreement`](SiteAgreement) | the states of these agents |
//! | [`write_off`](SiteWriteOff) | a site that is gone for good |
//! | [`exit`](exit_session) | the end of a session: nothing is left, at no site |
//! | [`error`](SessionError) | errors |

mod agreement;
mod attach;
mod context;
mod ending;
mod environment;
mod error;
mod exit;
mod folder;
mod holder;
mod job_shell;
mod login;
mod moving;
mod processes;
mod record;
pub mod start;
mod write_off;

pub use agreement::{
    AgentStateView, AgentView, DroppedView, MoveDirection, MoveView, SiteAgreement,
};
pub use attach::{TerminalEnd, attach_stream, attach_terminal, detach_terminals};
pub use context::{SessionContext, SessionEvent};
pub use error::SessionError;
pub use exit::{ExitOptions, UnfinishedJobs, exit_session};
pub use folder::{SESSION_VARIABLE, SessionFolder, SessionLock, own_session};
pub use holder::hold_terminal;
pub use job_shell::{JobShell, JobShellError, JobShellUser};
pub use login::{LOGIN_ARG, LoginUser, log_in};
pub use moving::{MigrationSettings, SessionAgency};
pub use processes::{HOLDER_ARG, ensure_running, holder_process, service_process};
pub use record::{InsideRecord, SessionRecord};
pub use start::{InsideSettings, SessionSettings};
pub use write_off::SiteWriteOff;
