//! The messages of sessions that start and end.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;

use tollgate_session::{SessionContext, SessionEvent};

use crate::connection::reconnect::{self, ClientPurpose};
use crate::exit::CliFailure;
use crate::operate::serve::current_program;
use crate::output::format;
use crate::output::messages::{Verbosity, pluralise};

/// Prints what happens at a session, which goes on if standard output cannot be written.
pub(super) struct SessionPrinter {
    program: PathBuf,
    /// The first error of standard output.
    failure: RefCell<Option<io::Error>>,
}

impl SessionPrinter {
    pub(super) fn new() -> Result<Self, CliFailure> {
        Ok(Self {
            program: PathBuf::from(current_program()?),
            failure: RefCell::new(None),
        })
    }

    /// Calls `act`, and prints what happens meanwhile.
    pub(super) fn watch<T, E: Into<CliFailure>>(
        &self,
        act: impl FnOnce(&SessionContext<'_>) -> Result<T, E>,
    ) -> Result<T, CliFailure> {
        let context = SessionContext {
            program: &self.program,
            reconnect: reconnect::policy(None, ClientPurpose::Answer),
            report: &|event| {
                if let Err(error) = print(event) {
                    self.failure.borrow_mut().get_or_insert(error);
                }
            },
        };
        let done = act(&context).map_err(E::into)?;
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(done),
        }
    }
}

fn print(event: SessionEvent) -> io::Result<()> {
    let mut out = io::stdout();
    match event {
        SessionEvent::JobsCancelled(count) => {
            return writeln!(out, "{} cancelled", pluralise(count, "job"));
        }
        SessionEvent::SiteEnded(site) => return writeln!(out, "site {site}: no pilot is left"),
        SessionEvent::Ended { session, took } => {
            let took = format::format_span(took.as_secs_f64());
            return writeln!(out, "session {session} ended, in {took}");
        }
        SessionEvent::ProcessMessage(line) => Verbosity::Notes.note(line),
        SessionEvent::AgentStarted { site, pilots } => {
            let pilots = pluralise(pilots as usize, "pilot");
            Verbosity::Notes.note(format_args!("site {site}: begins with {pilots}"));
        }
        SessionEvent::AgentMissing {
            site,
            address,
            dir,
            socket,
        } => Verbosity::Notes.note(format_args!(
            "site {site}: no agent answers at {address}: copy {} to that host as /DIR, and run\n  \
             ssh -R /DIR/socket:{} HOST tollgate site agent /DIR --data /DIR",
            dir.display(),
            socket.display(),
        )),
        SessionEvent::MembersNotSent { site, error } => Verbosity::Notes.note(format_args!(
            "site {site}: it learns of the change from `tollgate session attach`: {error}"
        )),
        SessionEvent::JobsUnknown(error) => Verbosity::Notes.note(error),
        SessionEvent::RemainingPilots(left) => {
            Verbosity::Notes.note(format_args!("pilots that may be left: {left}"));
        }
    }
    Ok(())
}
