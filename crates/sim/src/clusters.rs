//! Several clusters with gates of their own, and jobs that go to one of them. Each job goes to the best of
//! the quotes, as `tollgate submit --to` chooses it, or by a rule that asks no cluster.
//!
//! The clusters share a clock and nothing else. Each learns run times from its own jobs alone. A quote is
//! free, takes no time and reserves nothing; of two jobs at the same instant, the second is quoted after
//! the first was submitted.

use tollgate_gate::{AdmissionDecision, JobPrediction, LookAhead, LookAheadSubject, ProbeScratch};
use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Bytes, Credits, Distribution, Instant, JobId, Outcome, Span};
use tollgate_policies::cluster_choice::{
    ClusterQuote, QuoteAdmission, QuotePreference, StatedBelief, rank_quotes,
};
use tollgate_policy::{OutlookSubject, Policy};
use tollgate_workload::JobArrival;
use tollgate_workload::rng::{StreamFamily, StreamPurpose};

use crate::cluster::{ClusterSim, ReplayConfig, ReplayFailure};
use crate::estimates::{EstimateProvider, EstimateSetup, JobEstimate};

/// Maximum number of look-ahead steps for one quote: a twentieth of what a service spends, which is about
/// a millisecond. A cluster whose queue is too long for it states no end.
const MAX_STEPS: u64 = 200_000;

/// A cluster of a run.
pub struct ClusterSetup<'a> {
    /// The machine and its market.
    pub config: ReplayConfig,
    /// The policy of its gate.
    pub policy: Box<dyn Policy>,
    /// The estimates and beliefs that the policy receives.
    pub estimates: EstimateSetup<'a>,
}

/// The rule that sends a job to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterRouting {
    /// Every job goes to this cluster, by its place.
    Only(usize),
    /// The jobs of a user go to the user's own cluster, which is drawn in proportion to the capacities.
    Home,
    /// Each job goes to a cluster that is drawn in proportion to the capacities.
    Random,
    /// Each job goes to the best of the quotes. A job that every cluster rejects goes to the first, which
    /// rejects it.
    Best(QuotePreference),
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ClustersResult {
    /// One outcome a job, in the order of arrival.
    pub outcomes: Vec<Outcome>,
    /// The cluster to which each job was submitted, by its place.
    pub clusters: Vec<usize>,
}

/// Runs jobs, given in order of submission, on clusters until all admitted jobs have finished. A job that
/// is wider than its drawn cluster goes to one that can hold it, if there is one.
///
/// # Errors
/// If a policy fails or leaves a job undecided. With [`crate::RecordLevel::Checked`], also with the first
/// violation in a schedule.
///
/// # Panics
/// If there are no clusters, or a job is routed to one that does not exist.
pub fn replay_clusters(
    arrivals: impl ExactSizeIterator<Item = JobArrival>,
    clusters: Vec<ClusterSetup<'_>>,
    routing: ClusterRouting,
    seed: u64,
) -> Result<ClustersResult, ReplayFailure> {
    let draw = ClusterDraw::new(&clusters, seed);
    let n_jobs = arrivals.len();
    let worlds = clusters.into_iter().map(|setup| {
        let estimates = EstimateProvider::of(&setup.estimates);
        ClusterSim::new(n_jobs, setup.policy, &setup.config, estimates)
    });
    let mut run = ClustersSim {
        worlds: worlds.collect(),
        scratch: ProbeScratch::default(),
        draw,
        routing,
        chosen: Vec::with_capacity(n_jobs),
    };
    run.run(&mut arrivals.enumerate())?;
    run.into_result()
}

struct ClustersSim<'a> {
    worlds: Vec<ClusterSim<'a>>,
    scratch: ProbeScratch,
    draw: ClusterDraw,
    routing: ClusterRouting,
    /// By place in the order of arrival: the cluster of the job.
    chosen: Vec<usize>,
}

impl ClustersSim<'_> {
    fn run(
        &mut self,
        arrivals: &mut dyn Iterator<Item = (usize, JobArrival)>,
    ) -> Result<(), ReplayFailure> {
        let mut arrivals = arrivals.peekable();
        let mut has_begun = vec![false; self.worlds.len()];
        loop {
            let arrival = arrivals.peek().map(|(_, arrival)| arrival.spec.submit);
            let events = self.worlds.iter().filter_map(ClusterSim::next_event);
            let Some(now) = arrival.into_iter().chain(events).min() else {
                return Ok(());
            };
            // A cluster at which nothing happens takes no part in the instant, as if it were alone.
            for (world, begun) in self.worlds.iter_mut().zip(&mut has_begun) {
                *begun = world.next_event() == Some(now);
                if *begun {
                    world.begin_instant(now);
                }
            }
            while let Some((index, arrival)) = arrivals.next_if(|(_, a)| a.spec.submit == now) {
                let at = self.choose(now, index, &arrival);
                self.chosen.push(at);
                let world = &mut self.worlds[at];
                if !std::mem::replace(&mut has_begun[at], true) {
                    world.begin_instant(now);
                }
                world.submit(index, arrival)?;
            }
            for (world, begun) in self.worlds.iter_mut().zip(&has_begun) {
                if *begun {
                    world.end_instant(now)?;
                }
            }
        }
    }

    /// Returns the place of the cluster to which a job goes.
    fn choose(&mut self, now: Instant, index: usize, arrival: &JobArrival) -> usize {
        match self.routing {
            ClusterRouting::Only(at) => at,
            ClusterRouting::Home => self.draw.home(arrival),
            ClusterRouting::Random => self.draw.random(index, arrival),
            ClusterRouting::Best(preference) => {
                let (places, quotes): (Vec<usize>, Vec<ClusterQuote>) = (0..self.worlds.len())
                    .filter_map(|at| Some((at, self.quote(at, now, index, arrival)?)))
                    .unzip();
                let best = rank_quotes(&quotes, preference).first().copied();
                best.map_or(0, |best| places[best])
            }
        }
    }

    /// Returns the quote of a cluster for a job; None if the cluster rejects it.
    fn quote(
        &mut self,
        at: usize,
        now: Instant,
        index: usize,
        arrival: &JobArrival,
    ) -> Option<ClusterQuote> {
        let world = &self.worlds[at];
        let estimate = world.quoted(index, arrival);
        let gate = world.gate();
        let forecast = estimate.forecast.as_ref();
        let decision = gate.quote(now, &estimate.spec, forecast, &mut self.scratch);
        let (score, price) = match decision {
            AdmissionDecision::Reject(_) => return None,
            AdmissionDecision::Queue
            | AdmissionDecision::Unpromised(_)
            | AdmissionDecision::Waitlist { .. } => (QuoteAdmission::Unpromised, None),
            AdmissionDecision::Promise { price, .. } | AdmissionDecision::Run { price } => {
                (QuoteAdmission::Admitted, Some(price))
            }
        };
        let prediction = predict(world, now, &estimate);
        let room = prediction
            .zip(estimate.spec.due())
            .map(|(prediction, due)| due.since(prediction.start));
        let stated = |distribution| StatedBelief {
            distribution,
            n_batches: estimate.n_batches,
            room,
        };
        Some(ClusterQuote {
            belief: estimate.forecast.map(stated),
            ..quote_of(score, price, prediction, now)
        })
    }

    fn into_result(self) -> Result<ClustersResult, ReplayFailure> {
        let mut by_cluster = Vec::with_capacity(self.worlds.len());
        for world in self.worlds {
            by_cluster.push(world.into_outcomes()?);
        }
        let decided = self.chosen.iter().enumerate().map(|(job, &at)| {
            let outcome = by_cluster[at].get_mut(job).and_then(Option::take);
            outcome.ok_or(ReplayFailure::Undecided { job })
        });
        Ok(ClustersResult {
            outcomes: decided.collect::<Result<_, _>>()?,
            clusters: self.chosen,
        })
    }
}

fn quote_of(
    score: QuoteAdmission,
    price: Option<Credits>,
    prediction: Option<JobPrediction>,
    now: Instant,
) -> ClusterQuote {
    ClusterQuote {
        admission: score,
        finish: prediction.map(|prediction| prediction.finish.since(now)),
        latest: prediction.map(|prediction| prediction.latest.since(now)),
        probability: prediction.and_then(|prediction| prediction.decisive),
        price,
        belief: None,
    }
}

/// Predicts the end of a job that is submitted now, as a service does. It does so from the futures that the
/// policy plays, else from one future in which every other job takes its expected time.
fn predict(world: &ClusterSim<'_>, now: Instant, estimate: &JobEstimate) -> Option<JobPrediction> {
    let (gate, spec, due) = (world.gate(), &estimate.spec, estimate.spec.due());
    let certain = Distribution::new([spec.estimate; N_LEVELS]);
    let run_time = estimate.forecast.as_ref().unwrap_or(&certain);
    let subject = OutlookSubject::New((spec, estimate.forecast.as_ref()), 1, estimate.kinship);
    if let Some(runs) = gate.possible_runs(now, subject, None) {
        return JobPrediction::of_runs(runs, due);
    }
    let view = gate.view(now);
    let expected = |job: JobId| {
        let believed = view.forecast(job).map(Distribution::median);
        believed.unwrap_or(view.job(job).spec.estimate)
    };
    let mut ahead = LookAhead::new(gate, now, &expected, MAX_STEPS);
    let horizon = JobPrediction::horizon(run_time, due, Span::ZERO);
    let subject = LookAheadSubject::New(spec, estimate.forecast.as_ref());
    let course = ahead.trajectory(subject, &horizon)?;
    if ahead.steps_left() == 0 {
        return None;
    }
    JobPrediction::of_trajectory(&course, run_time, due, Span::ZERO)
}

/// Draws of clusters in proportion to their capacities.
struct ClusterDraw {
    homes: StreamFamily,
    jobs: StreamFamily,
    /// By place: the nodes of the cluster, their memory, and its capacity.
    sizes: Vec<(u32, Option<Bytes>, f64)>,
}

impl ClusterDraw {
    fn new(clusters: &[ClusterSetup<'_>], seed: u64) -> Self {
        let sizes = clusters.iter().map(|setup| {
            let nodes = setup.config.nodes;
            let capacity = setup.config.speeds.capacity(nodes);
            (nodes, setup.config.node_memory, capacity)
        });
        Self {
            homes: StreamFamily::new(seed, StreamPurpose::HomeClusters),
            jobs: StreamFamily::new(seed, StreamPurpose::RandomClusters),
            sizes: sizes.collect(),
        }
    }

    fn home(&self, arrival: &JobArrival) -> usize {
        let user = u64::from(arrival.spec.user.0);
        self.at(self.homes.stream(user).uniform(), arrival)
    }

    fn random(&self, index: usize, arrival: &JobArrival) -> usize {
        self.at(self.jobs.stream(index as u64).uniform(), arrival)
    }

    /// Returns the cluster at a part of all capacity that could hold the job; the first if none could.
    fn at(&self, part: f64, arrival: &JobArrival) -> usize {
        let fitting = || {
            let sizes = self.sizes.iter().enumerate();
            sizes.filter(|(_, (nodes, memory, _))| *nodes >= arrival.spec_on(*memory).procs)
        };
        let total: f64 = fitting().map(|(_, (_, _, capacity))| capacity).sum();
        let mut left = part * total;
        for (at, (_, _, capacity)) in fitting() {
            left -= capacity;
            if left < 0.0 {
                return at;
            }
        }
        fitting().next_back().map_or(0, |(at, _)| at)
    }
}
