//! The chance of a deadline at each cluster, by what all of them know of jobs like it.
//!
//! A cluster that never ran a program states a probability all the same, by the jobs of other users or of other sites. A
//! cluster that did run it knows better. So clusters state what they believe of the run time, and on how many batches it
//! rests. Such a message is what Lazarevic, Sacks & Prnjat (2005, section 5) want; they leave its form open. Each batch is a
//! witness; one of the cluster itself counts for four, since machines and inputs differ.

use tollgate_model::{Distribution, Probability, Span};

use super::ClusterQuote;

/// How many batches of other clusters one of the cluster itself stands for.
const OWN_WEIGHT: f64 = 4.0;

/// The most batches of a cluster that count: what a cluster claims beyond is no better evidence.
const MAX_BATCHES: u32 = 32;

/// The belief of a cluster about the run time of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedBelief {
    /// The distribution of the run time there.
    pub distribution: Distribution,
    /// Number of ended batches of jobs like it on which that rests; 0 if it rests on other jobs.
    pub n_batches: u32,
    /// Time from the expected start to the deadline; None without a deadline or a prediction.
    pub room: Option<Span>,
}

impl StatedBelief {
    fn weight(&self) -> f64 {
        f64::from(self.n_batches.min(MAX_BATCHES))
    }
}

/// Returns for each quote the probability that the job meets its deadline there, by the evidence of all clusters. It is the
/// stated one where no other cluster has evidence. The wait leaves the same part of it as of the stated one.
pub fn chances(quotes: &[ClusterQuote]) -> Vec<Option<Probability>> {
    let chance = |(at, quote): (usize, &ClusterQuote)| {
        let stated = quote.probability?;
        let Some((own, room)) = quote.belief.and_then(|own| Some((own, own.room?))) else {
            return Some(stated);
        };
        let others = quotes.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.filter_map(|(_, other)| other.belief);
        let within = |belief: &StatedBelief| belief.distribution.probability_within(room).as_f64();
        let own_weight = OWN_WEIGHT * own.weight();
        let (mut weight, mut sum) = (own_weight, own_weight * within(&own));
        for other in others {
            weight += other.weight();
            sum += other.weight() * within(&other);
        }
        if weight == own_weight {
            return Some(stated);
        }
        let in_room = within(&own);
        let left_by_wait = if in_room > 0.0 {
            (stated.as_f64() / in_room).min(1.0)
        } else {
            1.0
        };
        Probability::new(sum / weight * left_by_wait)
    };
    quotes.iter().enumerate().map(chance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_choice::QuoteAdmission;
    use proptest::prelude::*;
    use tollgate_model::distribution::N_LEVELS;

    /// A quote of a cluster at which jobs take this long, with ten hours from the start to the deadline.
    fn quote(run_s: i64, n_batches: u32, stated: f64) -> ClusterQuote {
        let quantile = |at: i64| Span::from_secs(run_s * (at + 1));
        ClusterQuote {
            admission: QuoteAdmission::Admitted,
            finish: None,
            latest: None,
            probability: Probability::new(stated),
            price: None,
            belief: Some(StatedBelief {
                distribution: Distribution::new(std::array::from_fn::<_, N_LEVELS, _>(|at| {
                    quantile(at as i64)
                })),
                n_batches,
                room: Some(Span::from_secs(36_000)),
            }),
        }
    }

    fn found(quotes: &[ClusterQuote]) -> Vec<f64> {
        let chances = chances(quotes).into_iter().flatten();
        chances.map(Probability::as_f64).collect()
    }

    #[test]
    fn cluster_without_evidence_takes_that_of_another() {
        // The first never ran the program and takes it for short; at the second half of the jobs are late.
        let chances = found(&[quote(100, 0, 0.98), quote(6_000, 12, 0.5)]);
        assert!((chances[0] - 0.5).abs() < 0.02, "{chances:?}");
        assert!((chances[1] - 0.5).abs() < 1e-9, "{chances:?}");
    }

    #[test]
    fn own_evidence_counts_for_more() {
        let chances = found(&[quote(100, 12, 0.98), quote(6_000, 12, 0.5)]);
        assert!((0.87..0.9).contains(&chances[0]), "{chances:?}");
    }

    #[test]
    fn wait_leaves_as_much_of_the_chance_as_of_the_stated_one() {
        // Of nearly every run in time, the wait leaves six in ten.
        let chances = found(&[quote(100, 0, 0.6), quote(100, 12, 0.99)]);
        assert!((0.58..=0.6).contains(&chances[0]), "{chances:?}");
    }

    #[test]
    fn no_number_of_claimed_batches_outweighs_ones_own() {
        let one = found(&[quote(100, 12, 0.98), quote(50_000, 32, 0.05)])[0];
        let many = found(&[quote(100, 12, 0.98), quote(50_000, u32::MAX, 0.05)])[0];
        assert_eq!(one, many);
        assert!(one > 0.5, "{one}");
    }

    proptest! {
        #[test]
        fn chance_is_the_stated_one_without_evidence_of_others(
            stated in 0.0f64..1.0, run in 1i64..100_000, own in 0u32..40,
        ) {
            let quotes = [quote(run, own, stated), quote(5, 0, 0.1)];
            prop_assert_eq!(chances(&quotes)[0], Probability::new(stated));
        }

        #[test]
        fn chance_is_a_probability(
            quotes in prop::collection::vec((1i64..1_000_000, any::<u32>(), 0.0f64..=1.0), 1..6),
        ) {
            let quotes: Vec<ClusterQuote> = quotes.into_iter().map(|(run, n, stated)| quote(run, n, stated)).collect();
            for chance in chances(&quotes) {
                prop_assert!(chance.is_some());
            }
        }
    }
}
