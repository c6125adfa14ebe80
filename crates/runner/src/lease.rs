//! The lease of a runner: the time until which tasks may run, as the worker has set it.
//!
//! The time is in a file of the directory, so that the runner's watcher and the next runner know it
//! too. It is also in memory that a child shares until its program replaces it, so that no program
//! starts late.

pub(crate) mod watcher;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate_engine::BootTime;

/// Maximum number of reads by a reader that finds a half-written time.
const MAX_READ_ATTEMPTS: u32 = 100;

/// The present end of a lease. Clones share one value.
#[derive(Clone, Debug)]
pub(crate) struct LeaseEnd(Arc<AtomicU64>);

impl LeaseEnd {
    /// Returns the end of an unlimited lease, which never comes.
    pub(crate) fn never() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// Returns the time of the end; None without a lease.
    pub(crate) fn at(&self) -> Option<BootTime> {
        let micros = self.0.load(Ordering::Acquire);
        (micros != u64::MAX).then(|| BootTime::from_micros(micros))
    }

    /// Returns whether no task may run any more. This is one load and one query of the clock,
    /// because a child that shares its runner's memory may call it.
    pub(crate) fn has_ended(&self) -> bool {
        self.at().is_some_and(|end| BootTime::now() >= end)
    }
}

/// The lease, open for renewal.
pub(crate) struct RunnerLease {
    file: File,
    boot: String,
    end: LeaseEnd,
}

impl RunnerLease {
    /// Opens the lease at `path`, which continues as an earlier runner left it. The first lease
    /// since the boot called `boot` ends after `first`.
    pub(crate) fn open(path: &Path, boot: &str, first: Duration) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true);
        let file = options.mode(0o600).open(path)?;
        let found = read(&file, boot);
        let lease = Self {
            file,
            boot: boot.to_owned(),
            end: LeaseEnd::never(),
        };
        match found {
            Some(until) => lease.set(until),
            None => lease.renew(BootTime::now() + first)?,
        }
        Ok(lease)
    }

    /// Renews the lease until `until`. If the file cannot be written, the end of the lease does not
    /// change.
    pub(crate) fn renew(&self, until: BootTime) -> io::Result<()> {
        self.file.write_all_at(&encode(until, &self.boot), 0)?;
        self.set(until);
        Ok(())
    }

    /// Returns the end of the lease, which changes with each renewal.
    pub(crate) fn end(&self) -> LeaseEnd {
        self.end.clone()
    }

    fn set(&self, until: BootTime) {
        let micros = until.as_micros().min(u64::MAX - 1);
        self.end.0.store(micros, Ordering::Release);
    }
}

/// Returns the end of the lease in `file`, if it was renewed since the boot called `boot`. An
/// unreadable lease has ended.
pub(crate) fn read(file: &File, boot: &str) -> Option<BootTime> {
    let mut seen = Vec::new();
    for _ in 0..MAX_READ_ATTEMPTS {
        seen = vec![0; encode(BootTime::default(), boot).len()];
        match file.read_at(&mut seen, 0) {
            Ok(0) => return None,
            Ok(length) => seen.truncate(length),
            Err(_) => return Some(BootTime::default()),
        }
        let text = String::from_utf8_lossy(&seen);
        let mut words = text.trim_end_matches('\n').split(' ');
        let (first, second, of) = (words.next(), words.next(), words.next());
        let micros = first.and_then(|word| word.parse().ok());
        match micros {
            // A mix of an old and a new time does not have two equal halves.
            Some(micros) if first == second && text.ends_with('\n') => {
                return (of == Some(boot)).then(|| BootTime::from_micros(micros));
            }
            Some(_) | None => std::thread::yield_now(),
        }
    }
    // The content has another length, or is damaged.
    (!seen.is_empty()).then(BootTime::default)
}

/// Returns the line for a time: its microseconds since the boot, twice, and the boot. All lines
/// have the same length.
fn encode(until: BootTime, boot: &str) -> Vec<u8> {
    let micros = until.as_micros();
    format!("{micros:020} {micros:020} {boot}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn lease_of_the_same_boot_continues_in_the_next_runner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lease");
        let first = RunnerLease::open(&path, "a", HOUR).unwrap();
        assert!(!first.end().has_ended());
        let until = BootTime::after_boot(Duration::from_secs(1));
        first.renew(until).unwrap();
        let next = RunnerLease::open(&path, "a", HOUR).unwrap();
        assert_eq!(next.end().at(), Some(until));
        assert_eq!(read(&next.file, "a"), Some(until));
    }

    #[test]
    fn lease_of_another_boot_starts_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lease");
        let before = RunnerLease::open(&path, "a", HOUR).unwrap();
        before.renew(BootTime::default()).unwrap();
        let lease = RunnerLease::open(&path, "b", HOUR).unwrap();
        assert!(!lease.end().has_ended());
    }

    #[test]
    fn damaged_lease_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lease");
        std::fs::write(&path, "0001 0002 a\n").unwrap();
        assert!(
            RunnerLease::open(&path, "a", HOUR)
                .unwrap()
                .end()
                .has_ended()
        );
    }

    #[test]
    fn lease_end_never_comes_without_a_lease() {
        assert!(!LeaseEnd::never().has_ended());
        assert_eq!(LeaseEnd::never().at(), None);
    }
}
