//! The evidence on which a belief rests, with the part of each source.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use super::batch::LiveBatch;
use super::group::N_LEVELS_OF_GROUPS;
use super::mixture::LevelMixture;

/// The smallest part of a source that a sentence names.
const MIN_PART: f32 = 0.05;

/// The part from which a source is named as the only one.
const ONLY: f32 = 0.95;

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
}

/// The part of a group in a belief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupPart {
    /// The part, from 0 to 1.
    pub part: f32,
    /// Number of batches with ended tasks.
    pub n_batches: u32,
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

    pub(super) fn add_group(&mut self, at: usize, n_ended: usize, level: &LevelMixture) {
        self.scale(level.parent_weight() as f32);
        self.groups[at] = GroupPart {
            part: 1.0 - level.parent_weight() as f32,
            n_batches: n_ended as u32,
        };
    }

    pub(super) fn add_siblings(&mut self, batch: &LiveBatch, now: Instant, level: &LevelMixture) {
        self.scale(level.parent_weight() as f32);
        let first = batch.elapsed(now, 1).next();
        self.siblings = SiblingPart {
            part: 1.0 - level.parent_weight() as f32,
            n_ended: batch.n_ended,
            n_running: batch.n_running() as u32,
            elapsed: first.map_or(Span::ZERO, |(elapsed, _)| elapsed),
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

/// Formats the sources from the largest part to the smallest, to follow the word "from"; small parts are left
/// out.
impl fmt::Display for BeliefBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [user, ask, program, kin] = self.groups;
        let mut sources = [
            (self.siblings.part, self.siblings.to_string()),
            (kin.part, kin.of("of this program with this request")),
            (program.part, program.of("of this program")),
            (ask.part, ask.of("with this request")),
            (user.part, user.of("of this user")),
            (self.site, "other jobs here".to_owned()),
            (self.table, self.other_sites().to_owned()),
        ];
        sources.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        if let [(ONLY.., source), ..] = &sources {
            return f.write_str(source);
        }
        let named = sources.iter().filter(|(part, _)| *part >= MIN_PART);
        for (at, (part, source)) in named.enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{part:.2} {source}")?;
        }
        Ok(())
    }
}

impl BeliefBasis {
    const fn other_sites(&self) -> &'static str {
        match self.has_request {
            true => "the estimate, as at other sites",
            false => "what jobs take at other sites",
        }
    }
}

impl GroupPart {
    fn of(&self, whose: &str) -> String {
        match self.n_batches {
            0 => format!("running jobs {whose}"),
            1 => format!("1 earlier batch {whose}"),
            n => format!("{n} earlier batches {whose}"),
        }
    }
}

impl fmt::Display for SiblingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n_ended, n_running, ..
        } = self;
        let tasks = if n_ended + n_running == 1 {
            "task"
        } else {
            "tasks"
        };
        match (n_ended, n_running) {
            (_, 0) => return write!(f, "{n_ended} ended {tasks} of its batch"),
            (0, _) => write!(f, "{n_running} running {tasks} of its batch")?,
            (..) => write!(
                f,
                "{n_ended} ended and {n_running} running {tasks} of its batch"
            )?,
        }
        write!(f, " (for {} s)", self.elapsed.as_secs_f64().floor())
    }
}
