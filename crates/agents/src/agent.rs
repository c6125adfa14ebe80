//! The agent of one site, without clock, network and engine: events in, frames out.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::sync::Arc;

use tollgate_federation::durable::{DurableSite, DurableState};
use tollgate_federation::{
    Envelope, MembershipError, SessionTerms, SiteEffect, SiteEvent, SiteId, SiteMeasurement,
    SiteMessage, SiteRecord, SiteValue,
};
use tollgate_model::Instant;

use crate::journal::RecordLog;
use crate::meter::{CLOSED_VALUE, SiteMeter};
use crate::queue::QueueView;
use crate::status::{AgentStatus, SiteMove};

/// The agent of one site: the protocol, its journal, and the meter of the site's value.
///
/// The driver passes every view of the queue to [`SiteAgent::look`], every message to
/// [`SiteAgent::receive`], and calls [`SiteAgent::wake`] no later than at [`SiteAgent::next_wake`].
/// Each returns envelopes to send, which may be lost. The queue follows [`SiteAgent::target`].
#[derive(Debug)]
pub struct SiteAgent<L> {
    id: SiteId,
    names: AgentNames,
    terms: Arc<SessionTerms>,
    site: DurableSite,
    log: L,
    meter: SiteMeter,
    /// The last values of the other sites, as their messages had them.
    values: BTreeMap<SiteId, f64>,
    status: AgentStatus,
    notes: Vec<String>,
    effects: Vec<SiteEffect>,
}

/// The names that an agent uses in its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentNames {
    /// The session.
    pub session: String,
    /// The sites, by id.
    pub sites: Vec<String>,
}

/// An envelope with its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The receiver.
    pub to: SiteId,
    /// The envelope.
    pub envelope: Envelope,
}

impl AgentNames {
    fn of(&self, id: SiteId) -> &str {
        self.sites.get(id.0 as usize).map_or("?", String::as_str)
    }
}

impl<L: RecordLog> SiteAgent<L> {
    /// Restores the agent of a site at `now` from the state on disk, which may be of an earlier epoch.
    ///
    /// # Errors
    /// An error if the state is not of this session, the site was dropped, or the log cannot be written.
    pub fn restore(
        id: SiteId,
        names: AgentNames,
        terms: impl Into<Arc<SessionTerms>>,
        mut state: DurableState,
        mut log: L,
        meter: SiteMeter,
        now: Instant,
    ) -> Result<Self, io::Error> {
        let terms = terms.into();
        let refused = |error: MembershipError| io::Error::other(error.to_string());
        for record in terms.membership.entry(state.epoch).map_err(refused)? {
            log.append(record)?;
            state.apply(record);
        }
        let status = AgentStatus {
            session: names.session.clone(),
            site: names.of(id).to_owned(),
            at: now,
            target: state.proxies,
            running: None,
            pending: 0,
            value: None,
            mean_wait_s: None,
            received: 0,
            given: 0,
            last_move: None,
            failure: None,
            state: state.clone(),
        };
        let site = DurableSite::restored(id, Arc::clone(&terms), state, now).map_err(refused)?;
        Ok(Self {
            id,
            names,
            terms,
            site,
            log,
            meter,
            values: BTreeMap::new(),
            status,
            notes: Vec::new(),
            effects: Vec::new(),
        })
    }

    /// Returns the number of pilots that the site should have.
    pub fn target(&self) -> u32 {
        self.site.durable().proxies
    }

    /// Returns the state on disk.
    pub const fn durable(&self) -> &DurableState {
        self.site.durable()
    }

    /// Returns the time by which [`Self::wake`] must be called.
    pub fn next_wake(&self) -> Instant {
        self.site.next_wake()
    }

    /// Returns the state of the agent.
    pub fn status(&self, now: Instant) -> AgentStatus {
        let running = self.status.running;
        AgentStatus {
            at: now,
            target: self.target(),
            state: self.durable().clone(),
            pending: self.target().saturating_sub(running.unwrap_or(0)),
            ..self.status.clone()
        }
    }

    /// Returns the sentences about what has happened since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        mem::take(&mut self.notes)
    }

    /// Takes a view of the queue, or the reason why it is missing. Without a view the site gives
    /// nothing and takes nothing.
    ///
    /// # Errors
    /// An error if a record cannot be written. The agent must not go on then.
    pub fn look(
        &mut self,
        now: Instant,
        view: Result<&QueueView, &str>,
    ) -> io::Result<Vec<OutgoingMessage>> {
        let failure = match view {
            Ok(view) => view.closed.clone(),
            Err(problem) => Some(problem.to_owned()),
        };
        if self.status.failure != failure {
            self.notes.push(match &failure {
                Some(failure) => format!("no pilots move here: {failure}"),
                None => "pilots may move here again".to_owned(),
            });
        }
        self.status.failure = failure;
        let Ok(view) = view else {
            self.status.running = None;
            self.status.value = None;
            return self.handle(now, SiteEvent::Unreachable);
        };
        let value = self.meter.measure(now, self.target(), view);
        self.status.running = Some(view.running);
        self.status.value = (value.worth > CLOSED_VALUE).then_some(value.worth);
        let waits = view.started.iter().map(|pilot| f64::from(pilot.waited_s));
        let n_waits = view.started.len();
        self.status.mean_wait_s = (n_waits > 0).then(|| waits.sum::<f64>() / n_waits as f64);
        let measured = SiteMeasurement {
            worth: SiteValue(value.worth),
            arriving: SiteValue(value.arriving),
            staying: SiteValue(value.staying),
        };
        let mut sent = self.handle(now, SiteEvent::Measured(measured))?;
        sent.extend(self.handle(now, SiteEvent::Running(view.running))?);
        Ok(sent)
    }

    /// Takes a message from another site. Messages of another epoch are ignored.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn receive(
        &mut self,
        now: Instant,
        envelope: Envelope,
    ) -> io::Result<Vec<OutgoingMessage>> {
        let Some(event) = self.terms.membership.admit(envelope) else {
            return Ok(Vec::new());
        };
        let value = match envelope.message {
            SiteMessage::Propose { worth, .. } => Some(worth),
            SiteMessage::Answer { report, .. } => report.ok().map(|report| report.measured.worth),
            SiteMessage::Handover { .. }
            | SiteMessage::Request { .. }
            | SiteMessage::Given { .. }
            | SiteMessage::Denied { .. }
            | SiteMessage::Confirm { .. } => None,
        };
        if let Some(SiteValue(value)) = value {
            self.values.insert(envelope.from, value);
        }
        self.handle(now, event)
    }

    /// Does what is due.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn wake(&mut self, now: Instant) -> io::Result<Vec<OutgoingMessage>> {
        self.handle(now, SiteEvent::Due)
    }

    fn handle(&mut self, now: Instant, event: SiteEvent) -> io::Result<Vec<OutgoingMessage>> {
        let mut sent = Vec::new();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let mut effects = mem::take(&mut self.effects);
            self.site.handle(now, event, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    SiteEffect::Send { to, message } => sent.push(OutgoingMessage {
                        to,
                        envelope: self.terms.membership.envelope(self.id, message),
                    }),
                    SiteEffect::Write { number, record } => {
                        self.log.append(record)?;
                        self.note_record(now, record);
                        events.push(SiteEvent::Written(number));
                    }
                    // The queue follows the number of the state.
                    SiteEffect::Delete | SiteEffect::Add => {}
                }
            }
            self.effects = effects;
        }
        self.log.cut(self.site.durable())?;
        Ok(sent)
    }

    fn note_record(&mut self, now: Instant, record: SiteRecord) {
        let (other, gave) = match record {
            SiteRecord::Given { to, .. } => (to, true),
            SiteRecord::Added { from, .. } => (from, false),
            SiteRecord::Promised { .. }
            | SiteRecord::Relinquished { .. }
            | SiteRecord::Confirmed { .. }
            | SiteRecord::Dropped { .. } => return,
        };
        let site = self.names.of(other).to_owned();
        let why = format!(
            "value {} here, {} there",
            describe_value(self.status.value),
            describe_value(self.values.get(&other).copied()),
        );
        let (target, pending) = (self.target(), self.site.pending());
        let verb = if gave {
            "gave a pilot to"
        } else {
            "received a pilot from"
        };
        self.notes.push(format!(
            "{verb} {site}: {why}; {target} wanted here now, {pending} of them wait"
        ));
        match gave {
            true => self.status.given += 1,
            false => self.status.received += 1,
        }
        self.status.last_move = Some(SiteMove {
            at: now,
            site,
            gave,
            why,
        });
    }
}

fn describe_value(value: Option<f64>) -> String {
    match value {
        Some(value) if value > CLOSED_VALUE => format!("{value:.2}"),
        Some(_) => "none".to_owned(),
        None => "not known".to_owned(),
    }
}
