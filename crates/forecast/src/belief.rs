//! Beliefs about the run time of a job, by the batches of jobs that ended and run.
//!
//! A belief is a chain of levels, from the largest group of jobs to the smallest. Each level mixes what its
//! own jobs say with the level above; how much each says is learned. A batch, such as an array, is one witness
//! in each group, however many tasks it has. Only the other tasks of a job's own batch count one by one.
//!
//! | module | contents |
//! |---|---|
//! | `mass` | masses of run times on a grid of logarithms |
//! | `batch` | batches, and what their tasks have shown |
//! | `group` | the groups of a job: user, ask, program, kin; and the batches that each remembers |
//! | `chain` | the chain, from the site to the siblings |
//! | `site` | the first level: the table of other sites, and the jobs of this one |
//! | `level` | a level of groups |
//! | `new_mode` | the level of a class in doubt: the mode to which it may have come |
//! | `siblings` | the last level: the tasks of the same batch |
//! | `mixture` | one level before it is mixed, and what it would learn from a run time |
//! | `weights` | the weights of the components of a level |
//! | `shipped` | the start values |
//! | `doubt` | whether the last batches of a class ran as they were believed to |
//! | `recalibration` | the slow correction of statements by how often they held |
//! | `request_rate` | the probability that a job stays within its request |
//! | `statement` | a statement that waits for the end of its task |
//! | `alike` | how alike the tasks of a batch are |
//! | `basis` | what a belief rests on |
//! | `model` | [`BeliefModel`]: what happens to jobs, and what it teaches |

mod alike;
mod basis;
mod batch;
mod chain;
mod doubt;
mod group;
mod level;
mod mass;
mod mixture;
mod model;
mod new_mode;
mod recalibration;
mod request_rate;
mod shipped;
mod siblings;
mod site;
mod statement;
mod weights;

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Kinship, Probability, RuntimeBelief, Span, UserId};

pub use basis::{BeliefBasis, BeliefSource, GroupPart, SiblingPart};
pub use doubt::{ClassChange, Doubt};
pub use model::{BeliefModel, JobKin, TaskStage};
use statement::StatementTime;

use crate::record::{ClassId, ForecastJob, ln_secs};

/// The scales of the kernels of groups and siblings, as logarithms: jobs that are equal, alike, or of one
/// order.
const NARROW: f64 = 0.03;
const MID: f64 = 0.2;
const WIDE: f64 = 0.8;

/// The facts about a job on which a belief depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BeliefJob {
    /// The user.
    pub user: UserId,
    /// The program; None if it is unknown.
    pub program: Option<Program>,
    /// Number of requested processors.
    pub procs: u32,
    /// The requested run time, if any; a value that is not positive counts as None.
    pub request: Option<Span>,
    /// The number of the queue, if it is known.
    pub queue: Option<u32>,
    /// The number of the account that is charged, if it is known.
    pub account: Option<u32>,
    /// The number of the array, if the job is a task of one: the tasks of an array are a batch.
    pub array: Option<u64>,
    /// Number of tasks that are submitted together; 1 for a single job.
    pub n_tasks: u32,
}

/// The program of a job, by a number that the caller gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Program {
    /// An executable.
    Executable(u32),
    /// The class of jobs with one name, where the executable is unknown.
    Named(ClassId),
}

impl BeliefJob {
    /// Returns a single job of a user, by its facts.
    pub fn new(user: UserId, job: &ForecastJob) -> Self {
        Self {
            user,
            program: job.context.executable.map(Program::Executable),
            procs: job.procs,
            request: job.request,
            queue: job.context.queue,
            account: job.context.account,
            array: None,
            n_tasks: 1,
        }
    }

    fn ln_request(&self) -> Option<f64> {
        self.request.and_then(ln_secs)
    }
}

/// A belief about the run time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// The distribution of the run time.
    pub distribution: Distribution,
    /// The probability that the job stays within its request; None without a request.
    pub within_request: Option<Probability>,
    /// The evidence on which it rests.
    pub basis: BeliefBasis,
    /// The jobs with which the job is long or short together.
    pub kinship: Kinship,
}

impl Belief {
    /// Returns what a policy gets of it.
    pub fn runtime(&self) -> RuntimeBelief {
        RuntimeBelief {
            distribution: self.distribution,
            kinship: Some(self.kinship),
        }
    }
}
