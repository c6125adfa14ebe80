//! The test of a job against the plan of all promises.

use std::cell::OnceCell;

use tollgate_model::{Instant, Span};

use super::machine::PlanMachine;
use super::timetable::{JobGroup, PlannedStart};

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
    machine: PlanMachine,
    groups: Vec<JobGroup>,
    /// By group: its place in the order; ascending.
    places: Vec<Instant>,
}

impl PlanInput {
    /// Creates the input from the promised jobs in order, each with its place.
    pub(super) fn new(
        now: Instant,
        machine: PlanMachine,
        jobs: impl Iterator<Item = (Instant, JobGroup)>,
    ) -> Self {
        let mut input = Self {
            now,
            machine,
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
    pub(super) fn new(job: JobGroup) -> Self {
        Self::array(job, 1)
    }

    pub(super) fn array(job: JobGroup, count: u32) -> Self {
        Self(JobGroup { count, ..job })
    }

    /// Returns whether it matters on which hosts the jobs run.
    pub(super) fn needs_hosts(&self) -> bool {
        self.0.needs_hosts()
    }
}

/// The plan without the candidate: the promises that it keeps, which a candidate must leave alone.
#[derive(Clone, Debug)]
pub(super) struct PromiseTest {
    input: PlanInput,
    /// By group: number of jobs that end in time. Played only once a candidate leaves a promise late:
    /// as long as none does, no promise suffers.
    in_time: OnceCell<Vec<u32>>,
}

impl PromiseTest {
    pub(super) fn new(input: PlanInput) -> Self {
        Self {
            input,
            in_time: OnceCell::new(),
        }
    }

    /// Returns the place in the order at which the candidate ends in time and no promise suffers: that
    /// of its deadline, else an earlier one.
    pub(super) fn place(&self, candidate: Candidate) -> Option<Instant> {
        let Candidate(group) = candidate;
        let left = group.due.since(self.input.now);
        let part = |part: f64| self.input.now + Span::from_secs_f64(part * left.as_secs_f64());
        let earlier = EARLIER_PLACES.into_iter().map(part);
        let mut places = std::iter::once(group.due).chain(earlier);
        places.find(|&place| self.end_at(group, place).is_some())
    }

    /// Returns a place at which a candidate without a deadline would have ended, and no promise suffers.
    pub(super) fn first_place(&self, candidate: Candidate) -> Option<Instant> {
        let Candidate(group) = candidate;
        let last = self.end_at(group, Instant::MAX)?;
        let mut left_s = last.since(self.input.now).as_secs_f64();
        for _ in 0..MAX_PLACES {
            let place = self.input.now + Span::ceil_secs_f64(left_s);
            let end = self.end_at(group, place);
            if end.is_some_and(|end| end <= place) {
                return Some(place);
            }
            left_s *= LATER;
        }
        None
    }

    /// Returns whether the plan keeps every promise on another machine.
    pub(super) fn keeps_all_on(&self, machine: &PlanMachine) -> bool {
        let groups = &self.input.groups;
        let (mut n_in_time, mut one_is_late) = (0, false);
        machine.play(groups, |start| {
            one_is_late |= start.last_end() > groups[start.group].due;
            n_in_time += start.n_jobs();
            !one_is_late
        });
        !one_is_late && n_in_time == groups.iter().map(|group| group.count).sum::<u32>()
    }

    /// Returns whether no promise suffers on another machine: one on which something has started, or for which
    /// processors are kept.
    pub(super) fn is_kept_on(&self, machine: &PlanMachine) -> bool {
        let mut books = PromiseBooks::new(self);
        machine.play(&self.input.groups, |start| books.note(start.group, start));
        books.are_kept()
    }

    /// Returns the end of the last of the candidate's jobs if it takes this place in the order; None if
    /// one ends late or never starts, or a promise suffers.
    fn end_at(&self, candidate: JobGroup, place: Instant) -> Option<Instant> {
        let at = self.input.places.partition_point(|&other| other <= place);
        let mut groups = Vec::with_capacity(self.input.groups.len() + 1);
        groups.extend_from_slice(&self.input.groups[..at]);
        groups.push(candidate);
        groups.extend_from_slice(&self.input.groups[at..]);
        let (mut started, mut end) = (0, self.input.now);
        let mut books = PromiseBooks::new(self);
        self.input.machine.play(&groups, |start| {
            if start.group == at {
                started += start.n_jobs();
                end = end.max(start.last_end());
                return end <= candidate.due;
            }
            books.note(start.group - usize::from(start.group > at), start)
        });
        let is_in_time = started == candidate.count && end <= candidate.due;
        (is_in_time && books.are_kept()).then_some(end)
    }

    /// Returns, for each group, how many of its jobs end in time without the candidate.
    fn in_time(&self) -> &[u32] {
        self.in_time.get_or_init(|| {
            let PlanInput {
                machine, groups, ..
            } = &self.input;
            let mut in_time = vec![0; groups.len()];
            machine.play(groups, |start| {
                in_time[start.group] += start.n_ended_by(groups[start.group].due);
                true
            });
            in_time
        })
    }
}

/// The promises in a plan with the candidate, compared with those in the plan without it.
struct PromiseBooks<'a> {
    test: &'a PromiseTest,
    /// By group of the plan without the candidate: number of jobs that end in time, and late.
    in_time: Vec<u32>,
    late: Vec<u32>,
    one_suffers: bool,
}

impl<'a> PromiseBooks<'a> {
    fn new(test: &'a PromiseTest) -> Self {
        let n_groups = test.input.groups.len();
        Self {
            test,
            in_time: vec![0; n_groups],
            late: vec![0; n_groups],
            one_suffers: false,
        }
    }

    /// Books a start of jobs of a group; returns false if a promise suffers.
    fn note(&mut self, group: usize, start: PlannedStart) -> bool {
        let JobGroup {
            count: all, due, ..
        } = self.test.input.groups[group];
        let in_time = start.n_ended_by(due);
        self.in_time[group] += in_time;
        if in_time < start.n_jobs() {
            self.late[group] += start.n_jobs() - in_time;
            self.one_suffers |= self.late[group] > all - self.test.in_time()[group];
        }
        !self.one_suffers
    }

    /// Returns whether every promise that is kept without the candidate is kept with it.
    fn are_kept(&self) -> bool {
        let all_in_time = || {
            let groups = self.test.input.groups.iter();
            groups
                .zip(&self.in_time)
                .all(|(group, &kept)| kept == group.count)
        };
        let none_fewer = || {
            let before = self.test.in_time().iter();
            before
                .zip(&self.in_time)
                .all(|(before, kept)| kept >= before)
        };
        !self.one_suffers && (all_in_time() || none_fewer())
    }
}
