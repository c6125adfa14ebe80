//! Exponential smoothing with the components and constants that the series chooses.

use super::auto_arima::corrected_aic;

/// The fewest values that a model is chosen on.
const MIN_VALUES: usize = 10;
/// Smoothing constants lie between this and one less this (as in Hyndman et al. 2008).
const MARGIN: f64 = 1e-4;
/// Damping lies between these: weaker is no damping, stronger no trend.
const DAMPING: [f64; 2] = [0.8, 0.98];
/// How often the simplex is moved.
const MOVES: usize = 60;

/// An additive-error model in the notation of Hyndman et al. (2008, ch. 2): ETS(A,N,N),
/// ETS(A,A,N) or ETS(A,Ad,N). There is no season: jobs do not come at equal intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EtsModel {
    /// How much a new value counts for the level.
    pub alpha: f64,
    /// How much it counts for the trend, at most `alpha`; zero without one.
    pub beta: f64,
    /// What is left of the trend at each step; 1 where it is not damped.
    pub phi: f64,
    /// The level before the first value.
    pub level: f64,
    /// The trend before the first value; zero without one.
    pub trend: f64,
}

/// The level and the trend after some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EtsState {
    /// Where the series is.
    pub level: f64,
    /// How far it moves at each step.
    pub trend: f64,
}

impl EtsModel {
    /// The model of this form with the least sum of squared one-step errors over `values` that a
    /// search from the best point of a coarse grid comes to; none for fewer than 10.
    pub fn fit(values: &[f64], form: EtsForm) -> Option<Self> {
        (values.len() >= MIN_VALUES).then(|| form.fit(values).1)
    }

    /// The sum of squared one-step errors over `values`, and the states after them.
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

    /// The forecast of the next value.
    pub fn forecast_next(&self, states: EtsState) -> f64 {
        states.level + self.phi * states.trend
    }

    /// How far off the forecast of `value` was, and the states after it.
    fn step(&self, states: EtsState, value: f64) -> (f64, EtsState) {
        let expected = self.forecast_next(states);
        let error = value - expected;
        let next = EtsState {
            level: expected + self.alpha * error,
            trend: self.phi * states.trend + self.beta * error,
        };
        (error, next)
    }

    /// The model with these constants and the initial states that fit `values` best: errors are
    /// linear in them.
    fn with(values: &[f64], [alpha, beta, phi]: [f64; 3], trending: bool) -> Self {
        let mut model = Self {
            alpha,
            beta,
            phi,
            level: values[0],
            trend: 0.0,
        };
        // How much of an initial level, and of an initial trend, is left in the states.
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
    /// Smoothing constants, initial states and a variance.
    const fn n_parameters(self) -> usize {
        match self {
            Self::Level => 3,
            Self::Trend => 5,
            Self::Damped => 6,
        }
    }

    /// How many of the constants are searched for.
    const fn n_free(self) -> usize {
        match self {
            Self::Level => 1,
            Self::Trend => 2,
            Self::Damped => 3,
        }
    }

    /// Constants from a point of the unit cube: alpha, beta as a part of it, and damping.
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

    /// The best model of this form: the best point of a coarse grid, then a simplex from there
    /// (Nelder & Mead 1965).
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

/// The least point that a simplex around `start` comes to; only the first `n_free` axes move.
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
/// multiplicative errors, and the states it has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoEts {
    model: EtsModel,
    states: EtsState,
}

impl AutoEts {
    /// The model of `values`; none for fewer than 10.
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

    /// The model that was chosen.
    pub const fn model(&self) -> &EtsModel {
        &self.model
    }

    /// One step ahead.
    pub fn forecast(&self) -> f64 {
        self.model.forecast_next(self.states)
    }

    /// Takes in the next value.
    pub fn learn(&mut self, value: f64) {
        self.states = self.model.step(self.states, value).1;
    }
}
