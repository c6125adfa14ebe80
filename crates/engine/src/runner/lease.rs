//! The lease of a runner: until when what runs may go on, as the worker has said it.
//!
//! The moment stands in a file of the folder, so that the runner's watcher and a next runner know it too;
//! and in memory that a child shares until its program replaces it, so that no program begins late.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::BootTime;

/// How often a reader looks again that found a moment half written.
const MAX_READ_ATTEMPTS: u32 = 100;

/// The end of a lease, as it is known at present. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct LeaseEnd(Arc<AtomicU64>);

impl LeaseEnd {
    /// The end of no lease: it never comes.
    pub(super) fn never() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// Returns the moment; None without a lease.
    pub(super) fn at(&self) -> Option<BootTime> {
        let micros = self.0.load(Ordering::Acquire);
        (micros != u64::MAX).then(|| BootTime::from_micros(micros))
    }

    /// Returns whether nothing may run any more. One load and one question for the time: a child may
    /// ask this that shares its runner's memory.
    pub(super) fn has_ended(&self) -> bool {
        self.at().is_some_and(|end| BootTime::now() >= end)
    }
}

/// The lease, open for renewal.
pub(super) struct RunnerLease {
    file: File,
    boot: String,
    end: LeaseEnd,
}

impl RunnerLease {
    /// Opens the lease at `path`, which goes on as an earlier runner has left it; the first one since the
    /// boot called `boot` ends after `first`.
    pub(super) fn open(path: &Path, boot: &str, first: Duration) -> io::Result<Self> {
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

    /// Lets what runs go on until `until`. If that cannot be written the lease ends when it did before.
    pub(super) fn renew(&self, until: BootTime) -> io::Result<()> {
        self.file.write_all_at(&encode(until, &self.boot), 0)?;
        self.set(until);
        Ok(())
    }

    /// Returns its end, which changes as the lease is renewed.
    pub(super) fn end(&self) -> LeaseEnd {
        self.end.clone()
    }

    fn set(&self, until: BootTime) {
        let micros = until.as_micros().min(u64::MAX - 1);
        self.end.0.store(micros, Ordering::Release);
    }
}

/// Returns when the lease in `file` ends, if it was renewed since the boot called `boot`. A lease that
/// cannot be read has ended.
pub(super) fn read(file: &File, boot: &str) -> Option<BootTime> {
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
            // Half of an old moment and half of a new one are not the same twice.
            Some(micros) if first == second && text.ends_with('\n') => {
                return (of == Some(boot)).then(|| BootTime::from_micros(micros));
            }
            Some(_) | None => std::thread::yield_now(),
        }
    }
    // What stands there is of another length, or damaged.
    (!seen.is_empty()).then(BootTime::default)
}

/// The line of a moment: its microseconds since the boot, twice, and which boot. As long as any other.
fn encode(until: BootTime, boot: &str) -> Vec<u8> {
    let micros = until.as_micros();
    format!("{micros:020} {micros:020} {boot}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn lease_of_the_same_boot_goes_on_in_the_next_runner() {
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
    fn lease_of_another_boot_begins_anew() {
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
    fn without_a_lease_no_end_comes() {
        assert!(!LeaseEnd::never().has_ended());
        assert_eq!(LeaseEnd::never().at(), None);
    }
}
