//! The profile against a plain list.

use super::*;
use proptest::prelude::*;

/// The end of the plain profile; the machine is free from then on.
const HORIZON: usize = 3000;

/// The free processors of each second.
struct PlainProfile(Vec<u32>);

impl PlainProfile {
    fn fits(&self, at: usize, procs: u32, length: usize) -> bool {
        self.0[at..at + length].iter().all(|&free| free >= procs)
    }

    fn latest(&self, from: usize, procs: u32, length: usize, end: usize) -> Option<usize> {
        (from..=end.checked_sub(length)?)
            .rev()
            .find(|&at| self.fits(at, procs, length))
    }

    fn longest(&self, from: usize, before: usize, procs: u32) -> Span {
        let begins = |&at: &usize| at == from || self.0[at - 1] < procs;
        let lengths = (from..before).filter(begins).map(|at| {
            let end = (at..HORIZON).find(|&second| self.0[second] < procs);
            end.map_or(Span::MAX, |end| span(end - at))
        });
        lengths.max().unwrap_or_default()
    }
}

fn at(secs: usize) -> Instant {
    Instant::from_secs(secs as i64)
}

fn span(secs: usize) -> Span {
    Span::from_secs(secs as i64)
}

proptest! {
    /// Jobs get the first hole one after another while time passes, as in a long queue: a profile of
    /// many blocks, and bounds from many searches.
    #[test]
    fn behaves_like_a_plain_list(
        jobs in prop::collection::vec((0usize..3, 1u32..=8, 1usize..14, any::<bool>()), 1..250),
    ) {
        let mut profile = CapacityProfile::of_steps(&[(Instant::ZERO, 8)]);
        let mut plain = PlainProfile(vec![8; HORIZON]);
        let mut now = 0;
        for (later, procs, length, reserves) in jobs {
            now += later;
            profile.discard_before(at(now));
            let walked = (now..).find(|&from| plain.fits(from, procs, length)).expect("within reach");
            let hole = profile.earliest(at(now), procs, span(length));
            prop_assert_eq!(hole, Some(at(walked)));
            prop_assert_eq!(profile.fits(at(now), procs, span(length)), walked == now);
            let short = (now..HORIZON).find(|&second| plain.0[second] < procs);
            prop_assert_eq!(profile.free_until(at(now), procs), short.map_or(Instant::MAX, at));
            let longest = plain.longest(now, now + 3 * length, procs);
            prop_assert_eq!(profile.longest(at(now), at(now + 3 * length), procs), longest);
            let end = walked + 2 * length;
            let latest = profile.latest(procs, span(length), at(end));
            // The first step may have begun before.
            let latest = latest.filter(|&latest| latest >= at(now));
            prop_assert_eq!(latest, plain.latest(now, procs, length, end).map(at));
            let fewest = plain.0[now..end].iter().min().copied();
            prop_assert_eq!(Some(profile.fewest(at(now), at(end))), fewest);
            if let Some(latest) = latest {
                let before = profile.clone();
                profile.reserve(latest, procs, span(length));
                prop_assert_eq!(
                    profile.fewest(latest, latest + span(length)) + procs,
                    before.fewest(latest, latest + span(length))
                );
                profile.release(latest, procs, span(length));
                let free = |profile: &CapacityProfile| {
                    let ends = (now..HORIZON).map(|second| at(second + 1));
                    ends.map(|end| profile.fewest(end - span(1), end)).collect::<Vec<_>>()
                };
                prop_assert_eq!(free(&profile), free(&before));
            }
            if reserves {
                profile.reserve(at(walked), procs, span(length));
                plain.0[walked..walked + length].iter_mut().for_each(|free| *free -= procs);
            }
        }
    }
}
