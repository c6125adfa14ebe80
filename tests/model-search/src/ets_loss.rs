//! The losses of constants of exponential smoothing: the least sums of squared errors that they leave.
//!
//! Each step of a series waits for the step before. So independent models are computed side by side,
//! and those without a trend beside those with one.

use crate::auto_ets::EtsModel;
use tollgate_forecast::side_by_side::SideBySide;

/// Returns the models with these constants and the initial state that fits `values` best; as to
/// `TRENDING` see [`StartFit`].
pub(crate) fn best_models<const N: usize, const TRENDING: bool>(
    values: &[f64],
    constants: [[f64; 3]; N],
) -> [EtsModel; N] {
    let mut fit = StartFit::<N, TRENDING>::new(values[0], constants);
    for value in values {
        fit.follow(*value);
    }
    fit.models()
}

/// Returns the least sum of squared one-step errors over `values` with each of these constants; as to
/// `TRENDING` see [`StartFit`].
pub(crate) fn losses<const N: usize, const TRENDING: bool>(
    values: &[f64],
    constants: [[f64; 3]; N],
) -> [f64; N] {
    let models = best_models::<N, TRENDING>(values, constants);
    let mut errors = SquaredErrors::<N, TRENDING>::of(models);
    for value in values {
        errors.follow(*value);
    }
    errors.squares.0
}

/// Returns the losses of models without and with a trend in the time that the latter take alone.
pub(crate) fn losses_of_both<const N: usize, const M: usize>(
    values: &[f64],
    level: [[f64; 3]; N],
    trending: [[f64; 3]; M],
) -> ([f64; N], [f64; M]) {
    let mut level = StartFit::<N, false>::new(values[0], level);
    let mut trending = StartFit::<M, true>::new(values[0], trending);
    for value in values {
        level.follow(*value);
        trending.follow(*value);
    }
    let mut level = SquaredErrors::<N, false>::of(level.models());
    let mut trending = SquaredErrors::<M, true>::of(trending.models());
    for value in values {
        level.follow(*value);
        trending.follow(*value);
    }
    (level.squares.0, trending.squares.0)
}

/// The search for the initial state that fits a series best, for several constants side by side: errors
/// are linear in the initial state. Without `TRENDING` no model has a trend, and beta is 0 and phi 1: the
/// terms of the trend are left out, which are zero.
struct StartFit<const N: usize, const TRENDING: bool> {
    first: f64,
    constants: [[f64; 3]; N],
    alpha: SideBySide<N>,
    beta: SideBySide<N>,
    phi: SideBySide<N>,
    kept: SideBySide<N>,
    /// The state after the values so far, from the first value without a trend.
    level: SideBySide<N>,
    trend: SideBySide<N>,
    /// The contributions of the initial level and of the initial trend to the state.
    of_level: [SideBySide<N>; 2],
    of_trend: [SideBySide<N>; 2],
    /// The sums of the products of these contributions to the forecasts with each other and with the errors.
    products: [SideBySide<N>; 5],
}

impl<const N: usize, const TRENDING: bool> StartFit<N, TRENDING> {
    #[inline(always)]
    fn new(first: f64, constants: [[f64; 3]; N]) -> Self {
        let constant = |place: usize| SideBySide(constants.map(|constants| constants[place]));
        let (zero, one) = (SideBySide::all(0.0), SideBySide::all(1.0));
        Self {
            first,
            constants,
            alpha: constant(0),
            beta: constant(1),
            phi: constant(2),
            kept: one - constant(0),
            level: SideBySide::all(first),
            trend: zero,
            of_level: [one, zero],
            of_trend: [zero, one],
            products: [zero; 5],
        }
    }

    /// Goes on to the next value.
    #[inline(always)]
    fn follow(&mut self, value: f64) {
        let (alpha, beta, phi, kept) = (self.alpha, self.beta, self.phi, self.kept);
        let [ll, lt, tt, le, te] = &mut self.products;
        let (mut expected, mut l) = (self.level, self.of_level[0]);
        if TRENDING {
            expected = expected + phi * self.trend;
            l = l + phi * self.of_level[1];
        }
        let error = SideBySide::all(value) - expected;
        *ll = *ll + l * l;
        *le = *le + l * error;
        self.level = expected + alpha * error;
        self.of_level[0] = l * kept;
        if TRENDING {
            self.trend = phi * self.trend + beta * error;
            self.of_level[1] = phi * self.of_level[1] - beta * l;
            let t = self.of_trend[0] + phi * self.of_trend[1];
            *lt = *lt + l * t;
            *tt = *tt + t * t;
            *te = *te + t * error;
            self.of_trend = [t * kept, phi * self.of_trend[1] - beta * t];
        }
    }

    #[inline(always)]
    fn models(self) -> [EtsModel; N] {
        std::array::from_fn(|i| {
            let [alpha, beta, phi] = self.constants[i];
            let [ll, lt, tt, le, te] = self.products.map(|products| products.0[i]);
            let determinant = ll * tt - lt * lt;
            let (level, trend) = if TRENDING && determinant > 1e-9 * ll * tt {
                let level = (le * tt - te * lt) / determinant;
                (self.first + level, (te * ll - le * lt) / determinant)
            } else {
                (self.first + le / ll, 0.0)
            };
            EtsModel {
                alpha,
                beta,
                phi,
                level,
                trend,
            }
        })
    }
}

/// The sums of squared one-step errors of several models side by side; as to `TRENDING` see [`StartFit`].
struct SquaredErrors<const N: usize, const TRENDING: bool> {
    alpha: SideBySide<N>,
    beta: SideBySide<N>,
    phi: SideBySide<N>,
    level: SideBySide<N>,
    trend: SideBySide<N>,
    squares: SideBySide<N>,
}

impl<const N: usize, const TRENDING: bool> SquaredErrors<N, TRENDING> {
    #[inline(always)]
    fn of(models: [EtsModel; N]) -> Self {
        let constant = |of: fn(&EtsModel) -> f64| SideBySide(models.each_ref().map(of));
        Self {
            alpha: constant(|model| model.alpha),
            beta: constant(|model| model.beta),
            phi: constant(|model| model.phi),
            level: constant(|model| model.level),
            trend: constant(|model| model.trend),
            squares: SideBySide::all(0.0),
        }
    }

    /// Goes on to the next value.
    #[inline(always)]
    fn follow(&mut self, value: f64) {
        let mut expected = self.level;
        if TRENDING {
            expected = expected + self.phi * self.trend;
        }
        let error = SideBySide::all(value) - expected;
        self.squares = self.squares + error * error;
        self.level = expected + self.alpha * error;
        if TRENDING {
            self.trend = self.phi * self.trend + self.beta * error;
        }
    }
}
