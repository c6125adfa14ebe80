//! The report of a study: its setup, every picture, the rankings of the policies, and the results
//! of the claims.
//!
//! | module | contents |
//! |---|---|
//! | [`load`] | a finished study, read from its directory |
//! | `input` | the setup of the study and its jobs |
//! | `charts` | the pictures that a world draws |
//! | `claims` | the claims ledger |
//! | `risk` | risk analysis plots and rankings |
//! | `curves` | measures over the varied settings |
//! | `policy_label` | the names of policies in legends |

mod charts;
mod claims;
mod curves;
mod input;
pub mod load;
mod metric;
mod policy_label;
mod risk;

pub use load::{FinishedStudy, FinishedStudyError};

use tollgate_risk::Weights;
use tollgate_study::Experiment;

use crate::page::{PageSection, ReportPage};
use crate::series_style::SeriesStyle;

/// Builds the page about a study.
///
/// The page shows the pictures that the experiment lists, then the claims. For an experiment that lists no curves,
/// the page shows every objective over every scenario. For an experiment that lists no risk
/// analysis plots, the page shows the plots of each objective alone and of all objectives together.
/// If `weights` weigh objectives differently, the weighted objectives are plotted and ranked beside
/// these plots.
pub fn page(finished: &FinishedStudy, weights: Option<&Weights>) -> ReportPage {
    let experiment = finished.results.experiment();
    let looks = PolicyStyles::of(experiment);
    let mut sections: Vec<PageSection> = vec![input::section(finished)];
    let curves = curves::section(&finished.results, &looks);
    // Curves that are on no list come last: there are hundreds.
    let (figures, further) = match experiment.curves.is_empty() {
        true => (None, curves),
        false => (curves, None),
    };
    sections.extend(charts::sections(&finished.charts));
    sections.extend(figures);
    sections.extend(risk::sections(&finished.results, &looks, weights));
    sections.extend(claims::section(&finished.ledger));
    sections.extend(further);
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
             lies at 95 %: over seeds, by bootstrap, or over the weeks of the record, by jackknife, whichever \
             is wider."
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

/// Returns the title of a picture, with the number of the figure if its name has one:
/// `figure-3a` is Figure 3a.
fn figure_title(name: &str, title: &str) -> String {
    match name.strip_prefix("figure-") {
        Some(number) if !title.starts_with("Figure") => format!("Figure {number}: {title}"),
        Some(_) | None => title.to_owned(),
    }
}

/// The style of each policy, which is the same in every picture. Styles follow the order in which
/// the experiment first names the policies.
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

/// Names the market and the set, each only if there is more than one.
fn set_and_market(experiment: &Experiment, set: usize, market: usize) -> String {
    let market = (experiment.markets.len() > 1)
        .then(|| format!("{} market", experiment.markets[market].name));
    let set = (experiment.sets.len() > 1).then(|| format!("set {}", experiment.sets[set].name));
    let both: Vec<String> = market.into_iter().chain(set).collect();
    both.join(", ")
}
