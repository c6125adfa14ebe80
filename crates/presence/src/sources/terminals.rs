//! Input at terminals. The kernel reports each read of a terminal, which is what its user has typed. Output is no use.
//! It reports none of terminals that this process may not read, those of other users. Their times of access are
//! read instead, which are up to eight seconds late.
//!
//! A terminal that a task has opened is no use either: its master is held by a process of the task. A terminal
//! in a detached multiplexer has no input.

mod owner;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::WatchFlags;

use self::owner::TerminalOwner;
use super::file_events::FileEvents;
use super::{LOOK_INTERVAL, ObservedSource};
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

/// How often, and at what interval, the owner of a new terminal is looked for if nothing is typed there.
const N_SEARCHES: u32 = 10;
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct TerminalSource {
    /// The directory of device files.
    dev: PathBuf,
    watched: Result<WatchedTerminals, io::Error>,
    /// When the times of access are due.
    next_look: Option<Duration>,
    /// When the owners of new terminals are due.
    next_search: Option<Duration>,
}

struct WatchedTerminals {
    events: FileEvents,
    /// The watch of the directory of pseudo-terminals.
    directory: i32,
    /// The terminals by their watches.
    terminals: BTreeMap<i32, PathBuf>,
    /// The terminals that may not be watched, with their times of access.
    unwatched: BTreeMap<PathBuf, i64>,
    /// The watched terminals whose owner was not found, by their watches.
    unowned: BTreeMap<i32, UnownedTerminal>,
}

struct UnownedTerminal {
    number: u32,
    n_searches: u32,
}

impl TerminalSource {
    pub(crate) fn new(root: &Path) -> Self {
        let dev = root.join("dev");
        Self {
            watched: WatchedTerminals::open(&dev),
            dev,
            next_look: Some(Duration::ZERO),
            next_search: None,
        }
    }
}

impl ObservedSource for TerminalSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Terminals
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let watched = self.watched.iter();
        watched.map(|watched| watched.events.as_fd()).collect()
    }

    fn next_look(&self) -> Option<Duration> {
        self.next_look.into_iter().chain(self.next_search).min()
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        let Ok(watched) = &mut self.watched else {
            self.next_look = None;
            return Vec::new();
        };
        let mut last = None;
        match self.next_look {
            Some(Duration::ZERO) => last = watched.last_access(now),
            Some(at) if at <= now.boot => last = watched.was_accessed().then_some(now.boot),
            Some(_) | None => {}
        }
        let pts = self.dev.join("pts");
        if watched.has_input(&pts) {
            last = Some(now.boot);
        }
        if self.next_search.is_some_and(|at| at <= now.boot) {
            self.next_search = None;
            if watched.find_owners(&pts) {
                last = Some(now.boot);
            }
        }
        if self.next_search.is_none() && !watched.unowned.is_empty() {
            self.next_search = Some(now.boot + SEARCH_INTERVAL);
        }
        let is_waiting = self.next_look.is_some_and(|at| at > now.boot);
        if !is_waiting {
            let interval = (!watched.unwatched.is_empty()).then_some(LOOK_INTERVAL);
            self.next_look = interval.map(|interval| now.boot + interval);
        }
        let activity = |at| PresenceObservation::Activity(PresenceSource::Terminals, at);
        last.map(activity).into_iter().collect()
    }

    fn problem(&self) -> Option<String> {
        let error = self.watched.as_ref().err()?;
        Some(format!("{}: {error}", self.dev.join("pts").display()))
    }
}

impl WatchedTerminals {
    fn open(dev: &Path) -> io::Result<Self> {
        let events = FileEvents::new()?;
        let pts = dev.join("pts");
        let directory = events.watch(&pts, WatchFlags::CREATE)?;
        let mut watched = Self {
            events,
            directory,
            terminals: BTreeMap::new(),
            unwatched: BTreeMap::new(),
            unowned: BTreeMap::new(),
        };
        let masters = owner::masters(&pts);
        for number in names(&pts).filter_map(|name| name.parse().ok()) {
            if masters.owner(number) != TerminalOwner::Task {
                watched.add(pts.join(number.to_string()));
            }
        }
        let consoles = names(dev).filter(|name| is_console(name));
        for name in consoles {
            watched.add(dev.join(name));
        }
        Ok(watched)
    }

    /// Watches a terminal, unless it is gone. Returns the number of the watch; None if there is none.
    fn add(&mut self, path: PathBuf) -> Option<i32> {
        match self.events.watch(&path, WatchFlags::ACCESS) {
            Ok(watch) => {
                self.terminals.insert(watch, path);
                Some(watch)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => {
                let at = access_time(&path).unwrap_or_default();
                self.unwatched.insert(path, at);
                None
            }
        }
    }

    /// Watches a terminal that was opened just now, unless it is that of a task. Returns whether a person has opened it.
    fn add_new(&mut self, pts: &Path, number: u32) -> bool {
        let owner = owner::owner(pts, number);
        if owner == TerminalOwner::Task {
            return false;
        }
        let path = pts.join(number.to_string());
        let watch = self.add(path.clone());
        if owner == TerminalOwner::Person {
            return true;
        }
        if let Some(watch) = watch {
            // No input is possible before a process holds the master.
            let unowned = UnownedTerminal {
                number,
                n_searches: 0,
            };
            self.unowned.insert(watch, unowned);
        }
        // Processes of other users hold the masters of terminals that may not be watched.
        self.unwatched.contains_key(&path)
    }

    /// Looks for the owner of each new terminal without one. Returns whether one is a person.
    fn find_owners(&mut self, pts: &Path) -> bool {
        let watches: Vec<i32> = self.unowned.keys().copied().collect();
        let found = watches.into_iter().filter(|watch| {
            let owner = self.find_owner(pts, *watch);
            owner == Some(TerminalOwner::Person)
        });
        found.count() > 0
    }

    /// Looks for the owner of a new terminal, and ends the watch of that of a task. None if the terminal has an owner, or
    /// was looked for often enough.
    fn find_owner(&mut self, pts: &Path, watch: i32) -> Option<TerminalOwner> {
        let unowned = self.unowned.get_mut(&watch)?;
        let owner = owner::owner(pts, unowned.number);
        unowned.n_searches += 1;
        let is_last = unowned.n_searches >= N_SEARCHES;
        if owner != TerminalOwner::Unknown || is_last {
            self.unowned.remove(&watch);
        }
        if owner == TerminalOwner::Task {
            self.terminals.remove(&watch);
            self.events.end_watch(watch);
        }
        Some(owner)
    }

    /// Returns the last time at which any terminal was read.
    fn last_access(&self, now: BothClocks) -> Option<Duration> {
        let paths = self.terminals.values().chain(self.unwatched.keys());
        let last = paths.filter_map(|path| access_time(path)).max()?;
        let last = Duration::from_secs(u64::try_from(last).ok()?);
        Some(now.boot_of(last))
    }

    /// Returns whether a terminal that is not watched was read since the last call.
    fn was_accessed(&mut self) -> bool {
        let mut was_accessed = false;
        self.unwatched.retain(|path, last| match access_time(path) {
            Some(at) => {
                was_accessed |= at > *last;
                *last = at;
                true
            }
            None => false,
        });
        was_accessed
    }

    /// Takes the new events. Returns whether a person has typed, or has opened a terminal.
    fn has_input(&mut self, pts: &Path) -> bool {
        let mut has_input = false;
        for event in self.events.take() {
            if event.watch == self.directory {
                let number = event.name.and_then(|name| name.parse().ok());
                has_input |= number.is_some_and(|number| self.add_new(pts, number));
            } else if event.is_end {
                self.terminals.remove(&event.watch);
                self.unowned.remove(&event.watch);
            } else if self.terminals.contains_key(&event.watch) {
                has_input |= self.find_owner(pts, event.watch) != Some(TerminalOwner::Task);
            }
        }
        has_input
    }
}

/// Returns the time of the last access in seconds since 1970, as the kernel keeps it: to within eight seconds. None if
/// the file is gone.
fn access_time(path: &Path) -> Option<i64> {
    fs::metadata(path).ok().map(|file| file.atime())
}

fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Returns whether a device file is that of a virtual console: `tty1`, but not `tty0`, which is the present one.
fn is_console(name: &str) -> bool {
    let number = name
        .strip_prefix("tty")
        .and_then(|number| number.parse().ok());
    number.is_some_and(|number: u32| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consoles_are_numbered_from_one() {
        let names = ["tty", "tty0", "tty1", "tty63", "ttyS0", "pts"];
        assert_eq!(
            names.map(is_console),
            [false, false, true, true, false, false]
        );
    }
}
