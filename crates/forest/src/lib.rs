//! Regression forests whose leaves learn online.
//!
//! The trees are extremely randomised (Geurts, Ernst & Wehenkel, *Extremely randomized trees*, Machine Learning
//! 63, 2006). Their structure is fitted now and then from the latest rows. Their leaves keep the latest
//! outcomes (Meinshausen, *Quantile regression forests*, JMLR 7, 2006), and a new outcome enters them at once. The
//! forecast is the mean of the distributions in the leaves.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | [`ForestSettings`]: the size of a forest and of its leaves |
//! | [`rows`] | [`TrainingRows`]: the latest rows of features with their outcomes |
//! | [`forest`] | [`RegressionForest`]: fits, learns, forecasts |
//! | `tree` | one tree, and its leaves |
//! | `growth` | the growth of a tree from rows |
//! | `bins` | outcomes as bins of 16 bits |
//! | [`mixture`] | [`OutcomeMixture`]: the forecast distribution |
//! | [`offsets`] | [`LevelOffsets`]: slow corrections, one a group and level |
//! | [`explanation`] | the rows and features that decided a forecast |
//!
//! Nothing in this crate reads a clock, a file or a global random source. The same rows and the same seed give the
//! same forest, byte for byte, and the caller decides where and when a forest is fitted.

mod bins;
pub mod explanation;
pub mod forest;
mod growth;
pub mod mixture;
pub mod offsets;
pub mod rows;
pub mod settings;
mod tree;

pub use explanation::{ForestExplanation, NearRow};
pub use forest::{ForestSnapshotError, RegressionForest};
pub use mixture::OutcomeMixture;
pub use offsets::LevelOffsets;
pub use rows::TrainingRows;
pub use settings::ForestSettings;
