//! Exponential smoothing with components and constants chosen from the series.

use super::auto_arima::corrected_aic;
use super::side_by_side::SideBySide;

/// Minimum number of values for choosing a model.
const MIN_VALUES: usize = 10;
/// Smoothing constants lie between this and one minus this (as in Hyndman et al. 2008).
const MARGIN: f64 = 1e-4;
/// Range of the damping: weaker is no damping, stronger no trend.
const DAMPING: [f64; 2] = [0.8, 0.98];
/// Number of moves of the simplex.
const MOVES: usize = 60;

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
    /// Fits a model of this form to `values` by the least sum of squared one-step errors, with a
    /// search from the best point of a coarse grid; None for fewer than 10 values.
    pub fn fit(values: &[f64], form: EtsForm) -> Option<Self> {
        (values.len() >= MIN_VALUES).then(|| form.fit(values).1)
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

    /// Returns the models with these constants and the initial state that fits `values` best: errors
    /// are linear in the initial state.
    fn with<const N: usize>(values: &[f64], constants: [[f64; 3]; N], trending: bool) -> [Self; N] {
        let constant = |place: usize| SideBySide(constants.map(|constants| constants[place]));
        let (alpha, beta, phi) = (constant(0), constant(1), constant(2));
        let (zero, one) = (SideBySide::all(0.0), SideBySide::all(1.0));
        let kept = one - alpha;
        let (mut level, mut trend) = (SideBySide::all(values[0]), zero);
        // The contributions of the initial level and the initial trend to the state.
        let (mut of_level, mut of_trend) = ([one, zero], [zero, one]);
        let (mut ll, mut lt, mut tt, mut le, mut te) = (zero, zero, zero, zero, zero);
        for value in values {
            let expected = level + phi * trend;
            let error = SideBySide::all(*value) - expected;
            let l = of_level[0] + phi * of_level[1];
            ll = ll + l * l;
            le = le + l * error;
            level = expected + alpha * error;
            trend = phi * trend + beta * error;
            of_level = [l * kept, phi * of_level[1] - beta * l];
            if trending {
                let t = of_trend[0] + phi * of_trend[1];
                lt = lt + l * t;
                tt = tt + t * t;
                te = te + t * error;
                of_trend = [t * kept, phi * of_trend[1] - beta * t];
            }
        }
        std::array::from_fn(|i| {
            let [alpha, beta, phi] = constants[i];
            let (ll, lt, tt, le, te) = (ll.0[i], lt.0[i], tt.0[i], le.0[i], te.0[i]);
            let determinant = ll * tt - lt * lt;
            let (level, trend) = if trending && determinant > 1e-9 * ll * tt {
                let level = (le * tt - te * lt) / determinant;
                (values[0] + level, (te * ll - le * lt) / determinant)
            } else {
                (values[0] + le / ll, 0.0)
            };
            Self {
                alpha,
                beta,
                phi,
                level,
                trend,
            }
        })
    }

    /// Returns the sum of squared one-step errors of each model over `values`.
    fn squared_errors<const N: usize>(models: &[Self; N], values: &[f64]) -> [f64; N] {
        let constant = |of: fn(&Self) -> f64| SideBySide(models.each_ref().map(of));
        let alpha = constant(|model| model.alpha);
        let beta = constant(|model| model.beta);
        let phi = constant(|model| model.phi);
        let mut level = constant(|model| model.level);
        let mut trend = constant(|model| model.trend);
        let mut squares = SideBySide::all(0.0);
        for value in values {
            let expected = level + phi * trend;
            let error = SideBySide::all(*value) - expected;
            squares = squares + error * error;
            level = expected + alpha * error;
            trend = phi * trend + beta * error;
        }
        squares.0
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
    const fn n_free(self) -> usize {
        match self {
            Self::Level => 1,
            Self::Trend => 2,
            Self::Damped => 3,
        }
    }

    /// Maps a point of the unit cube to constants: alpha, beta as a fraction of alpha, and damping.
    fn constants(self, point: [f64; 3]) -> [f64; 3] {
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

    /// Returns the best models of this form with the constants of these points.
    fn models<const N: usize>(self, values: &[f64], points: [[f64; 3]; N]) -> [EtsModel; N] {
        let constants = points.map(|point| self.constants(point));
        match self {
            Self::Level => EtsModel::with(values, constants, false),
            Self::Trend | Self::Damped => EtsModel::with(values, constants, true),
        }
    }

    fn losses<const N: usize>(self, values: &[f64], points: [[f64; 3]; N]) -> [f64; N] {
        EtsModel::squared_errors(&self.models(values, points), values)
    }

    /// Returns the best model of this form: the best point of a coarse grid, then a simplex search
    /// from there (Nelder & Mead 1965).
    fn fit(self, values: &[f64]) -> (f64, EtsModel) {
        let steps = |axis: usize, n: usize| if axis < self.n_free() { n } else { 1 };
        let (n_alpha, n_beta, n_damping) = (8, steps(1, 4), steps(2, 2));
        let mut best = ([0.1, 0.1, 0.5], f64::INFINITY);
        // Four points at once: they are a divisor of the steps of alpha.
        for first in (0..n_alpha * n_beta * n_damping).step_by(4) {
            let points = std::array::from_fn(|i| {
                let place = first + i;
                [
                    0.05 + 0.13 * (place / n_damping / n_beta) as f64,
                    0.02 + 0.25 * (place / n_damping % n_beta) as f64,
                    0.25 + 0.5 * (place % n_damping) as f64,
                ]
            });
            let losses: [f64; 4] = self.losses(values, points);
            for (point, squares) in points.into_iter().zip(losses) {
                if squares < best.1 {
                    best = (point, squares);
                }
            }
        }
        let (point, squares) = self.simplex(values, best);
        let n = values.len() as f64;
        let criterion = corrected_aic(n, squares, self.n_parameters());
        let [model] = self.models(values, [point]);
        (criterion, model)
    }

    /// Returns the lowest point reached by a simplex around `start`; only the searched axes move.
    fn simplex(self, values: &[f64], start: SearchPoint) -> SearchPoint {
        let n_free = self.n_free();
        let mut corners = vec![start];
        for axis in 0..n_free {
            let mut point = start.0;
            point[axis] += if point[axis] > 0.8 { -0.1 } else { 0.1 };
            let [loss] = self.losses(values, [point]);
            corners.push((point, loss));
        }
        for _ in 0..MOVES {
            corners.sort_by(|a, b| a.1.total_cmp(&b.1));
            let worst = corners[n_free];
            let mut centre = [0.0; 3];
            for (point, _) in &corners[..n_free] {
                for (c, x) in centre.iter_mut().zip(point) {
                    *c += x / n_free as f64;
                }
            }
            // Two losses take hardly longer than one, and mostly one of these two points is taken.
            let points = [2.0, 0.5].map(|part| along(worst.0, centre, part));
            let losses = self.losses(values, points);
            let [reflected, contracted] = [0, 1].map(|i| (points[i], losses[i]));
            corners[n_free] = if reflected.1 < corners[0].1 {
                let point = along(worst.0, centre, 3.0);
                let [loss] = self.losses(values, [point]);
                if loss < reflected.1 {
                    (point, loss)
                } else {
                    reflected
                }
            } else if reflected.1 < corners[n_free - 1].1 {
                reflected
            } else {
                contracted
            };
            if corners[n_free].1 >= worst.1 {
                self.shrink(values, &mut corners);
            }
        }
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        corners[0]
    }

    /// Moves all corners but the first halfway to the first.
    fn shrink(self, values: &[f64], corners: &mut [SearchPoint]) {
        let best = corners[0].0;
        for pair in corners[1..].chunks_mut(2) {
            // A single corner is computed twice.
            let points = [0, pair.len() - 1].map(|i| along(pair[i].0, best, 0.5));
            let losses = self.losses(values, points);
            for (i, corner) in pair.iter_mut().enumerate() {
                *corner = (points[i], losses[i]);
            }
        }
    }
}

/// A point of the unit cube, and its loss.
type SearchPoint = ([f64; 3], f64);

/// Returns the point at `part` of the way between two points, within the unit cube.
fn along(from: [f64; 3], to: [f64; 3], part: f64) -> [f64; 3] {
    std::array::from_fn(|i| (from[i] + part * (to[i] - from[i])).clamp(0.0, 1.0))
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
        let fitted = [EtsForm::Level, EtsForm::Trend, EtsForm::Damped].map(|form| form.fit(values));
        let best = fitted
            .into_iter()
            .reduce(|best, next| if next.0 < best.0 { next } else { best });
        best.map(|(_, model)| Self {
            model,
            states: model.smooth(values).1,
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
