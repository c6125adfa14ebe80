//! Input at terminals. The kernel reports each read of a terminal, which is what its user has typed. Output is no use.
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

use super::ObservedSource;
use super::file_events::FileEvents;
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

pub(crate) struct TerminalSource {
    /// The directory of device files.
    dev: PathBuf,
    watched: Result<WatchedTerminals, io::Error>,
    is_first_look: bool,
}

struct WatchedTerminals {
    events: FileEvents,
    /// The watch of the directory of pseudo-terminals.
    directory: i32,
    /// The terminals by their watches.
    terminals: BTreeMap<i32, PathBuf>,
}

impl TerminalSource {
    pub(crate) fn new(root: &Path) -> Self {
        let dev = root.join("dev");
        Self {
            watched: WatchedTerminals::open(&dev),
            dev,
            is_first_look: true,
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
        self.is_first_look.then_some(Duration::ZERO)
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        let is_first = std::mem::take(&mut self.is_first_look);
        let Ok(watched) = &mut self.watched else {
            return Vec::new();
        };
        let mut last = is_first.then(|| watched.last_access(now)).flatten();
        if watched.has_input(&self.dev) {
            last = Some(now.boot);
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
        if let Ok(watch) = self.events.watch(&path, WatchFlags::ACCESS) {
            self.terminals.insert(watch, path);
        }
    }

    /// Returns the last time at which any terminal was read. The kernel keeps it to within eight seconds.
    fn last_access(&self, now: BothClocks) -> Option<Duration> {
        let files = self.terminals.values();
        let times = files.filter_map(|path| {
            let seconds = fs::metadata(path).ok()?.atime();
            u64::try_from(seconds).ok()
        });
        times.max().map(|at| now.boot_of(Duration::from_secs(at)))
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
