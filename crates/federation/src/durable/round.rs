//! A round as its proposer sees it.

use std::collections::BTreeMap;

use tollgate_model::Instant;

use crate::message::{ReportRefusal, SiteReport};
use crate::rule::MoveRule;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundOutcome {
    /// Too few sites answered.
    NoMajority,
    /// The highest and the lowest value are too alike for a move.
    Alike,
    /// No site that the rule searches reported more pending proxies than it keeps.
    NoDonor,
    /// At every site that could give, the proxy would do less at the receiver.
    Guarded,
    /// The highest site is to ask the lowest site that can give.
    Decided {
        /// The receiver.
        highest: SiteId,
        /// The donor.
        donor: SiteId,
    },
}

impl ProposalRound {
    /// Returns whether all of `sites` sites have answered, the proposer included.
    pub(super) fn is_complete(&self, sites: usize) -> bool {
        self.answers.len() + 1 >= sites
    }

    /// Returns the outcome that follows from the answers. Sites are ordered by value, then by id.
    pub(super) fn outcome(&self, proposer: SiteId, sites: usize, moves: MoveRule) -> RoundOutcome {
        let answers = self.answers.iter();
        let mut reports: Vec<(SiteValue, SiteId, SiteReport)> = answers
            .filter_map(|(&site, answer)| answer.ok().map(|r| (r.measured.worth, site, r)))
            .collect();
        reports.push((self.own.measured.worth, proposer, self.own));
        if reports.len() + self.unreachable() < sites / 2 + 1 {
            return RoundOutcome::NoMajority;
        }
        reports.sort();
        let Some((&(best, highest, receiver), others)) = reports.split_last() else {
            return RoundOutcome::NoMajority;
        };
        match others.first() {
            None => return RoundOutcome::NoDonor,
            Some(&(lowest, _, _)) if moves.are_alike(best, lowest) => return RoundOutcome::Alike,
            Some(_) => {}
        }
        let below = others.iter().take_while(|(worth, _, _)| *worth < best);
        let mut able = below
            .take(moves.searched())
            .filter(|(_, _, report)| report.pending > moves.keep())
            .peekable();
        if able.peek().is_none() {
            return RoundOutcome::NoDonor;
        }
        let donor = able.find(|(_, _, report)| !moves.guards(report, &receiver));
        donor.map_or(RoundOutcome::Guarded, |&(_, donor, _)| {
            RoundOutcome::Decided { highest, donor }
        })
    }

    /// Returns the number of sites that are up, though their queues cannot be read.
    fn unreachable(&self) -> usize {
        let answers = self.answers.values();
        let unreachable = answers.filter(|answer| **answer == Err(ReportRefusal::Unreachable));
        unreachable.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::DonorSearch;
    use crate::site::SiteMeasurement;

    /// A site, and its value and pending proxies or its reason for not reporting.
    type SiteAnswer = (u32, Result<(f64, u32), ReportRefusal>);

    fn round(own: (f64, u32), answers: &[SiteAnswer]) -> ProposalRound {
        let report = |(worth, pending)| SiteReport {
            measured: SiteMeasurement::of_worth(worth),
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
        let outcome = |own| round((own, 3), &answers).outcome(SiteId(0), 4, MoveRule::ANY);
        assert_eq!(outcome(100.0), decided(0, 3));
        assert_eq!(outcome(10.0), decided(1, 0));
    }

    #[test]
    fn equal_values_are_ordered_by_site_number() {
        let equal = round((5.0, 2), &[(1, Ok((4.0, 2))), (2, Ok((5.0, 2)))]);
        assert_eq!(equal.outcome(SiteId(0), 3, MoveRule::ANY), decided(2, 1));
        let all = round((5.0, 2), &[(1, Ok((5.0, 2))), (2, Ok((5.0, 2)))]);
        let outcome = all.outcome(SiteId(0), 3, MoveRule::ANY);
        assert_eq!(outcome, RoundOutcome::Alike);
        let top = round((5.0, 2), &[(1, Ok((4.0, 1))), (2, Ok((5.0, 2)))]);
        let outcome = top.outcome(SiteId(0), 3, MoveRule::ANY);
        assert_eq!(outcome, RoundOutcome::NoDonor);
    }

    #[test]
    fn alike_values_stop_a_round() {
        let stop = MoveRule::new(1.5, false).expect("a rule");
        let outcome = |highest, answers: &[SiteAnswer]| {
            round((highest, 3), answers).outcome(SiteId(0), 3, stop)
        };
        let (lowest, middle) = ((1, Ok((1.0, 1))), (2, Ok((1.2, 3))));
        assert_eq!(outcome(1.4, &[lowest, middle]), RoundOutcome::Alike);
        // The lowest site counts although it cannot give.
        assert_eq!(outcome(1.5, &[lowest, middle]), decided(0, 2));
        assert_eq!(outcome(1.5, &[middle]), RoundOutcome::Alike);
    }

    #[test]
    fn guard_skips_a_donor_with_a_proxy_that_would_lose() {
        let guard = MoveRule::new(1.0, true).expect("a rule");
        let mut three = round((2.0, 3), &[(1, Ok((1.0, 3))), (2, Ok((1.2, 3)))]);
        let staying = |round: &mut ProposalRound, site, value| {
            if let Some(Ok(report)) = round.answers.get_mut(&SiteId(site)) {
                report.measured.staying = SiteValue(value);
            }
        };
        three.own.measured.arriving = SiteValue(1.5);
        staying(&mut three, 1, 1.6);
        assert_eq!(three.outcome(SiteId(0), 3, guard), decided(0, 2));
        assert_eq!(three.outcome(SiteId(0), 3, MoveRule::ANY), decided(0, 1));
        staying(&mut three, 1, 1.5);
        assert_eq!(three.outcome(SiteId(0), 3, guard), decided(0, 1));
        staying(&mut three, 1, 1.6);
        staying(&mut three, 2, 1.6);
        assert_eq!(three.outcome(SiteId(0), 3, guard), RoundOutcome::Guarded);
    }

    #[test]
    fn donor_is_searched_and_keeps_proxies_by_the_rule() {
        let answers = [(1, Ok((1.0, 1))), (2, Ok((2.0, 3)))];
        let outcome = |rule| round((9.0, 3), &answers).outcome(SiteId(0), 3, rule);
        assert_eq!(outcome(MoveRule::ANY), decided(0, 2));
        let lowest = MoveRule::ANY.with_donors(DonorSearch::Lowest);
        assert_eq!(outcome(lowest), RoundOutcome::NoDonor);
        assert_eq!(outcome(lowest.with_keep(0)), decided(0, 1));
        assert_eq!(outcome(MoveRule::ANY.with_keep(3)), RoundOutcome::NoDonor);
    }

    #[test]
    fn unreachable_site_counts_towards_the_majority() {
        let unreachable = |site| (site, Err(ReportRefusal::Unreachable));
        let four = round((5.0, 2), &[(1, Ok((1.0, 2))), unreachable(2)]);
        assert_eq!(four.outcome(SiteId(0), 4, MoveRule::ANY), decided(0, 1));
    }

    #[test]
    fn refusals_do_not_count_towards_the_majority() {
        let busy = |site| (site, Err(ReportRefusal::Busy));
        let two = round((5.0, 2), &[(1, Ok((1.0, 2))), busy(2), busy(3)]);
        assert_eq!(
            two.outcome(SiteId(0), 4, MoveRule::ANY),
            RoundOutcome::NoMajority
        );
        let three = round((5.0, 2), &[(1, Ok((1.0, 1))), (2, Ok((1.0, 1))), busy(3)]);
        assert_eq!(
            three.outcome(SiteId(0), 4, MoveRule::ANY),
            RoundOutcome::NoDonor
        );
    }
}
