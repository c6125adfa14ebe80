//! The choice among clusters that quote the same job: the super-scheduler to which local schedulers
//! state their best deadline and price (Lazarevic, Sacks & Prnjat 2005, section 5). The paper names no
//! rule of choice; the three here are those that users ask for.

mod shared_evidence;

use std::cmp::Ordering;
use std::fmt;

use tollgate_model::{Credits, Probability, Span};
use tollgate_policy::ParameterEnum;

pub use shared_evidence::{StatedBelief, chances};

/// The order of quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotePreference {
    /// The earliest expected end; equal ends by probability, then by price.
    #[default]
    Earliest,
    /// The lowest price; equal prices by end, then by probability. A quote with a price precedes one
    /// without.
    Cheapest,
    /// The highest probability of meeting the deadline, by the evidence of all clusters; equal probabilities by the end that nine in ten
    /// such jobs do not exceed, then by price. Without a deadline, by that end alone.
    Surest,
}

impl QuotePreference {
    /// Every preference, the default first.
    pub const ALL: [Self; 3] = [Self::Earliest, Self::Cheapest, Self::Surest];
}

impl ParameterEnum for QuotePreference {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("earliest", Self::Earliest),
        ("cheapest", Self::Cheapest),
        ("surest", Self::Surest),
    ];
}

impl fmt::Display for QuotePreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.keyword())
    }
}

/// How a cluster would take a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuoteAdmission {
    /// The job is admitted: its deadline is promised or, without a deadline, that it will run.
    Admitted,
    /// The job waits for its admission, or runs without a promise.
    Unpromised,
}

/// The quote of a cluster for a job. Ends are spans from the instant of the quote by the cluster's own
/// clock, so that clocks that differ change no choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterQuote {
    /// How the cluster would take the job.
    pub admission: QuoteAdmission,
    /// Span to the expected end; None if the cluster predicts none.
    pub finish: Option<Span>,
    /// Span to the end that nine in ten such jobs do not exceed; None if the cluster predicts none.
    pub latest: Option<Span>,
    /// Probability of meeting the deadline; None without a deadline or a prediction.
    pub probability: Option<Probability>,
    /// Maximum cost; None if the cluster states none.
    pub price: Option<Credits>,
    /// The belief of the cluster about the run time; None if it does not say.
    pub belief: Option<StatedBelief>,
}

/// Returns the places of the quotes, the best first. A job is offered to the second if the first does not
/// take it after all. A cluster that admits the job precedes each one that does not, and equal quotes
/// stand in the order of `quotes`.
pub fn rank_quotes(quotes: &[ClusterQuote], preference: QuotePreference) -> Vec<usize> {
    let chances = chances(quotes);
    let quote = |place: usize| (&quotes[place], chances[place]);
    let mut places: Vec<usize> = (0..quotes.len()).collect();
    places.sort_by(|&a, &b| compare(quote(a), quote(b), preference));
    places
}

fn compare(
    (a, chance_a): (&ClusterQuote, Option<Probability>),
    (b, chance_b): (&ClusterQuote, Option<Probability>),
    preference: QuotePreference,
) -> Ordering {
    let finish = || known_first(a.finish, b.finish);
    let latest = || known_first(a.latest, b.latest);
    let price = || known_first(a.price, b.price);
    let probability = || surer_first(chance_a, chance_b);
    let admission = a.admission.cmp(&b.admission);
    admission.then_with(|| match preference {
        QuotePreference::Earliest => finish().then_with(probability).then_with(price),
        QuotePreference::Cheapest => price().then_with(finish).then_with(probability),
        QuotePreference::Surest => probability().then_with(latest).then_with(price),
    })
}

/// Orders by value; what is not known stands behind.
fn known_first<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn surer_first(a: Option<Probability>, b: Option<Probability>) -> Ordering {
    let key = |p: Option<Probability>| p.map_or(-1.0, Probability::as_f64);
    key(b).total_cmp(&key(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(finish_s: i64, probability: f64, price: Option<f64>) -> ClusterQuote {
        ClusterQuote {
            admission: QuoteAdmission::Admitted,
            finish: Some(Span::from_secs(finish_s)),
            latest: Some(Span::from_secs(2 * finish_s)),
            probability: Probability::new(probability),
            price: price.map(Credits::from_f64),
            belief: None,
        }
    }

    #[test]
    fn each_preference_takes_its_own_best() {
        let quotes = [
            quote(10, 0.90, Some(9.0)),
            quote(20, 0.99, Some(5.0)),
            quote(30, 0.95, Some(1.0)),
        ];
        let first = QuotePreference::ALL.map(|preference| rank_quotes(&quotes, preference)[0]);
        assert_eq!(first, [0, 2, 1]);
    }

    #[test]
    fn equal_quotes_keep_their_order() {
        let quotes = [quote(10, 0.9, None); 3];
        for preference in QuotePreference::ALL {
            assert_eq!(rank_quotes(&quotes, preference), [0, 1, 2]);
        }
    }

    #[test]
    fn cluster_that_admits_the_job_precedes_one_that_may() {
        let maybe = ClusterQuote {
            admission: QuoteAdmission::Unpromised,
            ..quote(1, 0.999, Some(0.0))
        };
        for preference in QuotePreference::ALL {
            assert_eq!(
                rank_quotes(&[maybe, quote(99, 0.5, None)], preference),
                [1, 0]
            );
        }
    }

    #[test]
    fn quote_without_a_price_is_never_cheaper() {
        let quotes = [quote(1, 0.9, None), quote(9, 0.5, Some(7.0))];
        assert_eq!(rank_quotes(&quotes, QuotePreference::Cheapest), [1, 0]);
        let free = [quote(1, 0.9, None), quote(9, 0.5, None)];
        assert_eq!(rank_quotes(&free, QuotePreference::Cheapest), [0, 1]);
    }

    #[test]
    fn surest_without_a_deadline_is_the_earliest_upper_bound() {
        let unsure = ClusterQuote {
            probability: None,
            latest: Some(Span::from_secs(100)),
            ..quote(10, 0.5, None)
        };
        let surer = ClusterQuote {
            probability: None,
            latest: Some(Span::from_secs(40)),
            ..quote(20, 0.5, None)
        };
        assert_eq!(
            rank_quotes(&[unsure, surer], QuotePreference::Surest),
            [1, 0]
        );
    }
}
