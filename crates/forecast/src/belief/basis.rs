//! The evidence on which a belief rests, with the part of each source.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use super::batch::LiveBatch;
use super::doubt::Doubt;
use super::group::N_LEVELS_OF_GROUPS;
use super::mixture::LevelMixture;

/// The smallest part of a source that a sentence names beside the largest.
const MIN_PART: f32 = 0.2;

/// The place in a chain of the jobs of a user that run the same program.
const PROGRAM: usize = 2;

/// The components of the site's level that are laws of other sites.
const TABLES: [usize; 2] = [5, 6];

/// The sources of a belief. The parts of all have the sum 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeliefBasis {
    /// The part of other sites: of the request alone, or of nothing.
    pub table: f32,
    /// Whether the job has a request.
    pub has_request: bool,
    /// The part of the jobs of this site.
    pub site: f32,
    /// The parts of the groups of the job.
    pub groups: [GroupPart; N_LEVELS_OF_GROUPS],
    /// The part of the other tasks of the job's batch.
    pub siblings: SiblingPart,
    /// Number of batches with ended tasks in the nearest group of jobs that ask for the same or run the
    /// same program.
    pub n_batches: u32,
    /// Whether the last batches of the nearest group ran as they were believed to.
    pub doubt: Doubt,
}

/// The part of a group in a belief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupPart {
    /// The part, from 0 to 1.
    pub part: f32,
    /// Number of batches with ended tasks, of those that the group remembers.
    pub n_batches: u32,
    /// Number of ended tasks of these batches.
    pub n_runs: u32,
    /// The smallest group with the same batches, by its place; at most that of this group if there is no smaller one.
    nearest: u8,
}

/// The part of the other tasks of a batch in a belief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiblingPart {
    /// The part, from 0 to 1.
    pub part: f32,
    /// Number of ended tasks.
    pub n_ended: u32,
    /// Number of running tasks.
    pub n_running: u32,
    /// For how long the first of the running tasks has run.
    pub elapsed: Span,
    /// Whether the batch is an array.
    pub is_array: bool,
}

/// A source of a belief with its part, in words that follow the word "from".
#[derive(Clone, Debug, PartialEq)]
pub struct BeliefSource {
    /// The part, from 0 to 1.
    pub part: f32,
    /// The words.
    pub words: String,
}

impl BeliefBasis {
    /// Begins with the site's level.
    pub(super) fn start(&mut self, site: &LevelMixture, has_request: bool) {
        self.has_request = has_request;
        self.table = TABLES
            .map(|table| site.weight_of(table) as f32)
            .iter()
            .sum();
        self.site = 1.0 - self.table;
    }

    pub(super) fn add_group(
        &mut self,
        at: usize,
        (n_batches, n_runs): (usize, u32),
        level: &LevelMixture,
    ) {
        self.scale(level.parent_weight() as f32);
        self.groups[at] = GroupPart {
            part: 1.0 - level.parent_weight() as f32,
            n_batches: n_batches as u32,
            n_runs,
            nearest: at as u8,
        };
    }

    /// Records that a group is left out because its batches are those of a larger one.
    pub(super) fn name_after(&mut self, larger: usize, at: usize) {
        self.groups[larger].nearest = at as u8;
    }

    /// Adds the mode to which a group may have come: what its last batches say is the part of the group, or of the larger
    /// one with the same batches.
    pub(super) fn add_new_mode(&mut self, at: usize, level: &LevelMixture) {
        self.scale(level.parent_weight() as f32);
        let named = |group: &GroupPart| group.n_batches > 0 && usize::from(group.nearest) == at;
        let known = self.groups.iter().rposition(named).unwrap_or(at);
        self.groups[known].part += 1.0 - level.parent_weight() as f32;
    }

    pub(super) fn add_siblings(
        &mut self,
        batch: &LiveBatch,
        now: Instant,
        (level, is_array): (&LevelMixture, bool),
    ) {
        self.scale(level.parent_weight() as f32);
        let first = batch.elapsed(now, 1).next();
        self.siblings = SiblingPart {
            part: 1.0 - level.parent_weight() as f32,
            n_ended: batch.n_ended,
            n_running: batch.n_running() as u32,
            elapsed: first.map_or(Span::ZERO, |(elapsed, _)| elapsed),
            is_array,
        };
    }

    fn scale(&mut self, factor: f32) {
        self.table *= factor;
        self.site *= factor;
        for group in &mut self.groups {
            group.part *= factor;
        }
    }
}

impl BeliefBasis {
    /// Returns the sources from the largest part to the smallest.
    pub fn sources(&self) -> Vec<BeliefSource> {
        let groups = self.groups.iter().enumerate();
        let groups = groups.map(|(at, group)| (group.part, group.words(at)));
        let siblings = (self.siblings.part, self.siblings.to_string());
        let site = (self.site, "other jobs here".to_owned());
        let table = (self.table, self.other_sites().to_owned());
        let all = std::iter::once(siblings).chain(groups.rev());
        let all = all.chain([site, table]).filter(|(part, _)| *part > 0.0);
        let mut sources: Vec<BeliefSource> = all
            .map(|(part, words)| BeliefSource { part, words })
            .collect();
        sources.sort_by(|one, other| other.part.total_cmp(&one.part));
        sources
    }

    /// Returns the number of batches with ended tasks of the program of the job.
    pub fn n_program_batches(&self) -> u32 {
        let groups = self.groups.iter().enumerate();
        let of_program =
            groups.filter(|(at, group)| (*at).max(usize::from(group.nearest)) >= PROGRAM);
        of_program
            .map(|(_, group)| group.n_batches)
            .max()
            .unwrap_or(0)
    }

    const fn other_sites(&self) -> &'static str {
        match self.has_request {
            true => "your request, as at other sites",
            false => "what jobs take at other sites",
        }
    }
}

/// Formats the largest source, and the second if its part is not small, to follow the word "from", and any doubt.
impl fmt::Display for BeliefBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.sources();
        let mut named = sources.iter().take(2);
        if let Some(first) = named.next() {
            f.write_str(&first.words)?;
        }
        if let Some(second) = named.next().filter(|source| source.part >= MIN_PART) {
            write!(f, " and from {}", second.words)?;
        }
        if self.doubt != Doubt::None {
            write!(f, "; {}", self.doubt)?;
        }
        Ok(())
    }
}

impl GroupPart {
    /// Returns the words for the group in a place of the chain.
    fn words(&self, at: usize) -> String {
        let noun = match at.max(usize::from(self.nearest)) {
            0 => "your jobs",
            1 => "your jobs that ask for the same",
            2 => "this program",
            _ => "this program with this request",
        };
        let runs = if self.n_runs == 1 { "run" } else { "runs" };
        match (self.n_runs, self.n_batches) {
            (0, _) => format!("running tasks of {noun}"),
            (n_runs, n_batches) if n_runs == n_batches => format!("{n_runs} {runs} of {noun}"),
            (n_runs, 1) => format!("{n_runs} {runs} of {noun} in one batch"),
            (n_runs, n_batches) => format!("{n_runs} {runs} of {noun} in {n_batches} batches"),
        }
    }
}

impl fmt::Display for SiblingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n_ended,
            n_running,
            is_array,
            ..
        } = *self;
        let of = |n: u32| match (n, is_array) {
            (1, true) => "task of this array",
            (_, true) => "tasks of this array",
            (1, false) => "job of the same batch",
            (_, false) => "jobs of the same batch",
        };
        let elapsed = self.elapsed.as_secs_f64().floor();
        let have = if n_running == 1 { "has" } else { "have" };
        match (n_ended, n_running) {
            (_, 0) => write!(f, "{n_ended} {}", of(n_ended)),
            (0, _) => write!(
                f,
                "{n_running} {} that {have} run for {elapsed} s",
                of(n_running)
            ),
            (..) => write!(
                f,
                "{n_ended} {} and {n_running} that {have} run for {elapsed} s",
                of(n_ended)
            ),
        }
    }
}
