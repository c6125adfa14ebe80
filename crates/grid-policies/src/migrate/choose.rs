//! The move of a round, chosen from the scores of all sites.

use tollgate_federation::{SiteMeasurement, SiteValue};

use super::settings::{DonorRule, MigrationParams, SiteValuation};

/// The score of a site in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteScore {
    /// The site's value: proxies go to the highest.
    pub value: f64,
    /// Speed of the site's processors.
    pub flops: f64,
    /// Expected wait of proxies at the site, in ticks.
    pub wait: f64,
    /// Number of pending proxies at the site.
    pub pending: u32,
    /// Ticks that the newest pending proxy has waited.
    pub newest: u32,
}

/// A move of a proxy from one site's queue to another's; sites are given by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyMove {
    /// The donor.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

/// Returns the move of a round; None if no move helps or no site can give a proxy.
///
/// The site with the highest value receives and the one with the lowest gives. Sites are ordered by value, then by
/// index: of equal values the last receives and the first gives, as in the agents' protocol.
/// With [`DonorRule::NextLowest`] a site that cannot give, or whose proxy would lose by the move, is passed
/// over for the next. That goes on as long as the donor's value is below the receiver's.
pub fn choose(settings: &MigrationParams, sites: &[SiteScore]) -> Option<ProxyMove> {
    if settings.value == SiteValuation::Nothing {
        return None;
    }
    let (from, to) = extremes(sites)?;
    let (lowest, best) = (&sites[from], &sites[to]);
    if lowest.value >= best.value || best.value < lowest.value * settings.stop {
        return None;
    }
    let gives = |donor: &SiteScore| {
        donor.pending > settings.keep && !(settings.guard && would_lose(settings, donor, best))
    };
    let from = match settings.donor {
        DonorRule::Lowest => gives(lowest).then_some(from),
        DonorRule::NextLowest => first_lowest(sites, best.value, gives),
    };
    from.map(|from| ProxyMove { from, to })
}

/// Returns the places of the lowest and of the highest value: of equal values the first, and the last.
fn extremes(sites: &[SiteScore]) -> Option<(usize, usize)> {
    let value = |site: &SiteScore| site.value;
    let first = value(sites.first()?);
    // The values first and their places then: a loop over both would branch on each comparison.
    let (mut lowest, mut highest) = (first, first);
    for value in sites.iter().map(value) {
        lowest = if value < lowest { value } else { lowest };
        highest = if value > highest { value } else { highest };
    }
    let from = sites.iter().position(|site| value(site) == lowest)?;
    let to = sites.iter().rposition(|site| value(site) == highest)?;
    Some((from, to))
}

/// Returns the place of the lowest value below `limit` among the sites that give, of equal values
/// the first.
fn first_lowest(
    sites: &[SiteScore],
    limit: f64,
    gives: impl Fn(&SiteScore) -> bool,
) -> Option<usize> {
    let (mut lowest, mut from) = (limit, None);
    for (at, site) in sites.iter().enumerate() {
        if site.value < lowest && gives(site) {
            (lowest, from) = (site.value, Some(at));
        }
    }
    from
}

/// Returns true if the newest proxy of `donor` would do less at `best` than at its present site. At `best`
/// its wait begins anew, at `donor` part of the wait is over.
fn would_lose(settings: &MigrationParams, donor: &SiteScore, best: &SiteScore) -> bool {
    best.arriving(settings) < donor.staying(settings)
}

impl SiteScore {
    /// Returns the score as a site reports it to the others.
    pub fn measurement(&self, settings: &MigrationParams) -> SiteMeasurement {
        SiteMeasurement {
            worth: SiteValue(self.value),
            arriving: SiteValue(self.arriving(settings)),
            staying: SiteValue(self.staying(settings)),
        }
    }

    /// Returns the work per tick of a proxy that arrives at the site: its wait begins anew.
    pub fn arriving(&self, settings: &MigrationParams) -> f64 {
        self.flops * settings.run_ticks / (settings.run_ticks + self.wait)
    }

    /// Returns the work per tick of the site's newest pending proxy if it stays: part of its wait is
    /// over.
    pub fn staying(&self, settings: &MigrationParams) -> f64 {
        let left = (self.wait - f64::from(self.newest)).max(settings.min_wait_left);
        self.flops * settings.run_ticks / (settings.run_ticks + left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sites(of: &[(f64, u32)]) -> Vec<SiteScore> {
        of.iter()
            .map(|&(value, pending)| SiteScore {
                value,
                flops: value,
                wait: 5.0,
                pending,
                newest: 1,
            })
            .collect()
    }

    const PAPER: MigrationParams = MigrationParams::DEFAULT;
    const NEXT: MigrationParams = MigrationParams {
        donor: DonorRule::NextLowest,
        ..PAPER
    };

    #[test]
    fn highest_site_receives_from_the_lowest() {
        let figure_3 = sites(&[(100.0, 3), (50.0, 3), (-50.0, 3), (20.0, 3)]);
        assert_eq!(
            choose(&PAPER, &figure_3),
            Some(ProxyMove { from: 2, to: 0 })
        );
        let ties = sites(&[(1.0, 3), (2.0, 3), (2.0, 3), (1.0, 3)]);
        assert_eq!(choose(&PAPER, &ties), Some(ProxyMove { from: 0, to: 2 }));
    }

    #[test]
    fn equal_sites_and_empty_queues_move_nothing() {
        assert_eq!(choose(&PAPER, &sites(&[(1.0, 3), (1.0, 3)])), None);
        assert_eq!(choose(&NEXT, &sites(&[(1.0, 3), (1.0, 3)])), None);
        assert_eq!(choose(&PAPER, &[]), None);
    }

    #[test]
    fn site_without_spare_proxies_ends_the_round_or_is_skipped() {
        let short = sites(&[(9.0, 3), (1.0, 1), (2.0, 1), (3.0, 2)]);
        assert_eq!(choose(&PAPER, &short), None);
        assert_eq!(choose(&NEXT, &short), Some(ProxyMove { from: 3, to: 0 }));
        let generous = MigrationParams { keep: 0, ..PAPER };
        assert_eq!(
            choose(&generous, &short),
            Some(ProxyMove { from: 1, to: 0 })
        );
        assert_eq!(choose(&NEXT, &sites(&[(9.0, 9), (1.0, 1)])), None);
    }

    /// The rule, site by site from the lowest up.
    fn choose_one_by_one(settings: &MigrationParams, sites: &[SiteScore]) -> Option<ProxyMove> {
        let mut order: Vec<usize> = (0..sites.len()).collect();
        order.sort_by(|&a, &b| sites[a].value.total_cmp(&sites[b].value));
        let highest = sites[*order.last()?].value;
        let to = sites.iter().rposition(|site| site.value == highest)?;
        if highest < sites[order[0]].value * settings.stop {
            return None;
        }
        let below = order
            .into_iter()
            .take_while(|&at| sites[at].value < highest);
        let tried = match settings.donor {
            DonorRule::Lowest => 1,
            DonorRule::NextLowest => sites.len(),
        };
        let gives = |&at: &usize| {
            let loses = sites[to].arriving(settings) < sites[at].staying(settings);
            sites[at].pending > settings.keep && !(settings.guard && loses)
        };
        let from = below.take(tried).find(gives)?;
        Some(ProxyMove { from, to })
    }

    proptest! {
        #[test]
        fn choice_is_that_of_going_up_from_the_lowest_site(
            of in prop::collection::vec((-3i32..6, 0u32..4, 0u32..9, 0u32..9), 0..12),
            next: bool,
            guard: bool,
            keep in 0u32..3,
            stop in 1.0..2.0f64,
        ) {
            let score = |&(value, pending, wait, newest): &(i32, u32, u32, u32)| SiteScore {
                value: value.into(),
                flops: 1.0 + f64::from(value).abs(),
                wait: wait.into(),
                pending,
                newest,
            };
            let sites: Vec<SiteScore> = of.iter().map(score).collect();
            let donor = if next { DonorRule::NextLowest } else { DonorRule::Lowest };
            let settings = MigrationParams { donor, guard, keep, stop, ..PAPER };
            prop_assert_eq!(choose(&settings, &sites), choose_one_by_one(&settings, &sites));
        }
    }

    #[test]
    fn similar_values_move_nothing() {
        let stop = MigrationParams { stop: 1.5, ..NEXT };
        assert_eq!(choose(&stop, &sites(&[(1.4, 3), (1.0, 3)])), None);
        let apart = sites(&[(1.5, 3), (1.0, 1), (1.2, 3)]);
        assert_eq!(choose(&stop, &apart), Some(ProxyMove { from: 2, to: 0 }));
    }

    #[test]
    fn a_proxy_that_would_lose_stays() {
        let guard = MigrationParams {
            guard: true,
            run_ticks: 5.0,
            ..NEXT
        };
        let mut two = sites(&[(2.0, 3), (1.0, 3)]);
        two[0].wait = 9.0;
        two[1].wait = 9.0;
        // 2 x 5/14 against 1 x 5/(5 + 8), then against 1 x 5/(5 + 1).
        assert_eq!(choose(&guard, &two), Some(ProxyMove { from: 1, to: 0 }));
        two[1].newest = 8;
        assert_eq!(choose(&guard, &two), None);
    }
}
