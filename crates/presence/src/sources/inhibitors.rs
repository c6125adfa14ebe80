//! Programs that ask logind to keep the screen on without input: those that show films, or slides.
//!
//! logind has a file for each in `/run/systemd/inhibit`, with a line `KEY=value` for each field.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::WatchFlags;
use tollgate_model::EvictionCause;

use super::ObservedSource;
use super::file_events::FileEvents;
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

pub(crate) struct InhibitorSource {
    directory: PathBuf,
    events: Result<FileEvents, io::Error>,
    is_first_look: bool,
}

impl InhibitorSource {
    pub(crate) fn new(root: &Path) -> Self {
        let directory = root.join("run/systemd/inhibit");
        Self {
            events: watch(&directory),
            directory,
            is_first_look: true,
        }
    }
}

impl ObservedSource for InhibitorSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Inhibitors
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.events.iter().map(FileEvents::as_fd).collect()
    }

    fn next_look(&self) -> Option<Duration> {
        self.is_first_look.then_some(Duration::ZERO)
    }

    fn look(&mut self, _: BothClocks) -> Vec<PresenceObservation> {
        self.is_first_look = false;
        if let Ok(events) = &self.events {
            events.take();
        }
        let files = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        // A name with a dot is a pipe, or a file that is being written.
        let records = files.filter(|file| {
            let is_whole = !file.file_name().to_string_lossy().contains('.');
            is_whole && file.file_type().is_ok_and(|kind| kind.is_file())
        });
        let mut texts = records.filter_map(|file| fs::read_to_string(file.path()).ok());
        let cause = texts
            .any(|text| keeps_screen_on(&text))
            .then_some(EvictionCause::User);
        vec![PresenceObservation::Use(PresenceSource::Inhibitors, cause)]
    }

    fn problem(&self) -> Option<String> {
        let error = self.events.as_ref().err()?;
        Some(format!("{}: {error}", self.directory.display()))
    }
}

fn watch(directory: &Path) -> io::Result<FileEvents> {
    let events = FileEvents::new()?;
    // logind replaces a file, and removes it at the end.
    events.watch(directory, WatchFlags::MOVED_TO | WatchFlags::DELETE)?;
    Ok(events)
}

/// Returns whether a program blocks that the computer becomes idle.
fn keeps_screen_on(record: &str) -> bool {
    let value = |key| {
        record
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap_or_default()
    };
    value("MODE=").starts_with("block") && value("WHAT=").split(':').any(|what| what == "idle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_block_of_idleness_counts() {
        let record =
            |what, mode| format!("# This is private data.\nWHAT={what}\nMODE={mode}\nUID=1000\n");
        assert!(keeps_screen_on(&record("idle", "block")));
        assert!(keeps_screen_on(&record("sleep:idle", "block")));
        assert!(!keeps_screen_on(&record("sleep:shutdown", "block")));
        assert!(keeps_screen_on(&record("idle", "block-weak")));
        assert!(!keeps_screen_on(&record("idle", "delay")));
        assert!(!keeps_screen_on(&record("handle-lid-switch", "block")));
    }
}
