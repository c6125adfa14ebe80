//! Tests of the rule of moves: what happens with and without `stop` and `guard`.

use tollgate_federation::durable::{DurableSite, RoundOutcome};
use tollgate_federation::{MoveRule, SiteEffect, SiteEvent, SiteMeasurement, SiteValue};
use tollgate_model::{Instant, Span};

use crate::network::{MessageFaults, SiteNetwork};
use crate::session::{check_conservation, sites_with_rule};

const PERIODS: i64 = 200;

/// Runs four sites, each of which measures itself in each period by `measured`. Returns the number of proxies that moved in the first half
/// and in the second half of the time.
fn moves(
    rule: MoveRule,
    measured: impl Fn(&mut SiteNetwork<DurableSite>, usize) -> SiteMeasurement,
) -> (SiteNetwork<DurableSite>, [usize; 2]) {
    let mut network = sites_with_rule(4, rule, MessageFaults::default(), 1);
    let mut moved = [0; 2];
    for period in 1..=PERIODS {
        for site in 0..network.sites.len() {
            // The first site runs three proxies, so the others have longer queues.
            let running = if site == 0 { 3 } else { 0 };
            network.deliver(site, SiteEvent::Running(running));
            let values = measured(&mut network, site);
            network.deliver(site, SiteEvent::Measured(values));
        }
        network.run_until(Instant::ZERO + Span::from_secs(600 * period));
        if period == PERIODS / 2 {
            moved[0] = network.count(SiteEffect::Delete);
        }
    }
    moved[1] = network.count(SiteEffect::Delete) - moved[0];
    check_conservation(&network);
    (network, moved)
}

/// Returns the value of a site where nothing else is known: less for every pending proxy.
fn by_queue(network: &mut SiteNetwork<DurableSite>, site: usize) -> SiteMeasurement {
    SiteMeasurement::of_worth(1.0 / f64::from(network.sites[site].pending() + 2))
}

#[test]
fn like_sites_swap_for_ever_without_stop() {
    let (_, moved) = moves(MoveRule::ANY, by_queue);
    println!("without stop: {moved:?}");
    assert!(moved[1] > 90, "{moved:?}");
    let stop = MoveRule::new(1.3, false).expect("a rule");
    let (network, moved) = moves(stop, by_queue);
    println!("with stop: {moved:?}");
    assert!(moved[0] > 0 && moved[1] == 0, "{moved:?}");
    let outcomes = network.sites.iter().filter_map(DurableSite::last_outcome);
    assert!(
        outcomes
            .into_iter()
            .any(|(_, why)| why == RoundOutcome::Alike)
    );
}

/// The values of the sites change by chance, and every proxy in a queue has almost waited enough.
#[test]
fn proxies_that_would_lose_swap_for_ever_without_guard() {
    let noise = |network: &mut SiteNetwork<DurableSite>, _| SiteMeasurement {
        staying: SiteValue(2.0),
        ..SiteMeasurement::of_worth(network.unit())
    };
    let (_, moved) = moves(MoveRule::ANY, noise);
    println!("without guard: {moved:?}");
    assert!(moved[1] > 90, "{moved:?}");
    let guard = MoveRule::new(1.0, true).expect("a rule");
    let (network, moved) = moves(guard, noise);
    assert_eq!(moved, [0, 0]);
    let outcomes = network.sites.iter().filter_map(DurableSite::last_outcome);
    assert!(
        outcomes
            .into_iter()
            .any(|(_, why)| why == RoundOutcome::Guarded)
    );
}
