//! The report of a study: what was run, every picture, how the policies rank, and what its
//! claims came to.
//!
//! | module | what it holds |
//! |---|---|
//! | [`finished`] | a study that was run, read from its folder |
//! | `input` | what was run, on which jobs |
//! | `charts` | the pictures that a world draws |
//! | `claims` | the claims ledger |
//! | `risk` | risk analysis plots and rankings |
//! | `curves` | measures over the varied settings |

mod charts;
mod claims;
mod curves;
mod input;
pub mod load;
mod metric;
mod risk;

pub use load::{FinishedStudy, FinishedStudyError};

use tollgate_risk::Weights;
use tollgate_study::Experiment;

use crate::page::{PageSection, ReportPage};
use crate::series_style::SeriesStyle;

/// The page about a study.
///
/// It shows the pictures that the experiment lists. Of an experiment that lists no curves, it
/// shows every objective over every scenario; of one that lists no risk analysis plots, those of
/// each objective alone and of all together. Objectives that are weighed differently by `weights`
/// are plotted and ranked beside these.
pub fn page(finished: &FinishedStudy, weights: Option<&Weights>) -> ReportPage {
    let experiment = finished.results.experiment();
    let looks = PolicyStyles::of(experiment);
    let mut sections: Vec<PageSection> = vec![input::section(finished)];
    sections.extend(charts::sections(&finished.charts));
    sections.extend(curves::section(&finished.results, &looks));
    sections.extend(risk::sections(&finished.results, &looks, weights));
    sections.extend(claims::section(&finished.ledger));
    ReportPage {
        title: experiment.title.clone(),
        lead: lead(finished),
        sections,
    }
}

fn lead(finished: &FinishedStudy) -> String {
    let experiment = finished.results.experiment();
    let published = match experiment.source.as_str() {
        "" => String::new(),
        source => format!(" after {source}"),
    };
    let certainty = match experiment.seeds {
        1 => "One seed was run, so nothing says how sure a figure is.".to_owned(),
        seeds => format!(
            "Figures are means of {seeds} seeds; bands and ranges in brackets are where the mean \
             lies at 95 %, by bootstrap."
        ),
    };
    let on = match &finished.summary.input {
        Some(input) => format!(" on {}", input.workload),
        None => String::new(),
    };
    format!(
        "Study {}{published}, run by tollgate {}{on}. {certainty}",
        experiment.name, finished.summary.version
    )
}

/// How each policy looks, the same in every picture: in the order in which the experiment first
/// names them.
struct PolicyStyles(Vec<String>);

impl PolicyStyles {
    fn of(experiment: &Experiment) -> Self {
        let mut policies: Vec<String> = Vec::new();
        for policy in experiment
            .markets
            .iter()
            .flat_map(|market| &market.policies)
        {
            if !policies.contains(policy) {
                policies.push(policy.clone());
            }
        }
        Self(policies)
    }

    fn style(&self, policy: &str) -> SeriesStyle {
        SeriesStyle(self.0.iter().position(|known| known == policy).unwrap_or(0))
    }
}

/// A market and a set by name, as far as there is more than one of them.
fn set_and_market(experiment: &Experiment, set: usize, market: usize) -> String {
    let market = (experiment.markets.len() > 1)
        .then(|| format!("{} market", experiment.markets[market].name));
    let set = (experiment.sets.len() > 1).then(|| format!("set {}", experiment.sets[set].name));
    let both: Vec<String> = market.into_iter().chain(set).collect();
    both.join(", ")
}
