//! The test of a job against the plan of all promises.

use tollgate_model::{Instant, Span};

use super::PlannedJob;
use super::timetable::{JobGroup, PlannedStart, RunningGroup, play};

/// The earlier places at which a job is tried that would end too late at the place of its deadline, as
/// parts of the time to the deadline.
const EARLIER_PLACES: [f64; 3] = [0.75, 0.5, 0.25];
/// Maximum number of places that are tried for a job that has no deadline.
const MAX_PLACES: u32 = 8;
/// Factor between two of them.
const LATER: f64 = 1.5;

/// The running and the promised jobs, with the run times of the plan.
#[derive(Clone, Debug)]
pub(super) struct PlanInput {
    now: Instant,
    idle: u32,
    running: Vec<RunningGroup>,
    groups: Vec<JobGroup>,
    /// By group: its place in the order; ascending.
    places: Vec<Instant>,
}

impl PlanInput {
    /// Creates the input from the promised jobs in order, each with its place.
    pub(super) fn new(
        now: Instant,
        idle: u32,
        running: Vec<RunningGroup>,
        jobs: impl Iterator<Item = (Instant, JobGroup)>,
    ) -> Self {
        let mut input = Self {
            now,
            idle,
            running,
            groups: Vec::new(),
            places: Vec::new(),
        };
        for (place, job) in jobs {
            match input.groups.last_mut() {
                Some(last) if input.places.last() == Some(&place) && last.is_like(&job) => {
                    last.count += job.count;
                }
                Some(_) | None => {
                    input.groups.push(job);
                    input.places.push(place);
                }
            }
        }
        input
    }
}

/// One job, or several that are alike, to be promised together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate(JobGroup);

impl Candidate {
    pub(super) fn new(job: PlannedJob) -> Self {
        Self::array(job, 1)
    }

    pub(super) fn array(job: PlannedJob, count: u32) -> Self {
        Self(JobGroup {
            count,
            ..job.group()
        })
    }
}

/// The plan without the candidate: the promises that it keeps, which a candidate must leave alone.
#[derive(Clone, Debug)]
pub(super) struct PromiseTest {
    input: PlanInput,
    /// By group: number of jobs that end in time.
    in_time: Vec<u32>,
}

/// The end of a candidate in the plan.
struct CandidateEnd {
    /// The end of the last of its jobs.
    last: Instant,
    in_time: u32,
}

impl PromiseTest {
    pub(super) fn new(input: PlanInput) -> Self {
        let mut in_time = vec![0; input.groups.len()];
        play(
            input.now,
            input.idle,
            &input.running,
            &input.groups,
            |start| {
                if start.end <= input.groups[start.group].due {
                    in_time[start.group] += start.count;
                }
                true
            },
        );
        Self { input, in_time }
    }

    /// Returns the place in the order at which the candidate ends in time and no promise suffers: that
    /// of its deadline, else an earlier one.
    pub(super) fn place(&self, candidate: Candidate) -> Option<Instant> {
        let Candidate(group) = candidate;
        let left = group.due.since(self.input.now);
        let part = |part: f64| self.input.now + Span::from_secs_f64(part * left.as_secs_f64());
        let earlier = EARLIER_PLACES.into_iter().map(part);
        let mut places = std::iter::once(group.due).chain(earlier);
        places.find(|&place| {
            let end = self.end_at(group, place);
            end.is_some_and(|end| end.in_time == group.count)
        })
    }

    /// Returns a place at which a candidate without a deadline would have ended, and no promise suffers.
    pub(super) fn first_place(&self, candidate: Candidate) -> Option<Instant> {
        let Candidate(group) = candidate;
        let last = self.end_at(group, Instant::MAX)?.last;
        if last == Instant::MAX {
            return None;
        }
        let mut left_s = last.since(self.input.now).as_secs_f64();
        for _ in 0..MAX_PLACES {
            let place = self.input.now + Span::ceil_secs_f64(left_s);
            let end = self.end_at(group, place);
            if end.is_some_and(|end| end.last <= place) {
                return Some(place);
            }
            left_s *= LATER;
        }
        None
    }

    /// Returns true if no promise suffers from the candidate if it starts now; it fits.
    pub(super) fn may_run(mut self, candidate: Candidate) -> bool {
        let Candidate(group) = candidate;
        self.input.idle -= group.procs * group.count;
        self.input.running.push(RunningGroup {
            end: self.input.now + group.run,
            reserved_end: self.input.now + group.reserved,
            procs: group.procs * group.count,
        });
        let mut late = self.spare_lateness();
        let PlanInput {
            now,
            idle,
            running,
            groups,
            ..
        } = &self.input;
        let mut harmless = true;
        let mut unplaced = self.in_time.clone();
        play(*now, *idle, running, groups, |start| {
            harmless = note_start(start, &groups[start.group], &mut late, &mut unplaced);
            harmless
        });
        harmless && unplaced.iter().all(|&jobs| jobs == 0)
    }

    /// Returns, for each group, how many of its jobs may be late because they are without the candidate.
    fn spare_lateness(&self) -> Vec<u32> {
        let groups = self.input.groups.iter().zip(&self.in_time);
        groups
            .map(|(group, in_time)| group.count - in_time)
            .collect()
    }

    /// Returns the candidate's end if it takes this place in the order; None if a promise suffers.
    fn end_at(&self, candidate: JobGroup, place: Instant) -> Option<CandidateEnd> {
        let at = self.input.places.partition_point(|&other| other <= place);
        let mut groups = Vec::with_capacity(self.input.groups.len() + 1);
        groups.extend_from_slice(&self.input.groups[..at]);
        groups.push(candidate);
        groups.extend_from_slice(&self.input.groups[at..]);
        let mut late = self.spare_lateness();
        late.insert(at, candidate.count);
        let mut unplaced = self.in_time.clone();
        unplaced.insert(at, 0);
        let mut end = CandidateEnd {
            last: self.input.now,
            in_time: 0,
        };
        let mut started = 0;
        let mut harmless = true;
        let PlanInput {
            now, idle, running, ..
        } = &self.input;
        play(*now, *idle, running, &groups, |start| {
            if start.group == at {
                started += start.count;
                end.last = end.last.max(start.end);
                if start.end <= candidate.due {
                    end.in_time += start.count;
                }
                return true;
            }
            harmless = note_start(start, &groups[start.group], &mut late, &mut unplaced);
            harmless
        });
        if started < candidate.count {
            end.last = Instant::MAX;
        }
        (harmless && unplaced.iter().all(|&jobs| jobs == 0)).then_some(end)
    }
}

/// Books a start; returns false if more jobs of the group are late than may be.
fn note_start(
    start: PlannedStart,
    group: &JobGroup,
    late: &mut [u32],
    unplaced: &mut [u32],
) -> bool {
    if start.end <= group.due {
        let left = &mut unplaced[start.group];
        *left = left.saturating_sub(start.count);
        return true;
    }
    match late[start.group].checked_sub(start.count) {
        Some(left) => {
            late[start.group] = left;
            true
        }
        None => false,
    }
}
