//! The memory that a task needs, measured by samples.
//!
//! The kernel's own peak of a control group contains the page cache of the files that the task read and
//! wrote, which the kernel reclaims when memory is short. A user who sets `--mem` needs the rest: anonymous
//! and shared memory, of which the kernel keeps no peak.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::group::SlotCgroup;

/// The time from the start to the first sample. The interval doubles up to [`MAX_INTERVAL`], so that a short
/// task is sampled, and a long one once a second.
const FIRST_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum interval between two samples.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// The greatest memory of a control group at any sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledMemory {
    /// Bytes; None if no group could be read.
    peak: Option<u64>,
    /// Whether a sample was taken before the first process ended.
    is_of_running: bool,
}

impl SampledMemory {
    /// Samples a group until a process has ended, and once more then: its children may go on.
    pub(crate) fn until_end(process: &OwnedFd, group: &SlotCgroup) -> Self {
        let mut sampled = Self::default();
        let mut interval = FIRST_INTERVAL;
        loop {
            let mut watched = [PollFd::new(process, PollFlags::IN)];
            let timeout = Timespec {
                tv_sec: interval.as_secs().cast_signed(),
                tv_nsec: interval.subsec_nanos().into(),
            };
            let ended = match poll(&mut watched, Some(&timeout)) {
                Ok(0) => false,
                Ok(_) => true,
                Err(Errno::INTR) => continue,
                // The process is waited for in another way.
                Err(_) => true,
            };
            sampled.add(group.needed_memory(), !ended);
            if ended {
                return sampled;
            }
            interval = (interval * 2).min(MAX_INTERVAL);
        }
    }

    fn add(&mut self, now: Option<u64>, is_running: bool) {
        self.peak = self.peak.max(now);
        self.is_of_running |= is_running && now.is_some();
    }

    /// Returns the peak in bytes; None if nothing is known.
    ///
    /// `largest` is the peak of the task's largest process, which may lie between two samples. The kernel counts
    /// the runner's memory in it, since the first process shares it until its program starts. So `largest` says
    /// something only beyond `of_runner`, the runner's own peak. `of_kernel` is the kernel's peak with the page
    /// cache, which no part exceeds. A task that ended before its first sample and needed less than the runner
    /// is known by that alone.
    pub(crate) fn peak(
        self,
        largest: Option<u64>,
        of_runner: Option<u64>,
        of_kernel: Option<u64>,
    ) -> Option<u64> {
        let own = largest.filter(|bytes| Some(*bytes) > of_runner);
        let sampled = self.peak.filter(|_| self.is_of_running || own.is_some());
        match sampled.max(own) {
            Some(known) => Some(of_kernel.map_or(known, |kernel| known.min(kernel))),
            None => of_kernel.filter(|kernel| Some(*kernel) <= of_runner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_is_the_greatest_of_samples_and_largest_process_within_the_kernels_peak() {
        let mut sampled = SampledMemory::default();
        assert_eq!(sampled.peak(None, None, Some(9)), None);
        assert_eq!(sampled.peak(Some(5), None, None), Some(5));
        for bytes in [Some(3), Some(7), None, Some(4)] {
            sampled.add(bytes, true);
        }
        assert_eq!(sampled.peak(None, None, None), Some(7));
        assert_eq!(sampled.peak(Some(8), None, Some(400)), Some(8));
        assert_eq!(sampled.peak(Some(8), None, Some(6)), Some(6));
    }

    #[test]
    fn peak_of_a_task_that_no_sample_saw_is_the_kernels_or_unknown_and_never_the_runners() {
        let mut sampled = SampledMemory::default();
        sampled.add(Some(1), false);
        assert_eq!(sampled.peak(Some(17), Some(17), None), None);
        assert_eq!(sampled.peak(Some(17), Some(17), Some(9)), Some(9));
        // With page cache it may be anything up to the runner's.
        assert_eq!(sampled.peak(Some(17), Some(17), Some(40)), None);
        assert_eq!(sampled.peak(Some(18), Some(17), Some(40)), Some(18));
    }

    #[test]
    fn peak_leaves_out_the_runners_memory() {
        let mut sampled = SampledMemory::default();
        sampled.add(Some(5), true);
        assert_eq!(sampled.peak(Some(17), Some(17), None), Some(5));
        assert_eq!(sampled.peak(Some(18), Some(17), None), Some(18));
    }
}
