//! The latest starts: how late each promised job can start and still end in time.
//!
//! The jobs are taken in the order of descending deadlines, and each is placed as late as it fits into what the
//! running jobs and those before it leave free (a backward list plan). A job that has no such place is due: the
//! due ones get their earliest places first, and then the others are placed anew.

use std::cmp::Reverse;

use tollgate_model::Instant;

use super::free_profile::{FreeProfile, PlannedPlace};
use super::start_rule::RuleJob;

/// Maximum number of times that the jobs are placed anew because more of them are due.
const ROUNDS: usize = 3;

/// A place for each promised job.
#[derive(Clone, Debug)]
pub(super) struct LatestStarts {
    /// What running jobs and all places leave free.
    pub(super) profile: FreeProfile,
    /// By job; None if it never fits.
    pub(super) places: Vec<Option<PlannedPlace>>,
    /// By job: whether it has its earliest place, because no later one is in time.
    pub(super) is_due: Vec<bool>,
}

impl LatestStarts {
    /// Places jobs, given in the order of their deadlines, into what running jobs leave free.
    pub(super) fn new(free: &FreeProfile, jobs: &[RuleJob]) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|&job| Reverse((jobs[job].latest_end, job)));
        let mut plan = Self {
            profile: free.clone(),
            places: Vec::new(),
            is_due: vec![false; jobs.len()],
        };
        for round in 1..=ROUNDS {
            plan.profile = free.clone();
            plan.places = vec![None; jobs.len()];
            plan.place_due(jobs);
            let late = plan.place_late(jobs, &order);
            for &job in &late {
                plan.is_due[job] = true;
            }
            if late.is_empty() {
                break;
            }
            if round == ROUNDS {
                plan.place_due(jobs);
            }
        }
        plan
    }

    /// Gives the due jobs without a place their earliest ones, with the run times at their own levels.
    fn place_due(&mut self, jobs: &[RuleJob]) {
        for (job, rule) in jobs.iter().enumerate() {
            if self.is_due[job] && self.places[job].is_none() {
                self.places[job] = self.profile.earliest(&rule.group, rule.group.run);
                self.book(job, rule);
            }
        }
    }

    /// Gives the jobs that are not due their latest places, in this order; returns those that have none.
    fn place_late(&mut self, jobs: &[RuleJob], order: &[usize]) -> Vec<usize> {
        let mut without = Vec::new();
        // Of jobs that are alike, none has a later place than the one before.
        let mut before: Option<(RuleJob, Option<Instant>)> = None;
        for &job in order {
            let rule = &jobs[job];
            if self.is_due[job] {
                continue;
            }
            let last = before.filter(|(other, _)| other.is_like(rule));
            let end = last.map_or(Some(rule.latest_end), |(_, end)| end);
            let place = end.and_then(|end| self.profile.latest(&rule.group, rule.guard, end));
            before = Some((*rule, place.as_ref().map(|place| place.at + rule.guard)));
            if place.is_none() {
                without.push(job);
            }
            self.places[job] = place;
            self.book(job, rule);
        }
        without
    }

    fn book(&mut self, job: usize, rule: &RuleJob) {
        if let Some(place) = &self.places[job] {
            self.profile.book(&rule.group, place);
        }
    }
}
