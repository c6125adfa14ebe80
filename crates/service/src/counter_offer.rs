//! Counter-offers: changes under which a rejected job would be admitted, or an admitted one with more
//! confidence.

use tollgate_gate::AdmissionDecision;
use tollgate_model::{Credits, Instant, Probability, Span};

use crate::admission_candidate::AdmissionCandidate;
use crate::command::Submission;
use crate::core::Core;
use crate::output::{AdmissionState, CounterOffer, OfferAxis};
use crate::runtime_forecast::RuntimeForecast;

/// Maximum number of policy probes for the counter-offers to one submission, over all axes.
const MAX_PROBES: u32 = 64;
/// Minimum probabilities of surer promises, in millionths.
const SURER: [u32; 2] = [950_000, 990_000];
/// Maximum deadline of an offer: a year.
const MAX_DEADLINE: Span = Span::from_secs(366 * 86_400);
/// Maximum budget of an offer, in credits.
const MAX_BUDGET: f64 = 1e12;
/// Precision of the search: the relative distance between an offer and a rejected value.
const TOLERANCE: f64 = 1.0 / 64.0;

/// A search along the axes for jobs that would be admitted.
struct OfferSearch<'a> {
    core: &'a mut Core,
    at: Instant,
    submission: &'a Submission,
    forecast: &'a RuntimeForecast,
    probes: u32,
}

impl Core {
    /// Returns at most one offer for each axis: the submitted job, changed on that axis only.
    /// Admission is not monotone under every policy, so an offer need not be the nearest. Each
    /// offer was probed once more in its final form, and would be admitted at `at`.
    pub(crate) fn counter_offers(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> Vec<CounterOffer> {
        let mut search = OfferSearch {
            core: self,
            at,
            submission,
            forecast,
            probes: 0,
        };
        let found = [search.deadline(), search.budget(), search.procs()];
        let changed = found.into_iter().flatten();
        changed
            .filter_map(|(axis, changed)| self.confirm(at, axis, &changed, forecast))
            .collect()
    }

    /// Returns the promises that would be surer than the one that the submission got, at their prices. A
    /// policy with a level of its own keeps more time for them; under others no promise can be made surer.
    pub(crate) fn surer_promises(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> Vec<CounterOffer> {
        if submission.deadline.is_none() || !self.rules.policy.uses_beliefs() {
            return Vec::new();
        }
        let surer = SURER
            .into_iter()
            .filter(|&level| Some(level) > submission.confidence);
        let offer = |level| {
            let changed = Submission {
                confidence: Some(level),
                ..submission.clone()
            };
            let offer = self.confirm(at, OfferAxis::Confidence, &changed, forecast)?;
            // A level is offered only if enough promises were kept to state as much.
            let is_stated = |least: Probability| {
                let stated = offer.probability.map(Probability::as_f64);
                stated.is_some_and(|stated| stated >= least.as_f64())
            };
            changed
                .least_probability()
                .is_some_and(is_stated)
                .then_some(offer)
        };
        surer.filter_map(offer).collect()
    }

    /// Returns the number of tasks of an array that would be promised together at `at`. Admission is not
    /// monotone, so it need not be the largest; that many were tested.
    pub(crate) fn promisable_tasks(
        &mut self,
        at: Instant,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> u32 {
        let mut search = OfferSearch {
            core: self,
            at,
            submission,
            forecast,
            probes: 0,
        };
        let all = submission.options.n_together();
        search.most_below(all, &|n_tasks| submission.of_first_tasks(n_tasks))
    }

    fn confirm(
        &mut self,
        at: Instant,
        axis: OfferAxis,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> Option<CounterOffer> {
        let answer = self.evaluate_without_offers(at, submission, forecast);
        let price = match answer.admission {
            AdmissionState::Accepted { price, .. } => Some(price),
            AdmissionState::Queued | AdmissionState::Deferred => None,
            AdmissionState::Rejected(_)
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Unpromised(_) => return None,
        };
        let probability = answer.prediction.and_then(|prospect| prospect.probability);
        Some(CounterOffer {
            axis,
            deadline: submission.deadline,
            budget: submission.budget,
            procs: submission.procs,
            confidence: submission.least_probability(),
            price,
            probability,
        })
    }
}

impl OfferSearch<'_> {
    fn deadline(&mut self) -> Option<(OfferAxis, Submission)> {
        let from = self.submission.deadline?;
        let with = |secs: f64| Submission {
            deadline: Some(Span::ceil_secs_f64(secs)),
            ..self.submission.clone()
        };
        let limits = (from.as_secs_f64(), MAX_DEADLINE.as_secs_f64());
        let secs = self.search_up(limits, &with)?;
        // A rounded deadline is as good, if it is admitted as well.
        let unit = if secs < 600.0 { 1.0 } else { 60.0 };
        let round = with((secs / unit).ceil() * unit);
        let changed = if self.is_acceptable(&round) {
            round
        } else {
            with(secs)
        };
        Some((OfferAxis::Deadline, changed))
    }

    fn budget(&mut self) -> Option<(OfferAxis, Submission)> {
        let from = self.submission.budget?;
        let with = |credits: f64| Submission {
            budget: Some(Credits::from_f64(credits)),
            ..self.submission.clone()
        };
        // In most cases no budget helps, which this one probe finds out.
        if !self.is_acceptable(&with(MAX_BUDGET)) {
            return None;
        }
        let credits = self.search_up((from.as_f64().max(0.01), MAX_BUDGET), &with)?;
        let round = with((credits * 100.0).ceil() / 100.0);
        let changed = if self.is_acceptable(&round) {
            round
        } else {
            with(credits)
        };
        Some((OfferAxis::Budget, changed))
    }

    /// Returns a value above the first limit and at most the second one with which the job would be
    /// admitted, close to a value with which it would not. The search doubles the value until the
    /// job is admitted, and then bisects.
    fn search_up(&mut self, limits: (f64, f64), with: &dyn Fn(f64) -> Submission) -> Option<f64> {
        let (mut refused, most) = limits;
        let mut taken = refused;
        while !self.is_acceptable(&with(taken)) {
            if taken >= most || self.probes >= MAX_PROBES {
                return None;
            }
            refused = taken;
            taken = (taken * 2.0).min(most);
        }
        while taken - refused > TOLERANCE * taken && self.probes < MAX_PROBES {
            let middle = (taken * refused).sqrt();
            if self.is_acceptable(&with(middle)) {
                taken = middle;
            } else {
                refused = middle;
            }
        }
        Some(taken)
    }

    fn procs(&mut self) -> Option<(OfferAxis, Submission)> {
        let with = |procs| Submission {
            procs,
            ..self.submission.clone()
        };
        let taken = self.most_below(self.submission.procs, &with);
        (taken > 0).then(|| (OfferAxis::Procs, with(taken)))
    }

    /// Returns a number below `refused` with which the job would be admitted, and with one more would not;
    /// 0 if there is none.
    fn most_below(&mut self, refused: u32, with: &dyn Fn(u32) -> Submission) -> u32 {
        let (mut taken, mut refused) = (0, refused);
        while refused - taken > 1 && self.probes < MAX_PROBES {
            let middle = taken + (refused - taken) / 2;
            if self.is_acceptable(&with(middle)) {
                taken = middle;
            } else {
                refused = middle;
            }
        }
        taken
    }

    /// Returns whether the job would be admitted with enough confidence: it keeps its deadline with
    /// a run time at the quantile of the minimum probability.
    fn is_acceptable(&mut self, submission: &Submission) -> bool {
        self.probes += 1;
        if self.core.host_refusal(submission).is_some() {
            return false;
        }
        let (estimate, _) = self.forecast.estimate();
        let spec = self.core.spec_of(submission, estimate, self.at);
        let candidate = AdmissionCandidate::new(submission, spec, self.forecast);
        let (policy_spec, forecast) = self.core.policy_request(&candidate);
        let count = submission.options.n_together();
        let verdict = self
            .core
            .decide_together(self.at, &policy_spec, &forecast, count);
        let promised = match verdict {
            AdmissionDecision::Reject(_)
            | AdmissionDecision::Waitlist { .. }
            | AdmissionDecision::Unpromised(_) => return false,
            AdmissionDecision::Queue => false,
            AdmissionDecision::Promise { .. } | AdmissionDecision::Run { .. } => true,
        };
        let floor = self.core.confidence_threshold(submission, promised);
        let least = floor.and_then(|floor| Probability::new(floor.min_probability()));
        least.is_none_or(|least| self.core.meets_deadline(self.at, &candidate, least))
    }
}
