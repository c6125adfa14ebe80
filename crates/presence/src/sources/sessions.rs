//! Log-in sessions of people: those that logind records, else those of `utmp`.

mod logind;
mod utmp;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::WatchFlags;
use tollgate_model::EvictionCause;

use super::ObservedSource;
use super::file_events::FileEvents;
use crate::clock::BothClocks;
use crate::settings::{PresenceSource, SessionRule};
use crate::state::PresenceObservation;

/// The time after which records that could not be read are tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// A session of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PersonSession {
    /// At a terminal, whose input shows the use.
    AtTerminal,
    /// With a screen, whose input devices show the use.
    Graphical,
    /// Without both, as that of a program that works over a connection.
    Unattended,
}

pub(crate) struct SessionSource {
    root: PathBuf,
    rule: SessionRule,
    input: ObservedInput,
    records: Result<WatchedRecords, io::Error>,
    /// The sessions at the last look, by their names. None before the first look.
    known: Option<BTreeMap<String, PersonSession>>,
    next_look: Option<Duration>,
}

/// The input at sessions that other sources read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObservedInput {
    pub(crate) terminals: bool,
    pub(crate) devices: bool,
}

/// The records of sessions, and the events of their changes.
struct WatchedRecords {
    kind: RecordKind,
    path: PathBuf,
    events: FileEvents,
}

#[derive(Clone, Copy)]
enum RecordKind {
    Logind,
    Utmp,
}

impl SessionSource {
    pub(crate) fn new(root: &Path, rule: SessionRule, input: ObservedInput) -> Self {
        Self {
            root: root.to_owned(),
            rule,
            input,
            records: WatchedRecords::open(root),
            known: None,
            next_look: Some(Duration::ZERO),
        }
    }

    /// Returns whether a session is a use as long as it lasts: also if no source reads its input.
    const fn is_use(&self, session: PersonSession) -> bool {
        match (self.rule, session) {
            (SessionRule::Any, _) | (SessionRule::Active, PersonSession::Unattended) => true,
            (SessionRule::Active, PersonSession::Graphical) => !self.input.devices,
            (SessionRule::Active, PersonSession::AtTerminal) => !self.input.terminals,
        }
    }
}

impl ObservedSource for SessionSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Sessions
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let records = self.records.iter();
        records.map(|records| records.events.as_fd()).collect()
    }

    fn next_look(&self) -> Option<Duration> {
        self.next_look
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        if self.records.is_err() {
            self.records = WatchedRecords::open(&self.root);
        }
        let sessions = self.records.as_ref().ok().map(WatchedRecords::read);
        self.next_look = sessions.is_none().then(|| now.boot + RETRY_INTERVAL);
        let Some(sessions) = sessions else {
            return Vec::new();
        };
        let is_used = sessions.values().any(|session| self.is_use(*session));
        let cause = is_used.then_some(EvictionCause::User);
        let mut observed = vec![PresenceObservation::Use(PresenceSource::Sessions, cause)];
        // A person has logged in, or out.
        let names = |sessions: &BTreeMap<String, PersonSession>| -> Vec<String> {
            sessions.keys().cloned().collect()
        };
        if self
            .known
            .as_ref()
            .is_some_and(|known| names(known) != names(&sessions))
        {
            observed.push(PresenceObservation::Activity(
                PresenceSource::Sessions,
                now.boot,
            ));
        }
        self.known = Some(sessions);
        observed
    }

    fn problem(&self) -> Option<String> {
        let error = self.records.as_ref().err()?;
        Some(format!("neither logind nor utmp: {error}"))
    }
}

impl WatchedRecords {
    fn open(root: &Path) -> io::Result<Self> {
        let logind = root.join("run/systemd/sessions");
        // logind replaces a file; log-in programs write into theirs.
        let replaced = WatchFlags::MOVED_TO | WatchFlags::MODIFY | WatchFlags::DELETE;
        Self::watch(RecordKind::Logind, logind, replaced).or_else(|_| {
            let utmp = root.join("run/utmp");
            Self::watch(RecordKind::Utmp, utmp, WatchFlags::MODIFY)
        })
    }

    fn watch(kind: RecordKind, path: PathBuf, changes: WatchFlags) -> io::Result<Self> {
        let events = FileEvents::new()?;
        events.watch(&path, changes)?;
        Ok(Self { kind, path, events })
    }

    /// Returns the sessions by names that no later session has.
    fn read(&self) -> BTreeMap<String, PersonSession> {
        // The events come before the records, so that no change is missed.
        self.events.take();
        match self.kind {
            RecordKind::Logind => logind::sessions(&self.path),
            RecordKind::Utmp => utmp::sessions(&std::fs::read(&self.path).unwrap_or_default()),
        }
    }
}
