//! Exponential smoothing with components and constants chosen from the series.

use crate::auto_arima::corrected_aic;
use crate::ets_loss::{best_models, losses};
use crate::simplex::{self, SimplexSearch};

/// Minimum number of values for choosing a model.
const MIN_VALUES: usize = 10;
/// Smoothing constants lie between this and one minus this (as in Hyndman et al. 2008).
const MARGIN: f64 = 1e-4;
/// Range of the damping: weaker is no damping, stronger no trend.
const DAMPING: [f64; 2] = [0.8, 0.98];

/// An additive-error model in the notation of Hyndman et al. (2008, ch. 2): ETS(A,N,N),
/// ETS(A,A,N) or ETS(A,Ad,N). There is no season: jobs do not come at equal intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EtsModel {
    /// Weight of a new value for the level.
    pub alpha: f64,
    /// Weight of a new value for the trend, at most `alpha`; zero without a trend.
    pub beta: f64,
    /// The fraction of the trend kept at each step; 1 if the trend is not damped.
    pub phi: f64,
    /// The level before the first value.
    pub level: f64,
    /// The trend before the first value; zero without one.
    pub trend: f64,
}

/// The level and the trend after some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EtsState {
    /// The level of the series.
    pub level: f64,
    /// The change per step.
    pub trend: f64,
}

impl EtsModel {
    /// Fits a model of this form to `values` by the least sum of squared one-step errors, with a search from
    /// the best point of a coarse grid. None for fewer than 10 values.
    pub fn fit(values: &[f64], form: EtsForm) -> Option<Self> {
        if values.len() < MIN_VALUES {
            return None;
        }
        let search = [form.search(values)];
        let [(point, _)] = match form {
            EtsForm::Level => simplex::run::<1, 2, false>(values, search),
            EtsForm::Trend | EtsForm::Damped => simplex::run::<1, 2, true>(values, search),
        };
        Some(form.model(values, point))
    }

    /// Returns the sum of squared one-step errors over `values`, and the state after them.
    pub fn smooth(&self, values: &[f64]) -> (f64, EtsState) {
        let start = EtsState {
            level: self.level,
            trend: self.trend,
        };
        values
            .iter()
            .fold((0.0, start), |(squares, states), value| {
                let (error, states) = self.step(states, *value);
                (squares + error * error, states)
            })
    }

    /// Forecasts the next value.
    pub fn forecast_next(&self, states: EtsState) -> f64 {
        states.level + self.phi * states.trend
    }

    /// Returns the error of the forecast of `value`, and the state after it.
    fn step(&self, states: EtsState, value: f64) -> (f64, EtsState) {
        let expected = self.forecast_next(states);
        let error = value - expected;
        let next = EtsState {
            level: expected + self.alpha * error,
            trend: self.phi * states.trend + self.beta * error,
        };
        (error, next)
    }
}

/// The components, simplest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtsForm {
    /// ETS(A,N,N).
    Level,
    /// ETS(A,A,N).
    Trend,
    /// ETS(A,Ad,N).
    Damped,
}

impl EtsForm {
    /// Returns the number of parameters: smoothing constants, initial state and a variance.
    const fn n_parameters(self) -> usize {
        match self {
            Self::Level => 3,
            Self::Trend => 5,
            Self::Damped => 6,
        }
    }

    /// Returns the number of constants in the search.
    pub(crate) const fn n_free(self) -> usize {
        match self {
            Self::Level => 1,
            Self::Trend => 2,
            Self::Damped => 3,
        }
    }

    /// Maps a point of the unit cube to constants: alpha, beta as a fraction of alpha, and damping.
    pub(crate) fn constants(self, point: [f64; 3]) -> [f64; 3] {
        let part = |x: f64| MARGIN + (1.0 - 2.0 * MARGIN) * x.clamp(0.0, 1.0);
        let alpha = part(point[0]);
        match self {
            Self::Level => [alpha, 0.0, 1.0],
            Self::Trend => [alpha, alpha * part(point[1]), 1.0],
            Self::Damped => {
                let damping = DAMPING[0] + (DAMPING[1] - DAMPING[0]) * point[2].clamp(0.0, 1.0);
                [alpha, alpha * part(point[1]), damping]
            }
        }
    }

    /// Returns the best model of this form with the constants of this point.
    pub(crate) fn model(self, values: &[f64], point: [f64; 3]) -> EtsModel {
        let constants = [self.constants(point)];
        let [model] = match self {
            Self::Level => best_models::<1, false>(values, constants),
            Self::Trend | Self::Damped => best_models::<1, true>(values, constants),
        };
        model
    }

    /// Returns the criterion of the best model of this form whose search has found this loss.
    fn criterion(self, values: &[f64], squares: f64) -> f64 {
        corrected_aic(values.len() as f64, squares, self.n_parameters())
    }

    /// Returns the search of this form: it starts at the best point of a coarse grid.
    pub(crate) fn search(self, values: &[f64]) -> SimplexSearch {
        let steps = |axis: usize, n: usize| if axis < self.n_free() { n } else { 1 };
        let (n_alpha, n_beta, n_damping) = (8, steps(1, 4), steps(2, 2));
        let mut best = ([0.1, 0.1, 0.5], f64::INFINITY);
        // Four points at once: they are a divisor of the steps of alpha.
        for first in (0..n_alpha * n_beta * n_damping).step_by(4) {
            let points: [[f64; 3]; 4] = std::array::from_fn(|i| {
                let place = first + i;
                [
                    0.05 + 0.13 * (place / n_damping / n_beta) as f64,
                    0.02 + 0.25 * (place / n_damping % n_beta) as f64,
                    0.25 + 0.5 * (place % n_damping) as f64,
                ]
            });
            let constants = points.map(|point| self.constants(point));
            let squares = match self {
                Self::Level => losses::<4, false>(values, constants),
                Self::Trend | Self::Damped => losses::<4, true>(values, constants),
            };
            for (point, squares) in points.into_iter().zip(squares) {
                if squares < best.1 {
                    best = (point, squares);
                }
            }
        }
        SimplexSearch::new(self, best)
    }
}

/// The form with the least AICc, as in Hyndman et al. (2008, ch. 5) without seasons and
/// multiplicative errors, with its present state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoEts {
    model: EtsModel,
    states: EtsState,
}

impl AutoEts {
    /// Chooses a model for `values`; None for fewer than 10.
    pub fn choose(values: &[f64]) -> Option<Self> {
        if values.len() < MIN_VALUES {
            return None;
        }
        let of = |form: EtsForm| form.search(values);
        let trends = [of(EtsForm::Trend), of(EtsForm::Damped)];
        let (level, [trend, damped]) = simplex::run_all(values, of(EtsForm::Level), trends);
        let found = [
            (EtsForm::Level, level),
            (EtsForm::Trend, trend),
            (EtsForm::Damped, damped),
        ];
        let fitted = found.map(|(form, (point, loss))| (form.criterion(values, loss), form, point));
        let best = fitted
            .into_iter()
            .reduce(|best, next| if next.0 < best.0 { next } else { best });
        best.map(|(_, form, point)| {
            let model = form.model(values, point);
            Self {
                model,
                states: model.smooth(values).1,
            }
        })
    }

    /// Returns the chosen model.
    pub const fn model(&self) -> &EtsModel {
        &self.model
    }

    /// Forecasts one step ahead.
    pub fn forecast(&self) -> f64 {
        self.model.forecast_next(self.states)
    }

    /// Learns the next value.
    pub fn learn(&mut self, value: f64) {
        self.states = self.model.step(self.states, value).1;
    }
}
