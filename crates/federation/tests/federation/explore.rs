//! An exploration of every state that the durable form can reach within bounds, with the invariants
//! of each state.
//!
//! Messages are never removed from the network: each may be delivered at any time, in any order,
//! any number of times, or never. So loss, duplication and reordering are unbounded. Rounds,
//! restarts, changes of running proxies and outages of queues have explicit bounds. A lost site may be
//! dropped at any time, at each other site at a moment of its own. Every site has a clock of its own,
//! so any timer may fire before or after any message.
//!
//! Of larger bounds a part is explored. All states take minutes, as in `.ci/full soak`:
//!
//! ```sh
//! TOLLGATE_STATES=all cargo test --release -p tollgate-federation --test federation explore:: -- --nocapture
//! ```

mod decisions;
mod explorer;
mod history;
mod invariants;
mod recovery;
mod world;

use explorer::{ExploreStats, explore};
use tollgate_federation::{MoveRule, SiteId, SiteMeasurement, SiteValue};
use world::{ExploreBounds, ExploredWorld};

/// Site values, from the first site on.
const RISING: &[f64] = &[1.0, 2.0, 3.0, 4.0];
const FALLING: &[f64] = &[4.0, 3.0, 2.0, 1.0];
/// The values of all sites but the first are equal.
const TIED: &[f64] = &[1.0, 2.0, 2.0, 2.0];
const EQUAL: &[f64] = &[1.0, 1.0, 1.0, 1.0];

/// Number of states of a large world that are visited unless `TOLLGATE_STATES` says otherwise.
const STATES: usize = 3_000;

/// Bounds of no action at all.
const NONE: ExploreBounds = ExploreBounds {
    rounds: 0,
    restarts: 0,
    dispatches: 0,
    outages: 0,
    lost: None,
};

const fn bounds(rounds: u32, restarts: u32, dispatches: u32) -> ExploreBounds {
    ExploreBounds {
        rounds,
        restarts,
        dispatches,
        ..NONE
    }
}

fn world(worths: &[f64], proxies: u32, bounds: ExploreBounds) -> ExploredWorld {
    let values = worths.iter().copied().map(SiteMeasurement::of_worth);
    ExploredWorld::new(&values.collect::<Vec<_>>(), proxies, MoveRule::ANY, bounds)
}

fn explored(world: ExploredWorld, most: usize) -> ExploreStats {
    let (sites, bounds) = (world.sites.len(), world.left);
    let values = world.setting.values.iter();
    let worths: Vec<f64> = values.map(|values| values.worth.0).collect();
    let seen = explore(world, most);
    println!("{sites} sites {worths:?}, {bounds:?}: {seen:?}");
    // An exploration in which no proxy ever moves proves nothing.
    assert!(seen.transfers > 0 && seen.recovered > 0);
    seen
}

/// Explores all states within the bounds.
fn all(worths: &[f64], bounds: ExploreBounds) {
    assert!(explored(world(worths, 2, bounds), usize::MAX).complete);
}

/// Explores as many states of a large world as `TOLLGATE_STATES` says, a number or `all`, but at most these.
fn large(world: ExploredWorld, most: usize) {
    let states = match std::env::var("TOLLGATE_STATES") {
        Ok(all) if all == "all" => usize::MAX,
        Ok(number) => number.parse().expect("TOLLGATE_STATES: a number or all"),
        Err(_) => STATES,
    };
    explored(world, states.min(most));
}

#[test]
fn three_sites_and_two_rounds_at_a_time() {
    all(&RISING[..3], bounds(2, 0, 0));
}

#[test]
fn one_round_that_crashes_and_dispatches_interrupt() {
    for worths in [RISING, FALLING, TIED] {
        all(&worths[..3], bounds(1, 1, 1));
        all(&worths[..3], bounds(1, 2, 0));
    }
    all(RISING, bounds(1, 1, 0));
    all(FALLING, bounds(1, 1, 0));
}

#[test]
fn equal_sites_move_nothing() {
    let seen = explore(world(&EQUAL[..3], 2, bounds(2, 0, 0)), usize::MAX);
    println!("{seen:?}");
    assert!(seen.complete && seen.transfers == 0);
}

/// The lowest site is not the donor: its proxy would lose by the move.
#[test]
fn guard_and_stop_hold_in_every_state() {
    let mut values = [1.0, 2.0, 3.0].map(SiteMeasurement::of_worth);
    values[0].staying = SiteValue(4.0);
    let rule = |stop| MoveRule::new(stop, true).expect("a rule");
    let world = |stop, bounds| ExploredWorld::new(&values, 2, rule(stop), bounds);
    assert!(explored(world(3.0, bounds(1, 1, 1)), usize::MAX).complete);
    let stopped = explore(world(3.1, bounds(1, 1, 1)), usize::MAX);
    assert!(stopped.complete && stopped.transfers == 0);
}

/// Two sites give each other proxies again and again, so that both forget transfers.
#[test]
fn journals_are_cut_between_two_sites() {
    let seen = explored(world(&RISING[..2], 5, bounds(3, 0, 0)), usize::MAX);
    assert!(seen.complete && seen.forgotten > 0);
}

#[test]
fn large_cut_journals() {
    large(world(&RISING[..2], 5, bounds(3, 1, 0)), usize::MAX);
    large(world(&RISING[..2], 5, bounds(3, 0, 1)), usize::MAX);
}

#[test]
fn one_round_with_a_queue_that_cannot_be_read() {
    for worths in [RISING, FALLING] {
        let outage = ExploreBounds {
            outages: 1,
            ..bounds(1, 1, 0)
        };
        all(&worths[..3], outage);
    }
}

/// A proxy that started after the queue was read is given away.
#[test]
fn one_round_in_which_more_run_than_a_site_has() {
    let seen = explored(world(&RISING[..3], 2, bounds(1, 0, 2)), usize::MAX);
    assert!(seen.complete && seen.surplus > 0);
}

/// The lost site is the donor, the receiver or neither, and may be up all the time.
#[test]
fn one_round_while_a_site_is_dropped() {
    for lost in (0..3).map(SiteId) {
        let dropped = ExploreBounds {
            lost: Some(lost),
            ..bounds(1, 1, 1)
        };
        all(&RISING[..3], dropped);
    }
}

/// The full exploration takes too long, so this test visits as many states as time allows.
#[test]
fn four_sites_and_two_rounds_in_part() {
    explored(world(RISING, 2, bounds(2, 1, 0)), 20_000);
    explored(world(TIED, 2, bounds(2, 0, 1)), 20_000);
    let dropped = ExploreBounds {
        lost: Some(SiteId(0)),
        ..bounds(2, 1, 1)
    };
    explored(world(RISING, 3, dropped), 20_000);
}

#[test]
fn large_three_sites() {
    for worths in [RISING, FALLING, TIED] {
        for bounds in [bounds(2, 1, 0), bounds(2, 0, 1), bounds(1, 2, 1)] {
            large(world(&worths[..3], 2, bounds), usize::MAX);
        }
    }
}

#[test]
fn large_dropped_site() {
    let drop = |lost: u32, worths, within| {
        let dropped = ExploreBounds {
            lost: Some(SiteId(lost)),
            ..within
        };
        large(world(worths, 2, dropped), usize::MAX);
    };
    for lost in 0..3 {
        drop(lost, &RISING[..3], bounds(2, 0, 0));
        drop(lost, &RISING[..3], bounds(1, 2, 1));
    }
    drop(0, RISING, bounds(1, 1, 0));
}

#[test]
fn large_four_sites() {
    for worths in [RISING, FALLING, TIED] {
        large(world(worths, 2, bounds(1, 2, 1)), usize::MAX);
    }
}

#[test]
fn large_three_rounds() {
    large(world(&RISING[..3], 3, bounds(3, 1, 1)), 1_000_000);
    large(world(RISING, 2, bounds(2, 1, 1)), 1_000_000);
}
