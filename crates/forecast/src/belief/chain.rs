//! The chain of levels: each is mixed with the level above, and limited by the request.

use tollgate_model::{Instant, Span};

use super::basis::BeliefBasis;
use super::batch::BatchId;
use super::doubt::Doubt;
use super::group::{GroupKey, N_LEVELS_OF_GROUPS};
use super::level::{count_class, is_known, level};
use super::mass::RunMass;
use super::mixture::{Lesson, LevelMixture};
use super::model::BeliefModel;
use super::recalibration::{FIRST_DOUBT, FIRST_SIBLINGS};
use super::site;
use super::statement::StatementTime;
use super::{BeliefJob, new_mode, siblings};

/// Number of batches from which a level counts although a larger level has as many: they may be others.
const MANY: usize = 15;
/// The weights of the level of programs where no batch asked for the same.
const BARE_PROGRAM: usize = N_LEVELS_OF_GROUPS;
const ASK: usize = 1;
const PROGRAM: usize = 2;
const KIN: usize = 3;

/// A job in the terms of the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) groups: [Option<GroupKey>; N_LEVELS_OF_GROUPS],
    pub(crate) ln_request: Option<f64>,
    pub(crate) batch: Option<BatchId>,
    pub(crate) now: Instant,
}

impl Query {
    pub(crate) fn new(job: &BeliefJob, batch: Option<BatchId>, now: Instant) -> Self {
        Self {
            groups: GroupKey::of(job),
            ln_request: job.ln_request(),
            batch,
            now,
        }
    }
}

/// The levels that a statement will teach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdatedLevels {
    Nothing,
    /// Site and groups: the first task of a batch.
    Groups,
    /// The siblings: any other task.
    Siblings,
}

/// The statement of the chain about a job.
#[derive(Clone, Debug)]
pub(crate) struct ChainStatement {
    pub(crate) raw: RunMass,
    pub(crate) bucket: usize,
    pub(crate) lessons: Vec<Lesson>,
    pub(crate) basis: BeliefBasis,
}

/// The chain as far as it has come.
struct Chain<'a> {
    model: &'a BeliefModel,
    query: Query,
    teaches: UpdatedLevels,
    mass: RunMass,
    /// The part of the jobs that outlive their requests: of those of the site, or of those that ask for the same if that is
    /// more. A site that ends no job at its limit would bound a class that changes by the requests of all others.
    overrun: f64,
    lessons: Vec<Lesson>,
    basis: BeliefBasis,
}

impl BeliefModel {
    /// Returns what the chain says of a job on an occasion.
    pub(crate) fn state(
        &self,
        job: &BeliefJob,
        query: Query,
        observed_at: StatementTime,
        (teaches, default_runtime): (UpdatedLevels, Span),
    ) -> ChainStatement {
        let mut chain = Chain {
            model: self,
            query,
            teaches,
            mass: RunMass::default(),
            overrun: self.site.overrun(),
            lessons: Vec::new(),
            basis: BeliefBasis::default(),
        };
        chain.add_site(job, default_runtime);
        let n_batches = chain.add_groups();
        chain.basis.n_batches = n_batches as u32;
        chain.add_new_mode();
        let siblings = chain.add_siblings(job, observed_at);
        let by_groups = chain.basis.doubt.place();
        let by_groups = by_groups.map_or(count_class(n_batches), |doubt| FIRST_DOUBT + doubt);
        ChainStatement {
            raw: chain.mass,
            bucket: siblings.map_or(by_groups, |bucket| FIRST_SIBLINGS + bucket),
            lessons: chain.lessons,
            basis: chain.basis,
        }
    }
}

impl Chain<'_> {
    fn add_site(&mut self, job: &BeliefJob, default_runtime: Span) {
        let weights = |cell| self.model.weights.of(cell);
        let ln_request = self.query.ln_request;
        let site = self
            .model
            .site
            .level(job.user, ln_request, default_runtime, weights);
        self.basis.start(&site, ln_request.is_some());
        self.mix(&site, UpdatedLevels::Groups);
    }

    /// Adds the groups of the job, and returns the number of ended batches in the nearest.
    fn add_groups(&mut self) -> usize {
        let known: [usize; N_LEVELS_OF_GROUPS] = std::array::from_fn(|at| self.n_known(at));
        let mut n_batches = 0;
        for at in 0..N_LEVELS_OF_GROUPS {
            let Some(key) = self.query.groups[at] else {
                continue;
            };
            if repeats_a_level(at, &known) && known[at] < MANY {
                n_batches = n_batches.max(self.n_ended(at));
                if let Some(larger) = (0..at).find(|&other| known[other] == known[at]) {
                    self.basis.name_after(larger, at);
                }
                continue;
            }
            let row = if at == PROGRAM && n_batches == 0 {
                BARE_PROGRAM
            } else {
                at
            };
            let Some(group) = self.model.groups.get(&key) else {
                continue;
            };
            let weights = |cell| self.model.weights.of(cell);
            let live = &self.model.batches;
            let known = level((row, key, group), &self.query, live, &self.mass, weights);
            if let Some(known) = known {
                let n_runs = group.n_runs_beside(self.query.batch);
                self.basis
                    .add_group(at, (known.n_ended, n_runs), &known.mixture);
                if at == ASK || at == KIN {
                    self.overrun = self.overrun.max(known.overrun);
                }
                self.mix(&known.mixture, UpdatedLevels::Groups);
                // A user is no near group.
                n_batches = n_batches.max(if at > 0 { known.n_ended } else { 0 });
            }
        }
        n_batches
    }

    /// Adds the siblings of the job, and returns their bucket if any is known.
    fn add_siblings(&mut self, job: &BeliefJob, observed_at: StatementTime) -> Option<usize> {
        let batch = self.model.batches.get(self.query.batch?)?;
        let class = self.model.groups.get(&GroupKey::smallest(job));
        let class = class.map(|group| &group.siblings);
        let weights = |cell| self.model.weights.of(cell);
        let observation = (observed_at, self.query.now);
        let mixture = siblings::level(batch, class, weights, observation, &self.mass)?;
        let named = (&mixture, job.array.is_some());
        self.basis.add_siblings(batch, self.query.now, named);
        let overrun = self.query.ln_request.map(|request| batch.overrun(request));
        self.overrun = self.overrun.max(overrun.unwrap_or(0.0));
        self.mix(&mixture, UpdatedLevels::Siblings);
        siblings::bucket(batch, observed_at)
    }

    /// Notes the doubt in what the smallest group says whose last batches are known, and adds the mode to which it may have
    /// come.
    fn add_new_mode(&mut self) {
        let model = self.model;
        let (own, now) = (self.query.batch, self.query.now);
        let groups = self.query.groups.iter().enumerate().rev();
        let mut in_doubt = groups.filter_map(|(at, key)| {
            let group = model.groups.get(key.as_ref()?)?;
            let doubt = Doubt::of(group, own, &model.batches, now)?;
            Some((at, (*key)?, group, doubt))
        });
        let Some((at, key, group, doubt)) = in_doubt.next() else {
            return;
        };
        self.basis.doubt = doubt;
        let weights = |cell| model.weights.of(cell);
        if let Some(mixture) = new_mode::level((key, group, doubt), own, &self.mass, weights) {
            self.basis.add_new_mode(at, &mixture);
            self.mix(&mixture, UpdatedLevels::Groups);
        }
    }

    fn mix(&mut self, level: &LevelMixture, taught_by: UpdatedLevels) {
        if self.teaches == taught_by {
            self.lessons.push(level.lesson());
        }
        self.mass = level.mass();
        if let Some(ln_request) = self.query.ln_request {
            site::limit(&mut self.mass, ln_request, self.overrun);
        }
    }

    fn n_known(&self, at: usize) -> usize {
        let group = self.query.groups[at].and_then(|key| self.model.groups.get(&key));
        let live = &self.model.batches;
        let known = |slot: &&_| is_known(slot, self.query.batch, live);
        group.map_or(0, |group| group.slots.iter().filter(known).count())
    }

    fn n_ended(&self, at: usize) -> usize {
        // A user is no near group.
        let key = self.query.groups[at].filter(|_| at > 0);
        let group = key.and_then(|key| self.model.groups.get(&key));
        let ended = group.into_iter().flat_map(|group| &group.slots);
        let ended = ended.filter(|slot| slot.n_ended > 0 && Some(slot.batch) != self.query.batch);
        ended.count()
    }
}

/// Returns whether the batches of a level are those of a larger one: one smoke test must not count four
/// times.
fn repeats_a_level(at: usize, known: &[usize; N_LEVELS_OF_GROUPS]) -> bool {
    let same = |other: usize| known[at] == known[other];
    match at {
        ASK => same(0),
        PROGRAM => same(0) || (same(KIN) && same(ASK)),
        KIN => known[..KIN].iter().any(|&other| other == known[at]),
        _ => false,
    }
}
