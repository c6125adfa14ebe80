//! The demand of tasks for processors: the times on a processor, and of waiting for one, of their threads.
//!
//! The kernel counts both for each thread (`/proc/PID/task/TID/schedstat`: nanoseconds on a processor, nanoseconds of
//! waiting, number of time slices). A task is the sum of its threads, of which those that end are seen no more.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::Pid;
use tollgate_model::{AttemptId, Span};

/// Maximum number of attempts that are measured: a look at each reads some files of each of its threads.
pub(crate) const MAX_ATTEMPTS: usize = 64;

/// The times of a thread or of several, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTimes {
    pub(crate) ran: u64,
    pub(crate) waited: u64,
}

impl ThreadTimes {
    /// Reads the text of a `schedstat`. None of one that is cut off.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace().map(str::parse);
        let (ran, waited) = (words.next()?.ok()?, words.next()?.ok()?);
        Some(Self { ran, waited })
    }

    /// Returns the time on a processor.
    pub(crate) fn ran(self) -> Span {
        micros(self.ran)
    }

    /// Returns the time of waiting for a processor.
    pub(crate) fn waited(self) -> Span {
        micros(self.waited)
    }
}

fn micros(nanos: u64) -> Span {
    Span::from_micros(i64::try_from(nanos / 1_000).unwrap_or(i64::MAX))
}

/// The times of the attempts that were looked at.
#[derive(Debug, Default)]
pub(crate) struct DemandMeter {
    of_attempts: BTreeMap<AttemptId, AttemptTimes>,
}

#[derive(Debug, Default)]
struct AttemptTimes {
    sum: ThreadTimes,
    /// The times of the threads that were there at the last look.
    threads: BTreeMap<i32, ThreadTimes>,
}

impl DemandMeter {
    /// Forgets the attempts that do not run any more.
    pub(crate) fn retain(&mut self, runs: impl Fn(AttemptId) -> bool) {
        self.of_attempts.retain(|attempt, _| runs(*attempt));
    }

    /// Returns the times of an attempt with these processes. None if the kernel does not count them.
    pub(crate) fn look(&mut self, attempt: AttemptId, processes: &[Pid]) -> Option<ThreadTimes> {
        let threads: BTreeMap<i32, ThreadTimes> =
            processes.iter().flat_map(|pid| threads_of(*pid)).collect();
        let own = self.of_attempts.entry(attempt).or_default();
        own.add(threads);
        (!own.threads.is_empty()).then_some(own.sum)
    }
}

impl AttemptTimes {
    fn add(&mut self, threads: BTreeMap<i32, ThreadTimes>) {
        for (thread, times) in &threads {
            let before = self.threads.get(thread).copied().unwrap_or_default();
            // The number of a thread that ended may be that of another one by now.
            let is_other = times.ran < before.ran || times.waited < before.waited;
            let before = if is_other {
                ThreadTimes::default()
            } else {
                before
            };
            self.sum.ran += times.ran - before.ran;
            self.sum.waited += times.waited - before.waited;
        }
        self.threads = threads;
    }
}

fn threads_of(pid: Pid) -> Vec<(i32, ThreadTimes)> {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid()));
    let tasks = tasks.into_iter().flatten().flatten();
    let threads = tasks.filter_map(|task| {
        let number = task.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((number, ThreadTimes::parse(&text)?))
    });
    threads.collect()
}

/// The processors of this host, and the threads that run or wait for one, without the calling one. None if `/proc` does
/// not say.
pub(crate) fn processors_and_runnable() -> Option<(u32, u32)> {
    parse_stat(&fs::read_to_string("/proc/stat").ok()?)
}

fn parse_stat(stat: &str) -> Option<(u32, u32)> {
    let is_processor = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|number| number.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let processors = stat.lines().filter(is_processor).count();
    let running = stat
        .lines()
        .find_map(|line| line.strip_prefix("procs_running "))?;
    let running: u32 = running.trim().parse().ok()?;
    let processors = u32::try_from(processors).ok().filter(|&count| count > 0)?;
    Some((processors, running.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ran: u64, waited: u64) -> ThreadTimes {
        ThreadTimes { ran, waited }
    }

    #[test]
    fn figures_of_the_kernel_are_read() {
        assert_eq!(
            ThreadTimes::parse("1457836972 3561424567 415\n"),
            Some(times(1_457_836_972, 3_561_424_567))
        );
        assert_eq!(ThreadTimes::parse("12"), None);
        let stat = "cpu  9 9\ncpu0 4 4\ncpu1 5 5\nintr 1\nprocs_running 4\nprocs_blocked 0\n";
        assert_eq!(parse_stat(stat), Some((2, 3)));
        assert_eq!(parse_stat("cpu  9 9\nprocs_running 4\n"), None);
    }

    #[test]
    fn threads_that_end_or_take_a_number_again_only_add() {
        let mut attempt = AttemptTimes::default();
        attempt.add([(1, times(10, 1)), (2, times(20, 2))].into());
        attempt.add([(1, times(15, 1)), (3, times(7, 0))].into());
        assert_eq!(attempt.sum, times(42, 3));
        // Another thread with the number 3.
        attempt.add([(3, times(2, 5))].into());
        assert_eq!(attempt.sum, times(44, 8));
    }
}
