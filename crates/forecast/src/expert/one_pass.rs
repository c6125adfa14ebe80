//! The experts whose state follows the remembered values one by one, in one pass over them.
//!
//! The oldest value is forgotten with each new one, so the first forecast after it goes through all values
//! again. Each step of such an expert waits for its step before; a processor overlaps the steps of different
//! experts.

use super::arma::ArmaFollower;
use super::holt::HoltState;
use super::smoothing::follow_level;
use super::{ALPHA, BETA, FittedModels};
use crate::history::MAX_HISTORY;

/// The forecasts of these experts, if they have any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OnePassForecasts {
    pub(super) smoothing: Option<f64>,
    pub(super) holt: Option<f64>,
    pub(super) moving_average: Option<f64>,
    pub(super) arma: Option<f64>,
    pub(super) arima: Option<f64>,
}

impl OnePassForecasts {
    /// Goes through `runs`, at most [`MAX_HISTORY`] values.
    pub(super) fn of(runs: &[f64], fits: &FittedModels) -> Self {
        let Some((mut holt, rest)) = HoltState::start(runs) else {
            return Self::default();
        };
        let mut level = runs[0];
        let mut moving_average = ArmaFollower::<0, 2>::new(&fits.moving_average);
        let [mut arma, mut arima] = [&fits.arma, &fits.arima].map(ArmaFollower::<1, 1>::new);
        let mut differences = [0.0; MAX_HISTORY];
        let differences = &mut differences[..rest.len()];
        for (difference, pair) in differences.iter_mut().zip(runs.windows(2)) {
            *difference = pair[1] - pair[0];
        }
        moving_average.follow(&runs[..1]);
        for (at, value) in (1..).zip(rest) {
            level = follow_level(level, *value, ALPHA);
            holt = holt.follow(*value, ALPHA, BETA);
            moving_average.follow(&runs[..=at]);
            arma.follow(&runs[..=at]);
            arima.follow(&differences[..at]);
        }
        let change = arima.forecast(differences);
        Self {
            smoothing: Some(level),
            holt: Some(holt.forecast()),
            moving_average: moving_average.forecast(runs),
            arma: arma.forecast(runs),
            arima: runs.last().zip(change).map(|(last, change)| last + change),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expert::{ArmaModel, ArmaOrder, holt, simple_smoothing};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_pass_gives_the_forecasts_of_each_expert_alone(
            learned in prop::collection::vec(0.0..9.0f64, 0..=MAX_HISTORY),
            runs in prop::collection::vec(0.0..9.0f64, 0..=MAX_HISTORY),
        ) {
            let fit = |ar, ma| ArmaModel::fit(&learned, ArmaOrder { ar, ma });
            let fits = FittedModels {
                moving_average: fit(0, 2),
                arma: fit(1, 1),
                arima: ArmaModel::fit_differences(&learned, ArmaOrder { ar: 1, ma: 1 }),
                ..FittedModels::default()
            };
            let alone = |model: &Option<ArmaModel>| model.as_ref()?.forecast(&runs);
            let integrated = |model: &Option<ArmaModel>| model.as_ref()?.forecast_integrated(&runs);
            let expected = match runs.is_empty() {
                true => OnePassForecasts::default(),
                false => OnePassForecasts {
                    smoothing: simple_smoothing(&runs, ALPHA),
                    holt: holt(&runs, ALPHA, BETA),
                    moving_average: alone(&fits.moving_average),
                    arma: alone(&fits.arma),
                    arima: integrated(&fits.arima),
                },
            };
            prop_assert_eq!(OnePassForecasts::of(&runs, &fits), expected);
        }
    }
}
