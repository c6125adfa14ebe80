//! The latest starts: how late each promised job can start and still end in time.
//!
//! The jobs are taken in the order of descending deadlines (a backward list plan). Each is placed as late as
//! it fits into what the running jobs and those before it leave free. A job that has no such place is due:
//! the due ones get their earliest places first, and then the others are placed anew.

use std::cmp::Reverse;

use tollgate_model::Instant;

use super::free_profile::{FreeProfile, PlaceWaves, PlannedPlace};
use super::start_rule::RuleJob;

/// Maximum number of times that the jobs are placed anew because more of them are due.
const ROUNDS: usize = 3;

/// A place for each promised job. The jobs of a group have theirs in order.
#[derive(Clone, Debug)]
pub(super) struct LatestStarts {
    /// The resources that running jobs and all places leave free.
    pub(super) profile: FreeProfile,
    /// By group: its places.
    pub(super) places: Vec<GroupPlaces>,
    /// By group: the number of its first jobs that are due, because no latest place is in time.
    pub(super) n_due: Vec<u32>,
}

/// The places of a group of jobs that are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupPlaces {
    /// The earliest places, of the jobs that are due: the first ones. Of those that never fit there are none.
    pub(super) due: Vec<PlaceWaves>,
    /// The latest places of the others, the first one last.
    pub(super) late: Vec<PlaceWaves>,
}

/// One of the latest places of a group: the wave, and the choice of hosts in it.
pub(super) type LatePlace = (usize, usize);

impl GroupPlaces {
    /// Returns the latest places that differ for a job which runs from now until `before`: by hosts or by start. They are
    /// in the order in which jobs in turn had them. Of those that begin later it meets none, so only the first is there.
    pub(super) fn first_late(&self, before: Instant) -> Vec<LatePlace> {
        let mut found: Vec<(PlannedPlace, LatePlace)> = Vec::new();
        let mut meets_none = false;
        for (wave, places) in self.late.iter().enumerate().rev() {
            for choice in (0..places.n_choices()).rev() {
                let place = places.first_on(choice);
                if place.at >= before && std::mem::replace(&mut meets_none, true) {
                    break;
                }
                if found.iter().all(|(other, _)| *other != place) {
                    found.push((place, (wave, choice)));
                }
            }
        }
        found.into_iter().map(|(_, late)| late).collect()
    }

    /// Returns one of the latest places.
    pub(super) fn late_place(&self, (wave, choice): LatePlace) -> PlannedPlace {
        self.late[wave].first_on(choice)
    }

    /// Takes one of the latest places out.
    pub(super) fn remove_late(&mut self, (wave, choice): LatePlace) {
        let places = self.late.remove(wave);
        for left in places.without_first_on(choice) {
            self.late.insert(wave, left);
        }
    }
}

impl LatestStarts {
    /// Places groups of jobs, given in the order of their deadlines, into what running jobs leave free.
    pub(super) fn new(free: &FreeProfile, jobs: &[RuleJob]) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|&job| Reverse((jobs[job].latest_end, job)));
        let mut plan = Self {
            profile: free.clone(),
            places: Vec::new(),
            n_due: vec![0; jobs.len()],
        };
        for round in 1..=ROUNDS {
            plan.profile = free.clone();
            plan.places = vec![GroupPlaces::default(); jobs.len()];
            plan.place_due(jobs);
            let late = plan.place_late(jobs, &order);
            for &(job, n_late) in &late {
                plan.n_due[job] += n_late;
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
            let placed = self.places[job].due.iter().map(PlaceWaves::n_jobs);
            let mut left = self.n_due[job] - placed.sum::<u32>();
            while left > 0
                && let Some(places) = self
                    .profile
                    .earliest_waves(&rule.group, rule.group.run, left)
            {
                self.profile.book_waves(&rule.group, &places);
                left -= places.n_jobs();
                self.places[job].due.push(places);
            }
        }
    }

    /// Gives the jobs that are not due their latest places, in this order of their groups; returns how many jobs of
    /// which group have none.
    fn place_late(&mut self, jobs: &[RuleJob], order: &[usize]) -> Vec<(usize, u32)> {
        let mut without = Vec::new();
        // Of jobs that are alike, none has a later place than the one before.
        let mut before: Option<(RuleJob, Option<Instant>)> = None;
        for &job in order {
            let rule = &jobs[job];
            let mut left = rule.group.count - self.n_due[job];
            if left == 0 {
                continue;
            }
            let last = before.filter(|(other, _)| other.is_like(rule));
            let mut end = last.map_or(Some(rule.latest_end), |(_, end)| end);
            while left > 0
                && let Some(by) = end
            {
                let places = self.profile.latest_waves(&rule.group, rule.guard, by, left);
                end = places.as_ref().map(PlaceWaves::first_end);
                if let Some(places) = places {
                    self.profile.book_waves(&rule.group, &places);
                    left -= places.n_jobs();
                    self.places[job].late.push(places);
                }
            }
            before = Some((*rule, end));
            if left > 0 {
                without.push((job, left));
            }
        }
        without
    }
}
