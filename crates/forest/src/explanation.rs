//! The rows and features that decided a forecast.

/// An explanation of a forecast.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestExplanation {
    /// The past rows nearest to the row of the forecast, the nearest first. Ties are broken by the newer row.
    pub nearest: Vec<NearRow>,
    /// The mean outcome of all rows from which the forest was fitted.
    pub base: f64,
    /// By feature, how much the feature moved the mean outcome away from `base`.
    ///
    /// A split by the feature on the way of the row counts the mean outcome of the chosen side minus the mean outcome
    /// before the split. The sums are averaged over the trees (Palczewska et al., *Interpreting random forest
    /// classification models using a feature contribution method*, 2013).
    pub contributions: Vec<f64>,
}

/// A past row near to the row of a forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearRow {
    /// The position of the row among those that are kept, 0 for the oldest one.
    pub position: usize,
    /// The outcome of the row.
    pub outcome: f32,
    /// The part of the trees in which both rows are in one leaf, above 0 and at most 1.
    pub nearness: f64,
}
