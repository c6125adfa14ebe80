//! Risk analysis: performance of policies, its uncertainty, and comparisons.
//!
//! # Examples
//! The waits of two policies at three settings of a scenario, as points of a risk analysis plot:
//! ```
//! use tollgate_risk::{Normalisation, Objective, Risk};
//!
//! let waits_s = [[0.0, 30.0, 60.0], [45.0, 45.0, 45.0]].map(|waits| waits.map(Some));
//! let scale = Normalisation::MinMax.scale(Objective::Wait, waits_s.concat());
//! let [varied, steady] = waits_s.map(|waits| {
//!     let scores = waits.map(|wait| scale.score(wait));
//!     Risk::separate(&scores).expect("three scores")
//! });
//! // Waits that are short in the mean are better, and equal waits carry no risk.
//! assert_eq!((varied.performance, steady.performance), (0.5, 0.25));
//! assert_eq!(steady.volatility, 0.0);
//! assert!(varied.volatility > 0.4);
//! ```
//!
//! # Modules
//! | module | step | source |
//! |---|---|---|
//! | [`objectives`] | outcomes of jobs to the four objectives and the usual measures | eq. 1-4 |
//! | [`objective`] | the four objectives by name | Table I |
//! | [`normalise`] | raw values to scores between 0 (worst) and 1 (best) | §4.1 |
//! | [`separate`] | scores of one objective to performance and volatility | eq. 5-6 |
//! | [`integrated`] | several objectives, weighted, to performance and volatility | eq. 7-8 |
//! | [`profile`] | the points of one policy to its extremes and its trend line | Table II |
//! | [`ranking`] | policies by best performance, best volatility, mean performance or worst point | Tables III-IV |
//! | [`calibration`] | the share of promises that was kept, by the probability that was promised | |
//! | [`bootstrap`] | confidence intervals over seeds; policies that cannot be distinguished | |
//! | [`jackknife`] | confidence intervals over parts of a stretch of time | |
//!
//! The equations, tables and sections are those of Yeo & Buyya, *Integrated Risk Analysis for a
//! Commercial Computing Service in Utility Computing* (2008).
//!
//! Every function here is pure: the same outcomes, in the same order, give the same bytes.

pub mod bootstrap;
pub mod calibration;
pub mod integrated;
pub mod jackknife;
pub mod normalise;
pub mod objective;
pub mod objectives;
pub mod profile;
pub mod ranking;
pub mod separate;

pub use bootstrap::{Bootstrap, Interval};
pub use calibration::{ProbabilityBin, PromiseVerdict};
pub use integrated::Weights;
pub use normalise::{Normalisation, Scale, Score};
pub use objective::{Objective, Preference};
pub use objectives::{ObjectiveTotals, Objectives, UnpredictableTotals, UpperQuantiles};
pub use profile::{Gradient, Profile};
pub use ranking::{PolicyRank, ProfileFigure, Ranking};
pub use separate::Risk;
