//! Deadlines for traces that have none, by what users could know at submission.
//!
//! | module | contents |
//! |---|---|
//! | [`clock`] | the hours at which users expect their results |
//! | `habit` | the run times that users know from earlier jobs |

use std::fmt;
use std::str::FromStr;

use strum::{IntoStaticStr, VariantArray};
use tollgate_model::{Instant, Span, UserId};
use tollgate_trace::{ColumnSelection, Trace};

use crate::rng::{StreamFamily, StreamPurpose};
use crate::settings::WorkloadConfig;
use crate::sla::SlaModel;

pub mod clock;
mod habit;

use clock::SiteClock;
use habit::HabitualRuntimes;

/// The model that draws the deadlines of jobs whose records have none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum DeadlineModel {
    /// A factor of the job's true run time (Yeo & Buyya 2006, §4). That time is unknown at submission, so
    /// these deadlines tell policies about run times.
    Paper,
    /// A factor of the request.
    Estimate,
    /// The request and a wait that the user accepts: 30 minutes, or 8 hours.
    Allowance,
    /// 4 or 24 hours, whatever the job needs.
    Class,
    /// The shortest of 1, 4, 24, 72 and 168 hours that is at least the request, or the next longer
    /// one.
    ClassAsked,
    /// The next 9:00 or 17:00 after the submission.
    Clock,
    /// The first 9:00 or 17:00 at or after the submission and the requested time.
    ClockAsked,
    /// A factor of the user's usual run time: what users know from experience.
    #[default]
    Habit,
}

impl DeadlineModel {
    /// Every model, in the order in which outputs list them.
    pub const ALL: [Self; 8] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the keyword on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns whether deadlines are a drawn factor of some run time, after the submission.
    pub const fn is_factor(self) -> bool {
        matches!(self, Self::Paper | Self::Estimate | Self::Habit)
    }

    /// Returns whether the urgency of a job has an influence on its deadline.
    pub const fn uses_urgency(self) -> bool {
        self.is_factor() || matches!(self, Self::Allowance)
    }

    /// Returns whether deadlines are drawn at random. Others follow from the submission and the request.
    pub const fn is_drawn(self) -> bool {
        !matches!(self, Self::Clock | Self::ClockAsked)
    }

    /// Returns the columns that a trace must have for the model: names and headers are needed for
    /// all but [`DeadlineModel::Paper`].
    pub const fn columns(self) -> ColumnSelection {
        match self {
            Self::Paper => ColumnSelection::Core,
            Self::Estimate
            | Self::Allowance
            | Self::Class
            | Self::ClassAsked
            | Self::Clock
            | Self::ClockAsked
            | Self::Habit => ColumnSelection::All,
        }
    }
}

/// An error for a word that names no model of deadlines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no model of deadlines")]
pub struct DeadlineModelError(pub String);

impl FromStr for DeadlineModel {
    type Err = DeadlineModelError;

    fn from_str(word: &str) -> Result<Self, DeadlineModelError> {
        let model = Self::ALL.into_iter().find(|model| model.name() == word);
        model.ok_or_else(|| DeadlineModelError(word.to_owned()))
    }
}

impl fmt::Display for DeadlineModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A job as its user knows it at submission. It has no run time, so no deadline can depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubmittedJob {
    /// The row of the job in the trace.
    pub(crate) row: usize,
    /// Submission, on the trace's own clock.
    pub(crate) submit: Instant,
    /// The run time that the user requested. Positive.
    pub(crate) request: Option<Span>,
    pub(crate) user: UserId,
}

/// The deadlines of a model that does not look at the run time of the job itself.
#[derive(Clone, Debug)]
pub(crate) enum CausalDeadlines<'a> {
    Estimate,
    Allowance {
        high_urgency: f64,
        urgency: StreamFamily,
    },
    Class(StreamFamily),
    ClassAsked(StreamFamily),
    Clock(SiteClock),
    ClockAsked(SiteClock),
    Habit(HabitualRuntimes<'a>),
}

/// The wait that users with urgent jobs accept.
const URGENT_WAIT: Span = Span::from_secs(30 * 60);
/// The wait that other users accept.
const USUAL_WAIT: Span = hours(8);

/// The two classes of blind deadlines.
const BLIND_CLASSES: [Span; 2] = [hours(4), hours(24)];
/// The classes of which users choose by their request.
const REQUESTED_CLASSES: [Span; 5] = [hours(1), hours(4), hours(24), hours(72), hours(168)];

const fn hours(n: i64) -> Span {
    Span::from_secs(3600 * n)
}

impl<'a> CausalDeadlines<'a> {
    /// Creates the deadlines of the model in `settings` for the jobs of `trace`; None if the model
    /// looks at true run times. `record` is the trace, or the longer one that it was cut from.
    pub(crate) fn new(
        settings: &WorkloadConfig,
        trace: &'a Trace,
        record: &'a Trace,
    ) -> Option<Self> {
        let family = |purpose| StreamFamily::new(settings.seed, purpose);
        Some(match settings.deadlines {
            DeadlineModel::Paper => return None,
            DeadlineModel::Estimate => Self::Estimate,
            DeadlineModel::Allowance => Self::Allowance {
                high_urgency: settings.high_urgency,
                urgency: family(StreamPurpose::UserUrgency),
            },
            DeadlineModel::Class => Self::Class(family(StreamPurpose::DeadlineClass)),
            DeadlineModel::ClassAsked => Self::ClassAsked(family(StreamPurpose::DeadlineClass)),
            DeadlineModel::Clock => Self::Clock(SiteClock::of(trace)),
            DeadlineModel::ClockAsked => Self::ClockAsked(SiteClock::of(trace)),
            DeadlineModel::Habit => Self::Habit(HabitualRuntimes::new(trace, record)),
        })
    }

    /// Returns the deadline of a job as a positive span after its submission; None if the model has
    /// none for it. `factors` draws the factors of times. No job that was asked about before was submitted
    /// later.
    pub(crate) fn deadline(&mut self, job: &SubmittedJob, factors: &SlaModel) -> Option<Span> {
        let times_factor = |span: Span| {
            let factor = factors.deadline_factor(job.row as u64);
            Span::from_secs_f64(factor * span.as_secs_f64()).max(Span::TICK)
        };
        match self {
            Self::Estimate => job.request.map(times_factor),
            Self::Allowance {
                high_urgency,
                urgency,
            } => {
                let urgent = urgency.stream(job.user.0.into()).chance(*high_urgency);
                let wait = if urgent { URGENT_WAIT } else { USUAL_WAIT };
                job.request.map(|request| request + wait)
            }
            Self::Class(choice) => Some(BLIND_CLASSES[coin(*choice, job)]),
            Self::ClassAsked(choice) => {
                let longest = REQUESTED_CLASSES.len() - 1;
                let fits = |request| REQUESTED_CLASSES.partition_point(|&class| class < request);
                job.request.map(|request| {
                    REQUESTED_CLASSES[(fits(request) + coin(*choice, job)).min(longest)]
                })
            }
            Self::Clock(clock) => Some(clock.next_after(job.submit)?.since(job.submit)),
            Self::ClockAsked(clock) => {
                let requested = job.submit + job.request?;
                Some(clock.next_from(requested)?.since(job.submit))
            }
            Self::Habit(known) => known.of_row(job.row).or(job.request).map(times_factor),
        }
    }

    /// Returns the clock of the deadlines, if they follow one.
    pub(crate) fn into_clock(self) -> Option<SiteClock> {
        match self {
            Self::Clock(clock) | Self::ClockAsked(clock) => Some(clock),
            Self::Estimate
            | Self::Allowance { .. }
            | Self::Class(_)
            | Self::ClassAsked(_)
            | Self::Habit(_) => None,
        }
    }
}

/// Draws 0 or 1, each for half of the jobs.
fn coin(choice: StreamFamily, job: &SubmittedJob) -> usize {
    choice.stream(job.row as u64).chance(0.5).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_trace::TraceJob;

    fn job(row: usize, request: Option<Span>) -> SubmittedJob {
        SubmittedJob {
            row,
            submit: Instant::ZERO,
            request,
            user: UserId(row as u32 % 50),
        }
    }

    fn never_ran() -> TraceJob {
        TraceJob {
            number: 1,
            submit: Instant::ZERO,
            runtime: Span::ZERO,
            estimate: Span::ZERO,
            is_estimated: false,
            procs: 1,
        }
    }

    fn deadline(model: DeadlineModel, job: &SubmittedJob) -> Option<Span> {
        let settings = WorkloadConfig {
            deadlines: model,
            ..WorkloadConfig::default()
        };
        let factors = SlaModel::new(&settings, 3600.0);
        // Habits look at the submission of the job in row 3.
        let trace = Trace {
            jobs: vec![never_ran(); 4],
            ..Trace::default()
        };
        let model = CausalDeadlines::new(&settings, &trace, &trace);
        model.unwrap().deadline(job, &factors)
    }

    #[test]
    fn names_round_trip() {
        for model in DeadlineModel::ALL {
            assert_eq!(model.name().parse(), Ok(model));
        }
        assert!("asked".parse::<DeadlineModel>().is_err());
    }

    #[test]
    fn half_of_the_jobs_have_the_longer_class() {
        let long = |model, request: Option<Span>, class| {
            let jobs = (0..10_000).map(|row| job(row, request));
            jobs.filter(|job| deadline(model, job) == Some(class))
                .count()
        };
        let near_half = 4_800..5_200;
        assert!(near_half.contains(&long(DeadlineModel::Class, None, hours(24))));
        let requested = Some(hours(4) + Span::TICK);
        assert!(near_half.contains(&long(DeadlineModel::ClassAsked, requested, hours(24))));
        assert!(near_half.contains(&long(DeadlineModel::ClassAsked, requested, hours(72))));
    }

    #[test]
    fn requested_class_is_at_least_the_request_up_to_the_longest_class() {
        for row in 0..100 {
            let of = |request| deadline(DeadlineModel::ClassAsked, &job(row, Some(request)));
            assert!(of(hours(4)) >= Some(hours(4)));
            assert!(of(hours(4)) <= Some(hours(24)));
            assert_eq!(of(hours(1000)), Some(hours(168)));
        }
    }

    #[test]
    fn all_jobs_of_a_user_accept_the_same_wait() {
        let waits: Vec<Span> = (0..200)
            .map(|row| {
                let job = job(row, Some(hours(2)));
                deadline(DeadlineModel::Allowance, &job).unwrap() - hours(2)
            })
            .collect();
        assert_eq!(waits[..50], waits[50..100]);
        let urgent = waits[..50].iter().filter(|&&wait| wait == URGENT_WAIT);
        assert!((3..20).contains(&urgent.count()));
        assert!(
            waits
                .iter()
                .all(|wait| [URGENT_WAIT, USUAL_WAIT].contains(wait))
        );
    }

    #[test]
    fn jobs_without_a_request_have_no_deadline_that_is_made_of_it() {
        use DeadlineModel::{Allowance, ClassAsked, ClockAsked, Estimate, Habit};
        for model in [Estimate, Allowance, ClassAsked, ClockAsked, Habit] {
            assert_eq!(deadline(model, &job(3, None)), None, "{model}");
        }
    }
}
