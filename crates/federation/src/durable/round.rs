//! A round as its proposer sees it.

use std::collections::BTreeMap;

use tollgate_model::Instant;

use crate::message::{ReportRefusal, SiteReport};
use crate::site::{Ballot, SiteId, SiteValue};

/// A round that was proposed and not yet decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProposalRound {
    /// The round's ballot.
    pub ballot: Ballot,
    /// The proposer's own report.
    pub own: SiteReport,
    /// The answers, the first of each site.
    pub answers: BTreeMap<SiteId, Result<SiteReport, ReportRefusal>>,
    /// Time at which the round continues with the answers that have arrived.
    pub deadline: Instant,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundOutcome {
    /// Too few sites answered.
    NoMajority,
    /// No site below the highest reported two pending proxies.
    NoDonor,
    /// The highest site is to ask the lowest site that can give.
    Decided { highest: SiteId, donor: SiteId },
}

impl ProposalRound {
    /// Returns whether all of `sites` sites have answered, the proposer included.
    pub(super) fn is_complete(&self, sites: u32) -> bool {
        self.answers.len() as u32 + 1 >= sites
    }

    /// Returns the outcome that follows from the answers. Sites are ordered by value, then by id.
    pub(super) fn outcome(&self, proposer: SiteId, sites: u32) -> RoundOutcome {
        let answers = self.answers.iter();
        let mut reports: Vec<(SiteValue, SiteId, u32)> = answers
            .filter_map(|(&site, answer)| answer.ok().map(|r| (r.worth, site, r.pending)))
            .collect();
        reports.push((self.own.worth, proposer, self.own.pending));
        if (reports.len() as u32) < sites / 2 + 1 {
            return RoundOutcome::NoMajority;
        }
        reports.sort();
        let Some((&(_, highest, _), others)) = reports.split_last() else {
            return RoundOutcome::NoMajority;
        };
        let donor = others.iter().find(|(_, _, pending)| *pending >= 2);
        donor.map_or(RoundOutcome::NoDonor, |&(_, donor, _)| {
            RoundOutcome::Decided { highest, donor }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site, and its value and pending proxies or its reason for not reporting.
    type SiteAnswer = (u32, Result<(f64, u32), ReportRefusal>);

    fn round(own: (f64, u32), answers: &[SiteAnswer]) -> ProposalRound {
        let report = |(worth, pending)| SiteReport {
            worth: SiteValue(worth),
            pending,
        };
        let answers = answers.iter();
        ProposalRound {
            ballot: Ballot::NONE,
            own: report(own),
            answers: answers
                .map(|&(site, answer)| (SiteId(site), answer.map(report)))
                .collect(),
            deadline: Instant::ZERO,
        }
    }

    fn decided(highest: u32, donor: u32) -> RoundOutcome {
        RoundOutcome::Decided {
            highest: SiteId(highest),
            donor: SiteId(donor),
        }
    }

    #[test]
    fn highest_site_requests_from_the_lowest_with_spare_proxies() {
        let answers = [(1, Ok((50.0, 3))), (2, Ok((-50.0, 1))), (3, Ok((20.0, 3)))];
        let outcome = |own| round((own, 3), &answers).outcome(SiteId(0), 4);
        assert_eq!(outcome(100.0), decided(0, 3));
        assert_eq!(outcome(10.0), decided(1, 0));
    }

    #[test]
    fn equal_values_are_ordered_by_site_number() {
        let equal = round((5.0, 2), &[(1, Ok((5.0, 2))), (2, Ok((5.0, 2)))]);
        assert_eq!(equal.outcome(SiteId(0), 3), decided(2, 0));
    }

    #[test]
    fn refusals_do_not_count_towards_the_majority() {
        let busy = |site| (site, Err(ReportRefusal::Busy));
        let two = round((5.0, 2), &[(1, Ok((1.0, 2))), busy(2), busy(3)]);
        assert_eq!(two.outcome(SiteId(0), 4), RoundOutcome::NoMajority);
        let three = round((5.0, 2), &[(1, Ok((1.0, 1))), (2, Ok((1.0, 1))), busy(3)]);
        assert_eq!(three.outcome(SiteId(0), 4), RoundOutcome::NoDonor);
    }
}
