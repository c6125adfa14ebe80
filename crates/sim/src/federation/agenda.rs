//! The ticks in which each site changes.

/// The sites that change in a tick: a run ends there, a draw may dispatch a proxy, or the score is
/// another one. In every other tick a site produces what it did in the tick before.
#[derive(Clone, Debug)]
pub(super) struct SiteAgenda {
    /// By tick and site: one bit. Each tick begins a new word.
    sites: Vec<u64>,
    /// Number of words of a tick.
    words: usize,
}

/// An iterator over sites of a tick, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgendaSites {
    first: usize,
    bits: u64,
}

impl SiteAgenda {
    /// Creates an agenda without entries.
    pub(super) fn new(sites: usize, ticks: u32) -> Self {
        let words = sites.div_ceil(u64::BITS as usize);
        Self {
            sites: vec![0; words * ticks as usize],
            words,
        }
    }

    /// Adds an entry; ticks after the end of the run are ignored.
    pub(super) fn add(&mut self, site: usize, tick: u32) {
        let bits = u64::BITS as usize;
        let word = (tick as usize).saturating_mul(self.words) + site / bits;
        if let Some(sites) = self.sites.get_mut(word) {
            *sites |= 1 << (site % bits);
        }
    }

    /// Returns the parts of a tick, in order.
    pub(super) fn parts(&self, tick: u32) -> std::ops::Range<usize> {
        let first = tick as usize * self.words;
        first..first + self.words
    }

    /// Returns the sites of a part.
    pub(super) fn part(&self, part: usize) -> AgendaSites {
        AgendaSites {
            first: part % self.words * u64::BITS as usize,
            bits: self.sites[part],
        }
    }
}

impl Iterator for AgendaSites {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits.checked_sub(1)?;
        Some(self.first + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn sites_of_a_tick_are_those_added_in_order(
            entries in prop::collection::vec((0usize..150, 0u32..9), 0..80),
        ) {
            let mut agenda = SiteAgenda::new(150, 7);
            entries.iter().for_each(|&(site, tick)| agenda.add(site, tick));
            for tick in 0..7 {
                let found: Vec<usize> = agenda.parts(tick).flat_map(|part| agenda.part(part)).collect();
                let of_tick = entries.iter().filter(|entry| entry.1 == tick).map(|entry| entry.0);
                prop_assert_eq!(found, Vec::from_iter(BTreeSet::from_iter(of_tick)));
            }
        }
    }
}
