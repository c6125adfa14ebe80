//! The last decision about a site that follows the work, its pauses, and the lock of the one process
//! that decides.

use std::fs::{DirBuilder, File, OpenOptions, read_to_string};
use std::io::{Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use crate::error::SiteError;
use crate::journal::file_error;
use crate::journal::has_passed;
use crate::pilot::PilotRecord;

/// The first pause of a site that does not work, and the longest; each is twice the one before.
const FIRST_PAUSE: Span = Span::from_secs(60);
const MAX_PAUSE: Span = Span::from_secs(3600);
/// A pilot that ends before this time may never be seen while it runs.
const SHORT_LIFE: Span = Span::from_secs(60);
/// The time for which the number of pilots counts at which an engine took no more. Then one more is tried.
const LEARNED_FOR: Span = Span::from_secs(3600);
/// The number of failed pilots in a row after which a site is paused.
const FAILED_IN_A_ROW: usize = 3;
/// The file of the lock, below the directory of all sites. It contains the process id of its holder.
const LOCK_FILE: &str = "keep.lock";

/// The last decision about a site that follows the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepRecord {
    /// The instant of the decision.
    pub at: Instant,
    /// The key of its reason.
    pub key: String,
    /// A sentence: the decision, and why.
    pub text: String,
    /// The end of the site's pause. None if it is not paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Instant>,
    /// The number of pauses in a row because the engine did not do what it was asked.
    #[serde(default)]
    pub refusals: u32,
    /// The number of pauses in a row because pilots failed. Until one joins, at most one waits.
    #[serde(default)]
    pub failures: u32,
    /// The number of the last pilot that a pause was about. Only later ones count.
    #[serde(default)]
    pub judged: u32,
    /// The instant since which more pilots wait than are wanted. None if they are not too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus_since: Option<Instant>,
    /// The number of pilots at which the engine last took no more. None if it never refused one for their
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedLimit>,
}

/// A number of pilots at which an engine took no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedLimit {
    /// The instant of the refusal.
    pub at: Instant,
    /// The number of pilots that waited or ran.
    pub pilots: u32,
    /// The engine's words.
    #[serde(rename = "said")]
    pub message: String,
}

/// The lock of the one process that follows the work. It is released when that process ends.
#[derive(Debug)]
pub struct KeepLock {
    _file: File,
}

impl KeepRecord {
    /// Returns a record of a site for which nothing was decided.
    pub const fn new(now: Instant) -> Self {
        Self {
            at: now,
            key: String::new(),
            text: String::new(),
            paused_until: None,
            refusals: 0,
            failures: 0,
            judged: 0,
            surplus_since: None,
            learned: None,
        }
    }

    /// Returns the learned limit, as long as it counts.
    pub fn learned(&self, now: Instant) -> Option<&LearnedLimit> {
        let learned = self.learned.as_ref();
        learned.filter(|learned| !has_passed(LEARNED_FOR, learned.at, now))
    }

    /// Returns whether the site is paused at an instant. A pause that would last longer than any is over: the clock
    /// was set back since.
    pub fn is_paused(&self, now: Instant) -> bool {
        let left = self.paused_until.map(|until| until.since(now));
        left.is_some_and(|left| left > Span::ZERO && left <= MAX_PAUSE)
    }

    /// Returns the number of the latest pilot if the last pilots to end all failed, so that the site
    /// is to be paused. Sets the number of pauses back if a pilot joined since the last one.
    pub(crate) fn judge(&mut self, pilots: &[PilotRecord]) -> Option<u32> {
        let later = || pilots.iter().filter(|pilot| pilot.number > self.judged);
        let has_joined = later().any(|pilot| pilot.has_joined);
        if has_joined {
            self.failures = 0;
        }
        let later = || pilots.iter().filter(|pilot| pilot.number > self.judged);
        let mut ended: Vec<&PilotRecord> = later().filter(|pilot| pilot.is_verdict()).collect();
        ended.sort_by_key(|pilot| (pilot.gone_at, pilot.number));
        let last = ended.rchunks(FAILED_IN_A_ROW).next()?;
        let is_hole = last.len() == FAILED_IN_A_ROW && last.iter().all(|pilot| pilot.has_failed());
        let latest = pilots.iter().map(|pilot| pilot.number).max();
        latest.filter(|_| is_hole)
    }
}

/// Returns the length of a pause: a minute, doubled with each pause in a row, at most an hour.
pub(crate) fn pause_length(pauses_before: u32) -> Span {
    let doubled = FIRST_PAUSE
        .as_micros()
        .saturating_mul(1 << pauses_before.min(10));
    Span::from_micros(doubled).min(MAX_PAUSE)
}

impl PilotRecord {
    /// Returns whether the end of the pilot says whether the site works: the engine had it, and the
    /// user did not cancel it.
    fn is_verdict(&self) -> bool {
        self.is_stuck || (self.id.is_some() && !self.is_live() && self.cancelled_at.is_none())
    }

    /// Returns whether the pilot never ran, or never joined the service.
    fn has_failed(&self) -> bool {
        let began = self.started_at.unwrap_or(self.offered_at);
        let seen = self.gone_at.unwrap_or(Instant::MAX);
        let ended = self.ends_at.map_or(seen, |at| at.min(seen));
        let was_seen = self.was_missed || ended.since(began) < SHORT_LIFE;
        self.is_stuck || (!self.has_joined && was_seen)
    }
}

impl KeepLock {
    /// Takes the lock in the directory of all sites.
    ///
    /// # Errors
    /// An error if another process has it, or the file cannot be used.
    pub fn take(state_dir: &Path) -> Result<Self, SiteError> {
        let path = state_dir.join(LOCK_FILE);
        let failed = |error| file_error(&path, "cannot be written", error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state_dir)
            .map_err(failed)?;
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(SiteError::Kept(Self::holder(state_dir)));
            }
            Err(error) => return Err(file_error(&path, "cannot be locked", error.into())),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Returns whether a process has the lock.
    pub fn is_held(state_dir: &Path) -> bool {
        let Ok(file) = File::open(state_dir.join(LOCK_FILE)) else {
            return false;
        };
        let locked = flock(&file, FlockOperation::NonBlockingLockShared);
        locked == Err(rustix::io::Errno::WOULDBLOCK)
    }

    /// Returns the process id of the last process that took the lock. None if there is no such process
    /// or it has not written its id yet.
    pub fn holder(state_dir: &Path) -> Option<u32> {
        let text = read_to_string(state_dir.join(LOCK_FILE)).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use tollgate_batch::BatchJobId;

    use super::*;
    use crate::pilot::PilotPhase;

    /// Returns a pilot that ended `life` seconds after its start.
    fn ended(number: u32, life: i64) -> PilotRecord {
        let job = "tg.a.b.1".parse().expect("a name");
        PilotRecord {
            id: Some(BatchJobId(1)),
            phase: PilotPhase::Over,
            started_at: Some(Instant::from_secs(100)),
            ends_at: Some(Instant::from_secs(100 + life)),
            gone_at: Some(Instant::from_secs(4000)),
            ..PilotRecord::offered(number, job, Instant::ZERO)
        }
    }

    fn judge(pilots: &[PilotRecord]) -> Option<u32> {
        KeepRecord::new(Instant::ZERO).judge(pilots)
    }

    #[test]
    fn three_short_pilots_in_a_row_are_a_black_hole() {
        assert_eq!(judge(&[ended(1, 3), ended(2, 59)]), None);
        assert_eq!(judge(&[ended(1, 3), ended(2, 59), ended(3, 0)]), Some(3));
        assert_eq!(judge(&[ended(1, 3), ended(2, 60), ended(3, 0)]), None);
        let all = [ended(1, 600), ended(2, 3), ended(3, 3), ended(4, 3)];
        assert_eq!(judge(&all), Some(4));
    }

    #[test]
    fn pilots_that_never_joined_have_failed_whatever_their_life() {
        let missed = |number| PilotRecord {
            was_missed: true,
            ..ended(number, 300)
        };
        assert_eq!(judge(&[missed(1), missed(2), missed(3)]), Some(3));
        assert_eq!(judge(&[missed(1), ended(2, 300), missed(3)]), None);
    }

    #[test]
    fn pilot_that_joined_or_was_cancelled_is_no_black_hole() {
        let joined = PilotRecord {
            has_joined: true,
            ..ended(2, 5)
        };
        assert_eq!(judge(&[ended(1, 3), joined, ended(3, 0)]), None);
        let cancelled = PilotRecord {
            cancelled_at: Some(Instant::from_secs(101)),
            ..ended(2, 5)
        };
        assert_eq!(judge(&[ended(1, 3), cancelled, ended(3, 0)]), None);
    }

    #[test]
    fn pilots_that_the_engine_will_not_run_count_as_failed() {
        let stuck = |number| PilotRecord {
            is_stuck: true,
            cancelled_at: Some(Instant::from_secs(101)),
            ..ended(number, 600)
        };
        assert_eq!(judge(&[stuck(1), stuck(2), stuck(3)]), Some(3));
    }

    #[test]
    fn each_pilot_is_judged_once() {
        let pilots = [ended(1, 3), ended(2, 3), ended(3, 3)];
        let mut record = KeepRecord {
            judged: 3,
            failures: 1,
            ..KeepRecord::new(Instant::ZERO)
        };
        assert_eq!((record.judge(&pilots), record.failures), (None, 1));
        let joined = PilotRecord {
            has_joined: true,
            ..ended(4, 600)
        };
        let pilots = [&pilots[..], &[joined]].concat();
        assert_eq!((record.judge(&pilots), record.failures), (None, 0));
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        let minutes = [0, 1, 2, 5, 6, 40].map(|before| pause_length(before).as_secs_f64() / 60.0);
        assert_eq!(minutes, [1.0, 2.0, 4.0, 32.0, 60.0, 60.0]);
    }

    #[test]
    fn one_process_at_a_time_holds_the_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let lock = KeepLock::take(dir.path()).expect("a free lock");
        let own = Some(std::process::id());
        assert!(matches!(KeepLock::take(dir.path()), Err(SiteError::Kept(pid)) if pid == own));
        drop(lock);
        KeepLock::take(dir.path()).expect("a free lock");
    }
}
