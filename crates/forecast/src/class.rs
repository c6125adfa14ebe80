//! A class of jobs: its model, and a challenger model while its mode may be changing.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;
use tollgate_model::distribution::N_LEVELS;

use crate::change_point::{AlarmTriggers, ContestOutcome, ModelContest};
use crate::expert::Expert;
use crate::history::JobFeatures;
use crate::model::{ForecastDetails, ModeModel};
use crate::site_prior::SitePrior;
use crate::stage::ClassStage;

/// The state of one class of jobs. Its size is bounded, whatever it has learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassState {
    champion: ModeModel,
    challenger: Option<ChallengerModel>,
    /// Number of modes before the present one.
    mode: u32,
    /// Submission of the first job of the present mode, in microseconds.
    since: i64,
    learned: u64,
    /// Per level: number of promises that fell due, and number of them that were kept.
    judged: [(u64, u64); N_LEVELS],
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ChallengerModel {
    model: ModeModel,
    contest: ModelContest,
    /// Submission of the job that raised the alarm, in microseconds.
    since: i64,
}

/// The effect of one more job on the mode of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassEvent {
    /// No change.
    Usual,
    /// The job was odd: a challenger starts.
    Alarm,
    /// The class has changed its mode: the challenger has taken over.
    NewMode,
    /// The oddity has passed: the challenger is dropped.
    Anomaly,
}

impl ClassState {
    pub(crate) fn stage(&self) -> ClassStage {
        ClassStage::of(
            self.champion.history().runs().len(),
            self.challenger.is_some(),
        )
    }

    pub(crate) fn mode(&self) -> u32 {
        self.mode
    }

    /// Returns a copy of this class that counts its own jobs.
    pub(crate) fn fork(&self) -> Self {
        Self {
            learned: 0,
            judged: Default::default(),
            ..self.clone()
        }
    }

    pub(crate) fn model(&self) -> &ModeModel {
        &self.champion
    }

    pub(crate) fn since(&self) -> Instant {
        Instant::from_micros(self.since)
    }

    pub(crate) fn judged(&self) -> &[(u64, u64); N_LEVELS] {
        &self.judged
    }

    pub(crate) fn n_learned(&self) -> u64 {
        self.learned
    }

    pub(crate) fn leader(&self) -> Expert {
        self.champion.leader()
    }

    pub(crate) fn forecast(&self, features: JobFeatures, pool: &SitePrior) -> ForecastDetails {
        self.champion.forecast(features, self.stage(), pool)
    }

    /// Records whether the promise at the level of this index was kept.
    pub(crate) fn judge(&mut self, level_idx: usize, kept: bool) {
        self.champion.judge(level_idx, kept);
        let (judged, held) = &mut self.judged[level_idx];
        *judged += 1;
        *held += u64::from(kept);
    }

    /// Learns that a job with the forecast `details` ran for `ln_run`; `details` must come from the
    /// present mode.
    pub(crate) fn learn(
        &mut self,
        (features, submit): (JobFeatures, Instant),
        details: &ForecastDetails,
        ln_run: f64,
        (triggers, pool): (&AlarmTriggers, &SitePrior),
    ) -> ClassEvent {
        if self.learned == 0 && self.mode == 0 {
            self.since = submit.as_micros();
        }
        self.learned += 1;
        let event = match &mut self.challenger {
            Some(challenger) => challenger.compete(&self.champion, features, ln_run, pool),
            None => self.check_alarm(triggers, details, ln_run),
        };
        self.champion.learn(features, details, ln_run);
        match event {
            ClassEvent::Usual => {}
            ClassEvent::Alarm => {
                let mut challenger = ChallengerModel::started_at(submit);
                challenger.learn(features, ln_run, pool);
                self.challenger = Some(challenger);
            }
            ClassEvent::Anomaly => self.challenger = None,
            ClassEvent::NewMode => self.promote_challenger(),
        }
        event
    }

    fn check_alarm(
        &self,
        triggers: &AlarmTriggers,
        details: &ForecastDetails,
        ln_run: f64,
    ) -> ClassEvent {
        let past = self.champion.history().runs().arrived();
        let usual = || self.champion.usual_error();
        if triggers.alarm(past, details.point, ln_run, usual) {
            ClassEvent::Alarm
        } else {
            ClassEvent::Usual
        }
    }

    fn promote_challenger(&mut self) {
        if let Some(mut challenger) = self.challenger.take() {
            challenger.model.inherit_offsets(&self.champion);
            self.champion = challenger.model;
            self.since = challenger.since;
            self.mode += 1;
        }
    }
}

impl ChallengerModel {
    /// Creates a challenger without history; the odd job was submitted at `since`.
    fn started_at(since: Instant) -> Self {
        Self {
            since: since.as_micros(),
            ..Self::default()
        }
    }

    /// Runs one round: both models forecast the job from their present state, and the challenger
    /// learns it.
    fn compete(
        &mut self,
        champion: &ModeModel,
        features: JobFeatures,
        ln_run: f64,
        pool: &SitePrior,
    ) -> ClassEvent {
        let error = |point: f64| (point - ln_run).abs();
        let details = self.forecast(features, pool);
        let champion = champion.expert_forecasts(features).1.map(error);
        let own = details.has_opinions().then(|| error(details.point));
        let errors = champion.zip(own);
        self.model.learn(features, &details, ln_run);
        match self.contest.record_errors(errors) {
            ContestOutcome::Open => ClassEvent::Usual,
            ContestOutcome::ChallengerWins => ClassEvent::NewMode,
            ContestOutcome::ChampionStays => ClassEvent::Anomaly,
        }
    }

    fn learn(&mut self, features: JobFeatures, ln_run: f64, pool: &SitePrior) {
        let details = self.forecast(features, pool);
        self.model.learn(features, &details, ln_run);
    }

    fn forecast(&self, features: JobFeatures, pool: &SitePrior) -> ForecastDetails {
        let stage = ClassStage::of(self.model.history().runs().len(), false);
        self.model.forecast(features, stage, pool)
    }
}
