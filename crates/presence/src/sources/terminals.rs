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

use super::file_events::FileEvents;
use super::{LOOK_INTERVAL, ObservedSource};
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

pub(crate) struct TerminalSource {
    /// The directory of device files.
    dev: PathBuf,
    watched: Result<WatchedTerminals, io::Error>,
    next_look: Option<Duration>,
}

struct WatchedTerminals {
    events: FileEvents,
    /// The watch of the directory of pseudo-terminals.
    directory: i32,
    /// The terminals by their watches.
    terminals: BTreeMap<i32, PathBuf>,
    /// The terminals that may not be watched, with their times of access.
    unwatched: BTreeMap<PathBuf, i64>,
}

impl TerminalSource {
    pub(crate) fn new(root: &Path) -> Self {
        let dev = root.join("dev");
        Self {
            watched: WatchedTerminals::open(&dev),
            dev,
            next_look: Some(Duration::ZERO),
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
        self.next_look
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
        if watched.has_input(&self.dev) {
            last = Some(now.boot);
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
        };
        let masters = owner::masters(&pts);
        for number in names(&pts).filter_map(|name| name.parse().ok()) {
            if !masters.is_of_task(number) {
                watched.add(pts.join(number.to_string()));
            }
        }
        let consoles = names(dev).filter(|name| is_console(name));
        for name in consoles {
            watched.add(dev.join(name));
        }
        Ok(watched)
    }

    /// Watches a terminal, unless it is gone.
    fn add(&mut self, path: PathBuf) {
        match self.events.watch(&path, WatchFlags::ACCESS) {
            Ok(watch) => drop(self.terminals.insert(watch, path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => {
                let at = access_time(&path).unwrap_or_default();
                self.unwatched.insert(path, at);
            }
        }
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
    fn has_input(&mut self, dev: &Path) -> bool {
        let mut has_input = false;
        let pts = dev.join("pts");
        for event in self.events.take() {
            if event.watch == self.directory {
                let number: Option<u32> = event.name.and_then(|name| name.parse().ok());
                let number = number.filter(|number| !owner::is_of_task(&pts, *number));
                has_input |= number.is_some();
                if let Some(number) = number {
                    self.add(pts.join(number.to_string()));
                }
            } else if event.is_end {
                self.terminals.remove(&event.watch);
            } else {
                has_input |= self.terminals.contains_key(&event.watch);
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
