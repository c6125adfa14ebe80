//! The truth about the sites, which no policy sees.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

use super::setup::FederationConfig;

/// The speeds of the sites of a run, and the waits of proxies there over time. The same for every
/// policy that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct FederationEnvironment {
    flops: Vec<f64>,
    /// By epoch and site.
    waits: Vec<Vec<u32>>,
    /// The tick of an epoch at which each site draws its wait anew, if sites are staggered.
    offsets: Option<Vec<u32>>,
    change: u32,
}

impl FederationEnvironment {
    /// Draws an environment. `random` is used for nothing else.
    pub fn draw(setup: &FederationConfig, random: &mut Pcg64) -> Self {
        let (low, high) = setup.flops;
        let flops = (0..setup.sites).map(|_| low + (high - low) * unit(random));
        let flops = flops.collect();
        let epochs = match setup.change {
            0 => 1,
            change => 2 + setup.ticks / change,
        };
        let mut epoch = || {
            let waits = (0..setup.sites).map(|_| whole(setup.wait, random));
            waits.collect()
        };
        let waits = (0..epochs).map(|_| epoch()).collect();
        let staggered = setup.staggered && setup.change > 0;
        let offsets = staggered.then(|| {
            let offset = |_| whole((0, setup.change - 1), random);
            (0..setup.sites).map(offset).collect()
        });
        Self {
            flops,
            waits,
            offsets,
            change: setup.change,
        }
    }

    /// Returns the speed of each site.
    pub fn flops(&self) -> &[f64] {
        &self.flops
    }

    /// Returns the average wait (T_w) at a site in a tick.
    pub fn wait(&self, site: usize, tick: u32) -> u32 {
        let epoch = match self.change {
            0 => 0,
            change => (tick + self.offsets.as_ref().map_or(0, |offsets| offsets[site])) / change,
        };
        self.waits[epoch as usize][site]
    }

    /// Returns true if any wait may have changed with this tick.
    pub(super) fn changes(&self, tick: u32) -> bool {
        let moves = |offset: u32| (tick + offset).is_multiple_of(self.change);
        let any = || match &self.offsets {
            None => moves(0),
            Some(offsets) => offsets.iter().copied().any(moves),
        };
        tick == 0 || (self.change > 0 && any())
    }
}

/// Draws a number in [0, 1) with 53 random bits.
fn unit(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Draws a whole number between both, uniform to within one part in about 2^44.
fn whole((least, most): (u32, u32), random: &mut Pcg64) -> u32 {
    let count = u128::from(most - least) + 1;
    least + ((u128::from(random.next_u64()) * count) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn draws_lie_in_their_ranges_and_reach_both_ends() {
        let environment = FederationEnvironment::draw(
            &FederationConfig {
                sites: 64,
                ..FederationConfig::default()
            },
            &mut Pcg64::seed_from_u64(1),
        );
        assert!(environment.flops.iter().all(|f| (1.0..3.0).contains(f)));
        let waits = environment.waits.iter().flatten();
        assert_eq!(waits.clone().min(), Some(&2));
        assert_eq!(waits.max(), Some(&20));
    }

    #[test]
    fn waits_change_at_the_configured_ticks() {
        let draw = |change, staggered| {
            let setup = FederationConfig {
                change,
                staggered,
                ..FederationConfig::default()
            };
            FederationEnvironment::draw(&setup, &mut Pcg64::seed_from_u64(2))
        };
        let all = draw(30, false);
        let ticks: Vec<u32> = (0..600).filter(|&tick| all.changes(tick)).collect();
        assert_eq!(ticks, (0..20).map(|epoch| epoch * 30).collect::<Vec<_>>());
        assert!((0..600).all(|tick| (0..16).all(|site| all.wait(site, tick) >= 2)));
        let never = draw(0, true);
        assert!((1..600).all(|tick| !never.changes(tick)));
        let each = draw(30, true);
        assert!((0..600).filter(|&tick| each.changes(tick)).count() > 100);
        assert_eq!(each.flops, all.flops);
    }
}
