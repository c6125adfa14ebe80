//! The queue's index: the facts a scan needs about each waiting job, without a lookup.

use tollgate_model::{Instant, JobId, Reason, Span};
use tollgate_policy::toolkit::{BackfillWindow, BlockEntry, CapacityProfile};
use tollgate_policy::{JobSlot, ParameterEnum};

use super::order::QueueKey;

/// The moment at which a job that cannot finish in time is dropped from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropRule {
    /// Never.
    None,
    /// When it could be started; until then a hopeless head blocks the queue.
    Start,
    /// Whenever a scan looks at the job.
    Select,
    /// Whenever a scan looks at it if its deadline has passed; when it could be started if the
    /// deadline is merely out of reach.
    Mixed,
}

impl ParameterEnum for DropRule {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("start", Self::Start),
        ("select", Self::Select),
        ("mixed", Self::Mixed),
    ];
}

/// A job in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct QueuedJob {
    key: QueueKey,
    pub(super) id: JobId,
    pub(super) procs: u32,
    pub(super) estimate: Span,
    /// The instant after which the job is dropped if it has not finished.
    due: Instant,
    /// The last instant at which the job may start and still be assumed to meet its deadline.
    latest_start: Instant,
}

/// Sizes by power of two: 1, 2, 3-4, 5-8, .., and everything above 256 processors.
const CLASSES: usize = 10;

/// The least demanding values of a block's jobs, one per criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockMinima {
    procs: u32,
    /// By size class: the shortest estimate among jobs of the class or a smaller one, in steps of
    /// 2^20 microseconds, rounded down. A single shortest estimate would exclude little: most
    /// blocks hold some short job and some narrow one.
    estimates: [u32; CLASSES],
    latest_start: Instant,
}

/// Returns the class of jobs with `procs` processors.
fn size_class(procs: u32) -> usize {
    let class = procs.next_power_of_two().trailing_zeros() as usize;
    class.min(CLASSES - 1)
}

/// Converts a span to the steps of [`BlockMinima::estimates`].
fn steps(span: Span) -> u32 {
    u32::try_from(span.as_micros() >> 20).unwrap_or(u32::MAX)
}

impl BlockEntry for QueuedJob {
    type Key = QueueKey;
    type Summary = BlockMinima;

    fn key(&self) -> QueueKey {
        self.key
    }

    fn summary(block: &[Self]) -> BlockMinima {
        BlockMinima {
            procs: least_procs(block),
            estimates: shortest_estimates(block),
            latest_start: first_latest_start(block),
        }
    }

    fn include(&self, least: &mut BlockMinima) {
        let estimate = steps(self.estimate);
        for shortest in &mut least.estimates[size_class(self.procs)..] {
            *shortest = estimate.min(*shortest);
        }
        least.procs = least.procs.min(self.procs);
        least.latest_start = least.latest_start.min(self.latest_start);
    }

    fn exclude(&self, least: &mut BlockMinima, rest: &[Self]) {
        if self.procs == least.procs {
            least.procs = least_procs(rest);
        }
        if self.latest_start == least.latest_start {
            least.latest_start = first_latest_start(rest);
        }
        if steps(self.estimate) == least.shortest(size_class(self.procs)) {
            least.estimates = shortest_estimates(rest);
        }
    }

    fn merge(least: &mut BlockMinima, more: &BlockMinima) {
        least.procs = least.procs.min(more.procs);
        least.latest_start = least.latest_start.min(more.latest_start);
        for (shortest, other) in least.estimates.iter_mut().zip(more.estimates) {
            *shortest = other.min(*shortest);
        }
    }
}

fn least_procs(block: &[QueuedJob]) -> u32 {
    let procs = block.iter().map(|job| job.procs);
    procs.min().unwrap_or(u32::MAX)
}

fn first_latest_start(block: &[QueuedJob]) -> Instant {
    let starts = block.iter().map(|job| job.latest_start);
    starts.min().unwrap_or(Instant::MAX)
}

/// Returns the shortest estimate among jobs up to each size class, in [`steps`].
fn shortest_estimates(block: &[QueuedJob]) -> [u32; CLASSES] {
    let mut shortest = [u32::MAX; CLASSES];
    for job in block {
        let of_class = &mut shortest[size_class(job.procs)];
        *of_class = steps(job.estimate).min(*of_class);
    }
    for class in 1..CLASSES {
        shortest[class] = shortest[class].min(shortest[class - 1]);
    }
    shortest
}

impl BlockMinima {
    /// Returns the shortest estimate among jobs up to a size class, in [`steps`]; never too long.
    fn shortest(&self, class: usize) -> u32 {
        self.estimates[class]
    }
}

/// A backfill window, and its limits in the units of [`BlockMinima`].
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockWindow {
    window: BackfillWindow,
    /// The size class of the largest job that fits in width.
    class: usize,
    steps: u32,
}

impl BlockWindow {
    pub(super) fn new(window: BackfillWindow) -> Self {
        Self {
            window,
            class: size_class(window.idle),
            steps: steps(window.length),
        }
    }

    /// Returns true if a waiting job fits.
    pub(super) fn fits(&self, job: &QueuedJob) -> bool {
        self.window.fits(job.procs, job.estimate)
    }

    /// Returns true if one of a block's jobs may fit.
    pub(super) fn may_fit(&self, least: &BlockMinima) -> bool {
        let short = least.shortest(self.class) <= self.steps;
        (least.procs <= self.window.idle) & (short | (least.procs <= self.window.extra))
    }
}

/// The longest run time with which a job could begin in some time, by size class.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoleWindows {
    /// In steps of [`BlockMinima::estimates`], rounded up; 0 if no job of the class could begin.
    steps: [u32; CLASSES],
}

impl HoleWindows {
    /// Windows that any job may fit.
    pub(super) const UNLIMITED: Self = Self {
        steps: [u32::MAX; CLASSES],
    };

    /// Returns the windows of the smallest jobs of each class that begin from `from` on and before
    /// `before`. They stay long enough while processors are reserved.
    pub(super) fn of(profile: &CapacityProfile, from: Instant, before: Instant) -> Self {
        let mut windows = Self {
            steps: [0; CLASSES],
        };
        for (class, window) in windows.steps.iter_mut().enumerate() {
            let procs = if class == 0 {
                1
            } else {
                (1 << (class - 1)) + 1
            };
            let longest = profile.longest(from, before, procs);
            if longest <= Span::ZERO {
                break;
            }
            *window = steps(longest).saturating_add(1);
        }
        windows
    }

    /// Returns true if one of a block's jobs may fit.
    pub(super) fn may_hold(&self, least: &BlockMinima) -> bool {
        let mut classes = least.estimates.iter().zip(&self.steps);
        classes.any(|(estimate, window)| estimate < window)
    }

    /// Returns true if a job may fit.
    pub(super) fn may_fit(&self, job: &QueuedJob) -> bool {
        steps(job.estimate) < self.steps[size_class(job.procs)]
    }
}

impl QueuedJob {
    /// Creates an entry; `least` is the shortest run time with which the job is not hopeless.
    pub(super) fn new(id: JobId, job: &JobSlot, key: QueueKey, least: Span) -> Self {
        // A promise is kept however late: only a job that was not admitted yet can be dropped.
        let droppable = job.spec.due().filter(|_| job.accepted.is_none());
        Self {
            key,
            id,
            procs: job.spec.procs,
            estimate: job.spec.estimate,
            due: droppable.unwrap_or(Instant::MAX),
            latest_start: droppable.map_or(Instant::MAX, |due| due + Span::TICK - least),
        }
    }

    /// Returns why the job is hopeless at `now`, if it is.
    fn hopeless_reason(&self, now: Instant) -> Option<Reason> {
        if self.due != Instant::MAX && now > self.due + Span::TICK {
            return Some(Reason::DeadlinePassed);
        }
        (now > self.latest_start).then_some(Reason::DeadlineUnreachable)
    }
}

impl DropRule {
    /// Returns why a job is dropped when a scan looks at it, if it is.
    pub(super) fn drop_on_scan(self, job: &QueuedJob, now: Instant) -> Option<Reason> {
        match self {
            Self::None | Self::Start => None,
            Self::Select => job.hopeless_reason(now),
            Self::Mixed => job
                .hopeless_reason(now)
                .filter(|&reason| reason == Reason::DeadlinePassed),
        }
    }

    /// Returns why a job that could be started now is dropped, if it is.
    pub(super) fn drop_at_start(self, job: &QueuedJob, now: Instant) -> Option<Reason> {
        match self {
            Self::None => None,
            Self::Start | Self::Select | Self::Mixed => job.hopeless_reason(now),
        }
    }

    /// Returns true if a job may be dropped although it could not be started.
    pub(super) fn drops_on_sight(self) -> bool {
        match self {
            Self::None | Self::Start => false,
            Self::Select | Self::Mixed => true,
        }
    }

    /// Returns true if a look may drop one of a block's jobs at `now`.
    pub(super) fn may_drop_on_scan(self, least: &BlockMinima, now: Instant) -> bool {
        match self {
            Self::None | Self::Start => false,
            Self::Select | Self::Mixed => now > least.latest_start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_job() -> impl Strategy<Value = QueuedJob> {
        (0..4u32, 1..6i64, 0..4i64).prop_map(|(width, estimate_s, latest_s)| QueuedJob {
            key: (0, 0),
            id: JobId(0),
            procs: 1 << (3 * width),
            estimate: Span::from_secs(2 * estimate_s),
            due: Instant::MAX,
            latest_start: Instant::from_secs(latest_s),
        })
    }

    proptest! {
        #[test]
        fn excluded_job_leaves_the_summary_of_the_rest(jobs in prop::collection::vec(any_job(), 2..12)) {
            let mut least = QueuedJob::summary(&jobs);
            let (job, rest) = jobs.split_first().expect("two jobs or more");
            job.exclude(&mut least, rest);
            prop_assert_eq!(least, QueuedJob::summary(rest));
        }
    }
}
