//! The move of a round, chosen from the scores of all sites.

use super::settings::{DonorRule, MigrationParams, SiteValuation};

/// The score of a site in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
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
/// The site with the highest value receives and the one with the lowest gives; ties go to the
/// lowest index. With [`DonorRule::NextLowest`] a site that cannot give, or whose proxy would lose
/// by the move, is passed over for the next, as long as the donor's value is below the receiver's.
pub fn choose(settings: &MigrationParams, sites: &[SiteScore]) -> Option<ProxyMove> {
    if settings.value == SiteValuation::Nothing {
        return None;
    }
    let (to, best) = first_highest(sites)?;
    let mut passed = None;
    loop {
        let (from, donor) = lowest_after(sites, passed)?;
        let first = passed.is_none();
        let too_alike = first && best.value < donor.value * settings.stop;
        if donor.value >= best.value || too_alike {
            return None;
        }
        if donor.pending > settings.keep && !(settings.guard && would_lose(settings, donor, best)) {
            return Some(ProxyMove { from, to });
        }
        match settings.donor {
            DonorRule::Lowest => return None,
            DonorRule::NextLowest => passed = Some((donor.value, from)),
        }
    }
}

fn first_highest(sites: &[SiteScore]) -> Option<(usize, &SiteScore)> {
    let places = sites.iter().enumerate();
    places.reduce(|best, next| {
        let better = next.1.value > best.1.value;
        if better { next } else { best }
    })
}

/// Returns the site of the lowest value after `passed`, ordered by value and index.
fn lowest_after(sites: &[SiteScore], passed: Option<(f64, usize)>) -> Option<(usize, &SiteScore)> {
    let after = |at: usize, site: &SiteScore| match passed {
        None => true,
        Some((value, place)) => site.value > value || (site.value == value && at > place),
    };
    let left = sites
        .iter()
        .enumerate()
        .filter(|(at, site)| after(*at, site));
    left.reduce(|lowest, next| {
        let lower = next.1.value < lowest.1.value;
        if lower { next } else { lowest }
    })
}

/// Returns true if the newest proxy of `donor` would do less at `best` than at its present site: at
/// `best` its wait begins anew, at `donor` part of the wait is over.
fn would_lose(settings: &MigrationParams, donor: &SiteScore, best: &SiteScore) -> bool {
    best.arriving(settings) < donor.staying(settings)
}

impl SiteScore {
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
        assert_eq!(choose(&PAPER, &ties), Some(ProxyMove { from: 0, to: 1 }));
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
