//! The pilots of a site on disk, its log, and the lock that one command holds at a time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant as MonotonicInstant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tollgate_host::replace_private;
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{PilotHazard, PilotWaits};

use crate::core_speed::CoreSpeed;
use crate::error::SiteError;
use crate::keep::KeepRecord;
use crate::outlook::SiteOutlook;
use crate::pace::QueueQueries;
use crate::pilot::PilotRecord;
use crate::shape_setting::ShapeSetting;
use crate::usage::SiteUsage;

/// The file with the pilots.
const STATE_FILE: &str = "pilots.json";
/// The log, one JSON object a line.
const LOG_FILE: &str = "log";
/// The previous log.
const OLD_LOG_FILE: &str = "log.1";
/// The length in bytes from which the log starts anew.
const MAX_LOG: u64 = 1 << 20;
/// How long another command's lock is waited for, and the pause between two attempts.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// The number of pilots whose time to join counts.
const N_JOINED: usize = 9;
/// The number of waits of pilots of one kind below which those of others count, too.
const FEW_WAITS: usize = 10;
/// The number of pilots that are over and are kept, for their waits.
const KEPT_ENDED: usize = 50;

/// The directory of a site, locked by this process.
#[derive(Debug)]
pub struct SiteJournal {
    dir: PathBuf,
    /// Keeps the lock.
    _lock: File,
}

/// The pilots of a site, and the number that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteState {
    /// The wanted number of pilots.
    #[serde(rename = "wanted")]
    pub target: u32,
    /// The number of the next pilot.
    pub next_number: u32,
    /// The pilots, in the order of their numbers. Those that ended long ago are left out.
    pub pilots: Vec<PilotRecord>,
    /// The instants of the submissions of the last hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submissions: Vec<Instant>,
    /// The usage of the pilots so far.
    #[serde(default)]
    pub usage: SiteUsage,
    /// The looks at the queue so far.
    #[serde(default)]
    pub looks: QueueQueries,
    /// The speed of a core of the site, as `tollgate site check` measured it. None if it never did.
    #[serde(
        rename = "speed_mflops",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub speed: Option<CoreSpeed>,
    /// The last outlook on the queue by the jobs of all users. None if these were never looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<SiteOutlook>,
    /// The last decision of `tollgate site keep`. None without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeepRecord>,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The instant of the entry.
    pub at: Instant,
    /// A sentence: what was done, and why.
    pub text: String,
}

impl SiteState {
    /// Returns the pilot with a number.
    pub(crate) fn pilot(&mut self, number: u32) -> Option<&mut PilotRecord> {
        self.pilots.iter_mut().find(|pilot| pilot.number == number)
    }

    /// Returns how long pilots of one kind wait, as of `now`. While they are few, the latest ones of other kinds count, too.
    pub fn waits_of_kind(&self, kind: Option<ShapeSetting>, now: Instant) -> PilotWaits {
        let latest_first = || self.pilots.iter().rev();
        let own = latest_first().filter(|pilot| pilot.kind == kind);
        let own: Vec<_> = own.filter_map(|pilot| pilot.wait(now)).collect();
        let others = latest_first().filter(|pilot| pilot.kind != kind);
        let others = others.filter_map(|pilot| pilot.wait(now));
        let n_others = FEW_WAITS.saturating_sub(own.len());
        PilotWaits::new(own.into_iter().chain(others.take(n_others)))
    }

    /// Returns the time from the start of a pilot until the service has it: the median of the last pilots, and zero without
    /// any. It is measured at looks at the service, and so at most one look too long.
    pub fn joining(&self) -> Span {
        let latest_first = self.pilots.iter().rev();
        let joined =
            latest_first.filter_map(|pilot| Some(pilot.joined_at?.since(pilot.started_here()?)));
        let mut joined: Vec<Span> = joined.take(N_JOINED).collect();
        joined.sort_unstable();
        let median = joined.get(joined.len() / 2).copied();
        median.unwrap_or(Span::ZERO).max(Span::ZERO)
    }

    /// Returns how often the engine ended pilots of the site before their time, as of `now`.
    pub fn preemptions(&self, now: Instant) -> PilotHazard {
        let ran = self.pilots.iter().filter_map(|pilot| pilot.ran(now));
        PilotHazard {
            preemptions: self.pilots.iter().map(PilotRecord::preemptions).sum(),
            exposed: ran.fold(Span::ZERO, |sum, ran| sum + ran),
        }
    }

    fn forget_old(&mut self) {
        let n_ended = self.pilots.iter().filter(|pilot| !pilot.is_live()).count();
        let mut surplus = n_ended.saturating_sub(KEPT_ENDED);
        self.pilots.retain(|pilot| {
            let is_old = surplus > 0 && !pilot.is_live() && pilot.token.is_none();
            surplus -= usize::from(is_old);
            !is_old
        });
    }
}

impl SiteJournal {
    /// Opens and locks the directory of a site, and creates it if needed.
    ///
    /// # Errors
    /// An error if another command holds the lock for ten seconds, or the directory cannot be used.
    pub fn open(parent: &Path, site: &str) -> Result<Self, SiteError> {
        Self::open_within(parent, site, LOCK_TIMEOUT)
    }

    /// Opens and locks the directory of a site, and waits for another command for at most `timeout`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_within(parent: &Path, site: &str, timeout: Duration) -> Result<Self, SiteError> {
        let dir = parent.join(site);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .map_err(|error| file_error(&dir, "cannot be created", error))?;
        let path = dir.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path);
        let lock = lock.map_err(|error| file_error(&path, "cannot be opened", error))?;
        let began = MonotonicInstant::now();
        while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(file_error(&path, "cannot be locked", error.into()));
            }
            if began.elapsed() > timeout {
                return Err(SiteError::Busy(site.to_owned()));
            }
            thread::sleep(LOCK_PAUSE);
        }
        Ok(Self { dir, _lock: lock })
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the pilots. Returns the empty state if nothing was ever written.
    ///
    /// # Errors
    /// An error if the file cannot be read or is damaged.
    pub fn load(&self) -> Result<SiteState, SiteError> {
        Self::read(&self.dir)
    }

    /// Reads the pilots of the site in a directory, without its lock.
    ///
    /// # Errors
    /// An error if the file cannot be read or is damaged.
    pub fn read(dir: &Path) -> Result<SiteState, SiteError> {
        let path = dir.join(STATE_FILE);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SiteState {
                next_number: 1,
                ..SiteState::default()
            }),
            Err(error) => Err(file_error(&path, "cannot be read", error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| SiteError::Settings {
                path,
                message: error.to_string(),
            }),
        }
    }

    /// Writes the pilots. They are on disk when the call returns.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn save(&self, state: &mut SiteState) -> Result<(), SiteError> {
        state.forget_old();
        let path = self.dir.join(STATE_FILE);
        let bytes = serde_json::to_vec_pretty(state).map_err(|error| SiteError::Settings {
            path: path.clone(),
            message: error.to_string(),
        })?;
        replace_file(&path, &bytes)
    }

    /// Appends a line to the log.
    ///
    /// # Errors
    /// An error if the log cannot be written.
    pub fn log(&self, text: impl Into<String>) -> Result<(), SiteError> {
        let path = self.dir.join(LOG_FILE);
        let failed = |error| file_error(&path, "cannot be written", error);
        if fs::metadata(&path).is_ok_and(|log| log.len() > MAX_LOG) {
            fs::rename(&path, self.dir.join(OLD_LOG_FILE)).map_err(failed)?;
        }
        let entry = LogEntry {
            at: now(),
            text: text.into(),
        };
        let mut line = serde_json::to_string(&entry).map_err(|error| failed(error.into()))?;
        line.push('\n');
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path);
        log.and_then(|mut log| log.write_all(line.as_bytes()))
            .map_err(failed)
    }

    /// Returns the last lines of the log, oldest first. A line that a crash cut short is left out.
    pub fn log_tail(&self, count: usize) -> Vec<LogEntry> {
        Self::read_log(&self.dir, count)
    }

    /// Returns the last lines of the log in the directory of a site, without its lock.
    pub fn read_log(dir: &Path, count: usize) -> Vec<LogEntry> {
        let text = fs::read_to_string(dir.join(LOG_FILE)).unwrap_or_default();
        let mut entries: Vec<LogEntry> = text
            .lines()
            .rev()
            .filter_map(|line| serde_json::from_str(line).ok())
            .take(count)
            .collect();
        entries.reverse();
        entries
    }

    /// Removes the directory with all that is in it.
    ///
    /// # Errors
    /// An error if a file cannot be removed.
    pub fn remove(self) -> Result<(), SiteError> {
        fs::remove_dir_all(&self.dir)
            .map_err(|error| file_error(&self.dir, "cannot be removed", error))
    }
}

/// Returns the instant of the system's clock.
pub fn now() -> Instant {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Instant::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}

/// Returns whether a span has passed since an instant that was written down. An instant that lies in the
/// future by more than the span was written by a clock that has been set back since. Nothing waits for the
/// clock to catch up.
pub(crate) fn has_passed(span: Span, since: Instant, now: Instant) -> bool {
    let passed = now.since(since);
    passed >= span || passed <= -span
}

/// Returns the error of a file.
pub(crate) fn file_error(path: &Path, action: &'static str, error: io::Error) -> SiteError {
    SiteError::File {
        path: path.to_owned(),
        action,
        error,
    }
}

/// Puts a file, which only its user may read, in the place of another, so that a crash leaves one of
/// the two. Creates the directory if needed.
///
/// # Errors
/// An error if the file cannot be written.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), SiteError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let write = || {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        replace_private(path, bytes)
    };
    write().map_err(|error| file_error(path, "cannot be written", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pilot::PilotPhase;

    fn pilot(number: u32, phase: PilotPhase) -> PilotRecord {
        let job = format!("tg.a.b.{number}").parse().expect("a name");
        PilotRecord {
            phase,
            ..PilotRecord::offered(number, job, Instant::ZERO)
        }
    }

    #[test]
    fn span_since_an_instant_of_the_future_has_passed() {
        let passed = |since_s: i64| {
            let (since, now) = (Instant::from_secs(since_s), Instant::from_secs(1_000));
            has_passed(Span::from_secs(60), since, now)
        };
        assert_eq!([1_059, 1_000, 941].map(passed), [false; 3]);
        assert_eq!([9_000, 1_060, 940].map(passed), [true; 3]);
    }

    #[test]
    fn pilots_survive_and_old_ones_are_forgotten() {
        let dir = tempfile::tempdir().expect("a directory");
        let journal = SiteJournal::open(dir.path(), "slurm").expect("a lock");
        assert_eq!(journal.load().expect("no file").next_number, 1);
        let mut state = SiteState {
            target: 2,
            next_number: 99,
            pilots: (1..90)
                .map(|number| pilot(number, PilotPhase::Over))
                .collect(),
            ..SiteState::default()
        };
        state.pilots.insert(0, pilot(0, PilotPhase::Runs));
        journal.save(&mut state).expect("a writable directory");
        let read = journal.load().expect("a legal file");
        assert_eq!(read, state);
        let numbers: Vec<u32> = read.pilots.iter().map(|pilot| pilot.number).collect();
        assert_eq!(
            (numbers.len(), numbers[0], numbers[1]),
            (KEPT_ENDED + 1, 0, 40)
        );
    }

    #[test]
    fn time_to_join_is_the_median_of_the_last_pilots() {
        let joins = |spans: &[i64]| {
            let pilots = spans.iter().zip(1..).map(|(&span, number)| PilotRecord {
                started_at: Some(Instant::from_secs(100)),
                joined_at: Some(Instant::from_secs(100 + span)),
                ..pilot(number, PilotPhase::Runs)
            });
            let state = SiteState {
                pilots: pilots.collect(),
                ..SiteState::default()
            };
            state.joining()
        };
        assert_eq!(joins(&[]), Span::ZERO);
        assert_eq!(joins(&[3, 90, 5]), Span::from_secs(5));
        // The clock of the engine may be ahead.
        assert_eq!(joins(&[-5]), Span::ZERO);
        assert_eq!(joins(&[[600; 9], [4; 9]].concat()), Span::from_secs(4));
    }

    #[test]
    fn log_ends_with_the_last_whole_lines() {
        let dir = tempfile::tempdir().expect("a directory");
        let journal = SiteJournal::open(dir.path(), "slurm").expect("a lock");
        for text in ["one", "two", "three"] {
            journal.log(text).expect("a writable log");
        }
        let path = journal.dir().join(LOG_FILE);
        let mut log = OpenOptions::new().append(true).open(path).expect("a log");
        log.write_all(b"{\"at\":1,\"te").expect("a writable log");
        let texts: Vec<String> = journal
            .log_tail(2)
            .into_iter()
            .map(|entry| entry.text)
            .collect();
        assert_eq!(texts, ["two", "three"]);
    }
}
