//! Probabilistic forecasts of waits in a queue: when a job starts and when it ends.
//!
//! A statement comes from a forest over the state of the queue. The leaves of the forest learn each wait at the start
//! of its job (see [`tollgate_forest`]). A slow offset for each level and group keeps the bounds right. An offset
//! judges a bound when the job starts or when the bound falls due, whatever comes first. If it judged only when a bound
//! falls due, the many bounds that break together in a burst would wind it up.
//!
//! | module | contents |
//! |---|---|
//! | [`job`] | the facts about a job at submission, and classes of jobs |
//! | [`record`] | records of jobs, as a stream of events |
//! | [`forecaster`] | [`WaitForecaster`]: learns by events, and states |
//! | [`statement`] | [`WaitStatement`] |
//! | `open_job` | the statements about a job that are not judged yet |
//! | [`quantity`] | a quantity with its forest: the wait, its rest, the time to the end |
//! | `queue_state` | the jobs that wait and run |
//! | `work_left`, `capacity` | the work that running jobs have left; the capacity of the machine |
//! | [`features`] | the features of a job |
//! | `first_guess` | quantiles of the class or the site, before the first forest |
//! | `rivals` | BMBP and the plan by users' estimates |
//! | [`evaluation`] | the retrospective evaluation over a record |
//! | [`score`] | the measures of the evaluation |

mod capacity;
pub mod evaluation;
pub mod features;
mod first_guess;
pub mod forecaster;
pub mod job;
mod open_job;
pub mod quantity;
mod queue_state;
pub mod record;
mod rivals;
pub mod score;
pub mod statement;
mod work_left;

pub use evaluation::{WaitEvaluation, evaluate_waits};
pub use features::FEATURES;
pub use forecaster::{LaterStatement, WaitForecaster};
pub use job::{JobWidth, WaitClass, WaitJob};
pub use open_job::statement_age;
pub use quantity::{FittedWaitForest, WaitQuantity, WaitRefit};
pub use record::{WaitEnd, WaitEvent, WaitEventKind, WaitRecord, wait_events};
pub use score::{BoundScore, CoverageByPart, LevelScore, PartCoverage};
pub use statement::{N_WAIT_LEVELS, SpanBounds, WAIT_LEVELS, WaitBasis, WaitStatement};
