//! Transfers: requests, proxies given and proxies added.

use tollgate_model::Instant;

use super::{DurableSite, SiteActivity};
use crate::message::{SiteEffect, SiteMessage, SiteRecord};
use crate::site::{Ballot, SiteId};

impl DurableSite {
    /// Repeats the unconfirmed transfers of a donor until the receiver confirms them.
    pub(super) fn repeat_grants(&mut self, now: Instant, effects: &mut Vec<SiteEffect>) {
        let open: Vec<(Ballot, SiteId)> = self.durable.unconfirmed().collect();
        self.repeat_at = (!open.is_empty()).then(|| now + self.terms.timing.time_out());
        for (ballot, to) in open {
            self.send(to, SiteMessage::Given { ballot }, effects);
        }
    }

    /// Gives a proxy, at most once a round, if the site may and can.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) {
        let transfer = self.durable.given.get(&from);
        let answer = if transfer.is_some_and(|transfer| transfer.ballot == ballot) {
            SiteMessage::Given { ballot }
        } else if self.may_give(now, from, ballot) {
            self.give(now, from, ballot, effects);
            SiteMessage::Given { ballot }
        } else {
            SiteMessage::Denied { ballot }
        };
        self.send(from, answer, effects);
    }

    /// Returns whether the site may serve a round that it has not served. One proxy at a time is
    /// on its way to a site: see [`DurableState`](super::DurableState).
    fn may_give(&self, now: Instant, to: SiteId, ballot: Ballot) -> bool {
        let fresh = ballot >= self.durable.promised && !self.durable.has_served(ballot);
        let transfer = self.durable.given.get(&to);
        let closed = transfer.is_none_or(|transfer| transfer.confirmed);
        let spare = self.pending() > self.terms.moves.keep();
        fresh && closed && !self.is_busy(now) && spare
    }

    fn give(&mut self, now: Instant, to: SiteId, ballot: Ballot, effects: &mut Vec<SiteEffect>) {
        // The site's own round, if any, is earlier than this one.
        self.activity = SiteActivity::Idle;
        let cool_until = now + self.terms.timing.cool_down();
        let record = SiteRecord::Given {
            ballot,
            to,
            cool_until,
        };
        self.write(record, effects);
        self.outbox.put(SiteEffect::Delete, effects);
        let repeat = now + self.terms.timing.time_out();
        self.repeat_at = Some(self.repeat_at.map_or(repeat, |at| at.min(repeat)));
    }

    /// Receives a proxy. The site accepts it in any activity, because the donor no longer has it. A
    /// proxy that was received before is confirmed again: the confirmation may have been lost.
    pub(super) fn on_given(
        &mut self,
        now: Instant,
        from: SiteId,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) {
        if !self.durable.has_received(from, ballot) {
            let cool_until = now + self.terms.timing.cool_down();
            let record = SiteRecord::Added {
                ballot,
                from,
                cool_until,
            };
            self.write(record, effects);
            self.outbox.put(SiteEffect::Add, effects);
        }
        self.on_denied(from, ballot);
        self.send(from, SiteMessage::Confirm { ballot }, effects);
    }

    /// Ends the request that this message answers.
    pub(super) fn on_denied(&mut self, from: SiteId, ballot: Ballot) {
        let over = matches!(
            self.activity,
            SiteActivity::Requesting { ballot: asked, donor, .. } if asked == ballot && donor == from
        );
        if over {
            self.activity = SiteActivity::Idle;
        }
    }

    pub(super) fn on_confirm(
        &mut self,
        from: SiteId,
        ballot: Ballot,
        effects: &mut Vec<SiteEffect>,
    ) {
        let transfer = self.durable.given.get(&from);
        if transfer.is_some_and(|transfer| transfer.ballot == ballot && !transfer.confirmed) {
            self.write(SiteRecord::Confirmed { ballot }, effects);
        }
    }
}
