//! Tests of one site in the durable form, driven by hand.

use std::collections::BTreeMap;

use tollgate_federation::durable::{DurableSite, DurableState, SiteActivity, WriteOff};
use tollgate_federation::durable::{RoundOutcome, WriteOffError};
use tollgate_federation::{
    Ballot, Membership, MembershipError, MoveRule, ReportRefusal, SiteEffect, SiteEvent, SiteId,
    SiteMeasurement, SiteMessage, SiteValue,
};
use tollgate_model::{Instant, Span};

use crate::network::{TIMING, terms};

const A: SiteId = SiteId(0);
const B: SiteId = SiteId(1);
const C: SiteId = SiteId(2);
const NOW: Instant = Instant::from_secs(100);

/// Creates site A of three, with three proxies, all pending.
fn site() -> DurableSite {
    let terms = terms(3, TIMING, MoveRule::ANY);
    let mut site = DurableSite::new(A, terms, 3, NOW);
    read_queue(&mut site, 0);
    site
}

fn read_queue(site: &mut DurableSite, running: u32) {
    handle(site, SiteEvent::Measured(SiteMeasurement::of_worth(1.0)));
    handle(site, SiteEvent::Running(running));
}

/// Returns the site after a restart and its cool-down.
fn rested(site: &DurableSite) -> DurableSite {
    let mut durable = site.durable().clone();
    durable.cool_until = Instant::ZERO;
    let restored = DurableSite::restored(A, site.terms().clone(), durable, NOW);
    let mut site = restored.expect("the same epoch");
    read_queue(&mut site, 0);
    site
}

/// Passes an event to a site whose disk is fast. Returns what the site sends.
fn handle(site: &mut DurableSite, event: SiteEvent) -> Vec<(SiteId, SiteMessage)> {
    let mut effects = Vec::new();
    site.handle(NOW, event, &mut effects);
    site.handle(NOW, SiteEvent::Written(u64::MAX), &mut effects);
    let sent = effects.into_iter().filter_map(|effect| match effect {
        SiteEffect::Send { to, message } => Some((to, message)),
        SiteEffect::Write { .. } | SiteEffect::Delete | SiteEffect::Add => None,
    });
    sent.collect()
}

fn receive(
    site: &mut DurableSite,
    from: SiteId,
    message: SiteMessage,
) -> Vec<(SiteId, SiteMessage)> {
    handle(site, SiteEvent::Received { from, message })
}

fn ballot(counter: u64, site: SiteId) -> Ballot {
    Ballot { counter, site }
}

#[test]
fn round_is_served_once_for_any_site() {
    let mut donor = site();
    let ballot = ballot(1, B);
    let request = SiteMessage::Request { ballot };
    let given = SiteMessage::Given { ballot };
    assert_eq!(receive(&mut donor, B, request), [(B, given)]);
    let mut donor = rested(&donor);
    assert_eq!(receive(&mut donor, B, request), [(B, given)]);
    let denied = SiteMessage::Denied { ballot };
    assert_eq!(receive(&mut donor, C, request), [(C, denied)]);
    assert_eq!(donor.durable().proxies, 2);
}

#[test]
fn donor_waits_for_the_confirmation_of_the_proxy_before() {
    let mut donor = site();
    let (first, second) = (ballot(1, B), ballot(2, B));
    receive(&mut donor, B, SiteMessage::Request { ballot: first });
    let mut donor = rested(&donor);
    let request = SiteMessage::Request { ballot: second };
    let denied = SiteMessage::Denied { ballot: second };
    assert_eq!(receive(&mut donor, B, request), [(B, denied)]);
    receive(&mut donor, B, SiteMessage::Confirm { ballot: second });
    assert_eq!(receive(&mut donor, B, request), [(B, denied)]);
    receive(&mut donor, C, SiteMessage::Confirm { ballot: first });
    assert_eq!(receive(&mut donor, B, request), [(B, denied)]);
    receive(&mut donor, B, SiteMessage::Confirm { ballot: first });
    let given = SiteMessage::Given { ballot: second };
    assert_eq!(receive(&mut donor, B, request), [(B, given)]);
}

#[test]
fn late_given_of_an_earlier_round_is_confirmed_and_not_added() {
    let mut receiver = site();
    for counter in [1, 3] {
        let ballot = ballot(counter, A);
        receive(&mut receiver, B, SiteMessage::Given { ballot });
    }
    assert_eq!(receiver.durable().proxies, 5);
    for counter in [1, 2, 3] {
        let ballot = ballot(counter, A);
        let confirm = SiteMessage::Confirm { ballot };
        let sent = receive(&mut receiver, B, SiteMessage::Given { ballot });
        assert_eq!(sent, [(B, confirm)]);
    }
    assert_eq!(receiver.durable().proxies, 5);
}

#[test]
fn site_that_cannot_read_its_queue_only_takes_given_proxies() {
    let mut site = site();
    handle(&mut site, SiteEvent::Unreachable);
    assert_eq!((site.pending(), site.running()), (0, None));
    assert_eq!(handle(&mut site, SiteEvent::Due), [], "no round begins");
    let round = ballot(1, B);
    let worth = SiteValue(0.5);
    let answer = |report| SiteMessage::Answer {
        ballot: round,
        report,
    };
    let propose = SiteMessage::Propose {
        ballot: round,
        worth,
    };
    let refused = answer(Err(ReportRefusal::Unreachable));
    assert_eq!(receive(&mut site, B, propose), [(B, refused)]);
    let denied = SiteMessage::Denied { ballot: round };
    let request = SiteMessage::Request { ballot: round };
    assert_eq!(receive(&mut site, B, request), [(B, denied)]);
    let ballot = ballot(2, A);
    let sent = receive(&mut site, B, SiteMessage::Given { ballot });
    assert_eq!(sent, [(B, SiteMessage::Confirm { ballot })]);
    assert_eq!(site.durable().proxies, 4);
}

#[test]
fn site_that_promised_and_lost_its_queue_requests_nothing() {
    for lost in [false, true] {
        let mut site = site();
        let ballot = ballot(1, B);
        let worth = SiteValue(0.5);
        receive(&mut site, B, SiteMessage::Propose { ballot, worth });
        if lost {
            handle(&mut site, SiteEvent::Unreachable);
        }
        let sent = receive(&mut site, B, SiteMessage::Handover { ballot, donor: C });
        assert_eq!(sent.is_empty(), lost);
    }
}

#[test]
fn proposer_that_loses_its_queue_abandons_the_round() {
    let mut site = site();
    assert_eq!(handle(&mut site, SiteEvent::Due).len(), 2);
    assert!(matches!(site.activity(), SiteActivity::Proposing(_)));
    handle(&mut site, SiteEvent::Unreachable);
    assert_eq!(site.activity(), &SiteActivity::Idle);
}

#[test]
fn site_without_a_measurement_takes_part_in_no_round() {
    let mut site = DurableSite::new(A, terms(3, TIMING, MoveRule::ANY), 3, NOW);
    assert_eq!(handle(&mut site, SiteEvent::Running(0)), []);
    assert_eq!(handle(&mut site, SiteEvent::Due), []);
}

/// A pilot started after the queue was read: the site gave it away, so more run than it has.
#[test]
fn site_with_more_running_than_proxies_has_none_pending() {
    let mut site = site();
    read_queue(&mut site, 1);
    let ballot = ballot(1, B);
    receive(&mut site, B, SiteMessage::Request { ballot });
    assert_eq!((site.durable().proxies, site.pending()), (2, 1));
    read_queue(&mut site, 3);
    assert_eq!((site.durable().proxies, site.pending()), (2, 0));
    read_queue(&mut site, u32::MAX);
    assert_eq!((site.durable().proxies, site.pending()), (2, 0));
    receive(
        &mut site,
        C,
        SiteMessage::Given {
            ballot: ballot.next(A),
        },
    );
    assert_eq!((site.durable().proxies, site.pending()), (3, 0));
}

#[test]
fn clock_that_is_set_back_delays_a_site_by_a_period_at_most() {
    let mut durable = DurableState::new(1, 3);
    durable.cool_until = NOW + Span::from_secs(1_000_000);
    let restored = DurableSite::restored(A, terms(3, TIMING, MoveRule::ANY), durable, NOW);
    let site = restored.expect("the same epoch");
    assert!(site.durable().cool_until <= NOW + TIMING.cool_down());
    assert!(site.next_wake() <= NOW + TIMING.period);
}

#[test]
fn decided_round_has_an_outcome() {
    let mut site = site();
    assert_eq!(site.last_outcome(), None);
    handle(&mut site, SiteEvent::Due);
    let ballot = ballot(1, A);
    for from in [B, C] {
        let report = Err(ReportRefusal::Busy);
        receive(&mut site, from, SiteMessage::Answer { ballot, report });
    }
    assert_eq!(
        site.last_outcome(),
        Some((ballot, RoundOutcome::NoMajority))
    );
}

#[test]
fn state_of_another_epoch_or_site_is_rejected() {
    let restored = |site, epoch| {
        let terms = terms(3, TIMING, MoveRule::ANY);
        let state = DurableState::new(epoch, 3);
        DurableSite::restored(site, terms, state, NOW).err()
    };
    assert_eq!(restored(A, 1), None);
    let other = MembershipError::OtherEpoch {
        state: 2,
        session: 1,
    };
    assert_eq!(restored(A, 2), Some(other));
    let unknown = SiteId(3);
    assert_eq!(
        restored(unknown, 1),
        Some(MembershipError::UnknownSite(unknown))
    );
}

#[test]
fn account_needs_every_state_and_no_more_proxies_than_there_are() {
    let session = Membership::new(1, [A, B, C]);
    let mut states = BTreeMap::from([(A, DurableState::new(1, 3))]);
    let account = |states: &_, all| WriteOff::new(&session, C, all, states);
    assert_eq!(account(&states, 9), Err(WriteOffError::UnknownState(B)));
    states.insert(B, DurableState::new(1, 3));
    let too_many = WriteOffError::TooMany { kept: 6, all: 5 };
    assert_eq!(account(&states, 5), Err(too_many));
    let account = account(&states, 9).expect("an account");
    assert_eq!((account.kept, account.written_off), (6, 3));
    assert_eq!(account.states[&A].epoch, 2);
}
