//! Exponential smoothing with components and constants chosen from the series.

use super::auto_arima::corrected_aic;

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

    /// Returns the model with these constants and the initial state that fits `values` best: errors
    /// are linear in the initial state.
    fn with(values: &[f64], [alpha, beta, phi]: [f64; 3], trending: bool) -> Self {
        let mut model = Self {
            alpha,
            beta,
            phi,
            level: values[0],
            trend: 0.0,
        };
        // The contributions of the initial level and the initial trend to the state.
        let (mut of_level, mut of_trend) = ([1.0, 0.0], [0.0, 1.0]);
        let mut states = model.smooth(&[]).1;
        let (mut ll, mut lt, mut tt, mut le, mut te) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for value in values {
            let (error, next) = model.step(states, *value);
            let l = of_level[0] + phi * of_level[1];
            let t = of_trend[0] + phi * of_trend[1];
            ll += l * l;
            lt += l * t;
            tt += t * t;
            le += l * error;
            te += t * error;
            states = next;
            of_level = [l * (1.0 - alpha), phi * of_level[1] - beta * l];
            of_trend = [t * (1.0 - alpha), phi * of_trend[1] - beta * t];
        }
        let determinant = ll * tt - lt * lt;
        if trending && determinant > 1e-9 * ll * tt {
            model.level += (le * tt - te * lt) / determinant;
            model.trend = (te * ll - le * lt) / determinant;
        } else {
            model.level += le / ll;
        }
        model
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

    fn model(self, values: &[f64], point: [f64; 3]) -> EtsModel {
        EtsModel::with(values, self.constants(point), self != Self::Level)
    }

    /// Returns the best model of this form: the best point of a coarse grid, then a simplex search
    /// from there (Nelder & Mead 1965).
    fn fit(self, values: &[f64]) -> (f64, EtsModel) {
        let loss = |point: [f64; 3]| self.model(values, point).smooth(values).0;
        let steps = |axis: usize, n: usize| if axis < self.n_free() { n } else { 1 };
        let mut best = ([0.1, 0.1, 0.5], f64::INFINITY);
        for a in 0..steps(0, 8) {
            for b in 0..steps(1, 4) {
                for damping in 0..steps(2, 2) {
                    let point = [
                        0.05 + 0.13 * a as f64,
                        0.02 + 0.25 * b as f64,
                        0.25 + 0.5 * damping as f64,
                    ];
                    let squares = loss(point);
                    if squares < best.1 {
                        best = (point, squares);
                    }
                }
            }
        }
        let (point, squares) = simplex(best, self.n_free(), loss);
        let n = values.len() as f64;
        let criterion = corrected_aic(n, squares, self.n_parameters());
        (criterion, self.model(values, point))
    }
}

/// Returns the lowest point reached by a simplex around `start`; only the first `n_free` axes move.
fn simplex(
    start: ([f64; 3], f64),
    n_free: usize,
    loss: impl Fn([f64; 3]) -> f64,
) -> ([f64; 3], f64) {
    let mut corners = vec![start];
    for axis in 0..n_free {
        let mut point = start.0;
        point[axis] += if point[axis] > 0.8 { -0.1 } else { 0.1 };
        corners.push((point, loss(point)));
    }
    let along = |from: [f64; 3], to: [f64; 3], part: f64| {
        let point: [f64; 3] =
            std::array::from_fn(|i| (from[i] + part * (to[i] - from[i])).clamp(0.0, 1.0));
        (point, loss(point))
    };
    for _ in 0..MOVES {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst = corners[n_free];
        let mut centre = [0.0; 3];
        for (point, _) in &corners[..n_free] {
            for (c, x) in centre.iter_mut().zip(point) {
                *c += x / n_free as f64;
            }
        }
        let reflected = along(worst.0, centre, 2.0);
        corners[n_free] = if reflected.1 < corners[0].1 {
            let expanded = along(worst.0, centre, 3.0);
            if expanded.1 < reflected.1 {
                expanded
            } else {
                reflected
            }
        } else if reflected.1 < corners[n_free - 1].1 {
            reflected
        } else {
            along(worst.0, centre, 0.5)
        };
        if corners[n_free].1 >= worst.1 {
            let best = corners[0].0;
            for corner in &mut corners[1..] {
                *corner = along(corner.0, best, 0.5);
            }
        }
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    corners[0]
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
