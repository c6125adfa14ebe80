//! The forecasts of tollgate compared with established methods that search for a model: AutoETS and AutoARIMA.
//!
//! No product has them: the search costs a hundred times as much as all experts together (Lazarevic et al. 2005 want
//! speed before spot accuracy). The program of this crate makes their columns in docs/policies/forecast.md.
//!
//! | module | contents |
//! |---|---|
//! | `auto_arima` | ARIMA with orders that are chosen from the series |
//! | `auto_ets` | exponential smoothing with components and constants that are chosen |
//! | `comparison` | forecasts and both methods over a record |
//! | `ets_loss` | the sums of squares of many smoothings at once |
//! | `kpss` | a test for a unit root |
//! | `records` | records of jobs from traces |
//! | `searched_models` | the models of the classes of a site |
//! | `simplex` | the search for constants |

mod auto_arima;
mod auto_ets;
mod comparison;
mod ets_loss;
mod kpss;
mod records;
mod searched_models;
mod simplex;

pub use auto_arima::AutoArima;
pub use auto_ets::{AutoEts, EtsForm, EtsModel, EtsState};
pub use comparison::{SearchComparison, SearchedMethod};
pub use kpss::kpss;
pub use records::completed_jobs;
