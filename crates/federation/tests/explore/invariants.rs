//! What must hold in every state and in every step.

use std::collections::BTreeMap;

use tollgate_federation::durable::SiteActivity;
use tollgate_federation::{
    Ballot, SiteEffect, SiteEvent, SiteId, SiteMessage, SiteReport, SiteValue,
};

use tollgate_model::Instant;

use crate::world::{ExploredWorld, SiteStep};

/// Conservation, transfers and rounds as the journals and the messages have them.
pub(crate) fn check_state(world: &ExploredWorld) {
    conservation(world);
    transfers(world);
    ballots(world);
    no_mutual_refusals(world);
}

/// 1. Pending, running and in flight are as many as there were at first.
fn conservation(world: &ExploredWorld) {
    let held: u32 = world.sites.iter().map(|site| site.durable().proxies).sum();
    let given = world.sites.iter().flat_map(|site| &site.durable().given);
    let in_flight = given.filter(|(ballot, transfer)| {
        let receiver = &world.sites[transfer.to.0 as usize];
        !receiver.durable().added.contains_key(ballot)
    });
    let in_flight = in_flight.count() as u32;
    assert_eq!(held + in_flight, world.proxies, "conservation");
    for site in &world.sites {
        assert_eq!(site.pending() + site.running(), site.durable().proxies);
    }
}

/// 2 and 3. A round deletes at one site at most and adds at one at most, and adds only what the
/// donor has a record of having deleted for that very site.
fn transfers(world: &ExploredWorld) {
    let (mut given, mut added) = (BTreeMap::new(), BTreeMap::new());
    for site in &world.sites {
        for (ballot, transfer) in &site.durable().given {
            let earlier = given.insert(*ballot, (site.id(), transfer.to));
            assert_eq!(earlier, None, "{ballot:?} deletes once");
        }
        for (ballot, from) in &site.durable().added {
            let earlier = added.insert(*ballot, (*from, site.id()));
            assert_eq!(earlier, None, "{ballot:?} adds once");
        }
    }
    let confirmed = world.sites.iter().flat_map(|site| &site.durable().given);
    for (ballot, _) in confirmed.filter(|(_, transfer)| transfer.confirmed) {
        assert!(added.contains_key(ballot), "what is confirmed has arrived");
    }
    for (ballot, transfer) in added {
        assert_eq!(
            given.get(&ballot),
            Some(&transfer),
            "no add before its delete"
        );
    }
}

/// 6. A ballot has one proposer, one worth and one report of each site, and at most one decision.
fn ballots(world: &ExploredWorld) {
    let mut proposed: BTreeMap<Ballot, (SiteId, SiteValue)> = BTreeMap::new();
    let mut reported: BTreeMap<(Ballot, SiteId), SiteReport> = BTreeMap::new();
    let mut decided: BTreeMap<Ballot, (SiteId, SiteId)> = BTreeMap::new();
    for &(from, to, message) in &world.network {
        match message {
            SiteMessage::Propose { ballot, worth } => {
                let first = *proposed.entry(ballot).or_insert((from, worth));
                assert_eq!(first, (from, worth), "one proposal a ballot");
                assert_eq!(ballot.site, from);
            }
            SiteMessage::Answer {
                ballot,
                report: Ok(report),
            } => {
                let first = *reported.entry((ballot, from)).or_insert(report);
                assert_eq!(first, report, "values are frozen a ballot");
            }
            SiteMessage::Request { ballot } => {
                let first = *decided.entry(ballot).or_insert((from, to));
                assert_eq!(first, (from, to), "one decision a ballot");
            }
            SiteMessage::Answer { report: Err(_), .. }
            | SiteMessage::Handover { .. }
            | SiteMessage::Given { .. }
            | SiteMessage::Denied { .. }
            | SiteMessage::Confirm { .. } => {}
        }
    }
}

/// 5: no two sites refuse each other for value. Worths do not change here, so whoever is refused by
/// a higher site never refuses that one.
fn no_mutual_refusals(world: &ExploredWorld) {
    let mut refused: Vec<(SiteId, SiteId)> = Vec::new();
    for &(from, to, message) in &world.network {
        let SiteMessage::Answer {
            ballot,
            report: Ok(report),
        } = message
        else {
            continue;
        };
        let proposals = world
            .network
            .iter()
            .filter_map(|&(_, _, message)| match message {
                SiteMessage::Propose { ballot: b, worth } if b == ballot => Some(worth),
                SiteMessage::Propose { .. }
                | SiteMessage::Answer { .. }
                | SiteMessage::Handover { .. }
                | SiteMessage::Request { .. }
                | SiteMessage::Given { .. }
                | SiteMessage::Denied { .. }
                | SiteMessage::Confirm { .. } => None,
            });
        let above = |worth| (report.worth, from) > (worth, to);
        if proposals.into_iter().any(above) {
            assert!(!refused.contains(&(to, from)), "{from:?} and {to:?}");
            refused.push((from, to));
        }
    }
}

/// What must hold of what a site just did.
pub(crate) fn check_step(before: &ExploredWorld, after: &ExploredWorld, step: &SiteStep) {
    let (old, new) = (step.before.durable(), after.sites[step.site].durable());
    let count = |wanted: SiteEffect| step.effects.iter().filter(|&&e| e == wanted).count();
    // 2. Every delete and add has its record, and none has two.
    assert_eq!(count(SiteEffect::Delete), new.given.len() - old.given.len());
    assert_eq!(count(SiteEffect::Add), new.added.len() - old.added.len());
    assert!(new.promised >= old.promised);
    if count(SiteEffect::Delete) > 0 {
        check_grant(after, step);
    }
    leadership(before, step);
}

fn check_grant(after: &ExploredWorld, step: &SiteStep) {
    let old = step.before.durable();
    let SiteEvent::Received {
        message: SiteMessage::Request { ballot },
        ..
    } = step.event
    else {
        panic!("only who is asked gives");
    };
    // 4. One stays. 6. Nothing below the promise. 7. Nothing while cooling down.
    assert!(after.sites[step.site].pending() >= 1, "a donor keeps one");
    assert!(ballot >= old.promised, "nothing is served below a promise");
    assert!(
        old.cool_until <= Instant::ZERO,
        "nothing is given in a cool-down"
    );
}

/// 9. Whoever decides hands the round to the highest of all that it heard of, or is that itself.
fn leadership(before: &ExploredWorld, step: &SiteStep) {
    let SiteActivity::Proposing(round) = step.before.activity() else {
        return;
    };
    let own = (round.own.worth, SiteId(step.site as u32));
    let mut known: Vec<(SiteValue, SiteId)> = vec![own];
    let answers = round.answers.iter();
    known.extend(answers.filter_map(|(&site, report)| Some((report.ok()?.worth, site))));
    if let SiteEvent::Received {
        from,
        message: SiteMessage::Answer {
            ballot,
            report: Ok(report),
        },
    } = step.event
        && ballot == round.ballot
        && !round.answers.contains_key(&from)
    {
        known.push((report.worth, from));
    }
    let highest = known.into_iter().max().map(|(_, site)| site);
    for effect in &step.effects {
        let SiteEffect::Send { to, message } = effect else {
            continue;
        };
        match message {
            SiteMessage::Handover { .. } => assert_eq!(Some(*to), highest),
            SiteMessage::Request { .. } => assert_eq!(Some(before.sites[step.site].id()), highest),
            SiteMessage::Propose { .. }
            | SiteMessage::Answer { .. }
            | SiteMessage::Given { .. }
            | SiteMessage::Denied { .. }
            | SiteMessage::Confirm { .. } => {}
        }
    }
}
