//! Notices to users: something has happened to a job whose user wants to know.
//!
//! | module | contents |
//! |---|---|
//! | [`kind`] | kinds of notices, and requests for them |
//! | `settings` | the targets of the site, and their checks |
//! | `placeholders` | placeholders in texts of the site |
//! | `mail` | notices as mail |
//! | `delivery` | the programs that deliver notices |
//! | `limiter` | the limit on the notices that a user gets |
//! | `sender` | the queue |
//!
//! Notices never delay a decision: they follow the event log, wait in a queue of limited length, and are
//! sent one at a time. A user gets a limited number a minute; those that are left out are
//! counted in the next one. No address and no URL comes from a user.

mod delivery;
pub mod kind;
mod limiter;
mod mail;
mod placeholders;
mod sender;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{JobEventKind, JobState, WireVocabulary};
use tollgate_model::{BookEntry, ExceededLimit, Instant, Probability};
use tollgate_service::PromiseAtRisk;
use tollgate_store::{JobFilter, JobRow};

use crate::api::error::ApiError;
use crate::api::state::{ApiState, query_store};
use crate::controller::ControllerRequest;
use crate::events::{EventEntry, EventId};

use self::kind::{NoticeKind, NoticeRequest};

pub use settings::{BadNoticeSettings, NoticeSettings, NoticeTarget};

/// Maximum number of events read at a time.
const MAX_EVENTS: usize = 256;
/// Interval at which jobs are looked at whose promise may be at risk.
const RISK_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of promises that are looked at in this time.
const MAX_LOOKS: usize = 4;
/// Maximum number of unfinished jobs that are looked at when the service starts.
const MAX_JOBS: u32 = 10_000;

/// A notice as a command gets it: JSON on standard input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct JobNotice {
    /// The name of the target.
    #[serde(skip)]
    target: String,
    /// `end`, `late`, `lost`, `at-risk`, or `more` for notices that were left out.
    notice: &'static str,
    /// Number of the job; none for `more`.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<u64>,
    /// User id of the owner.
    user_id: u32,
    /// Name of the owner; the user id if there is none.
    user: String,
    /// Name of the job.
    name: String,
    /// Instant of the event.
    at: String,
    /// One sentence.
    text: String,
    /// Number of notices to this user that were left out before.
    left_out: u32,
}

impl JobNotice {
    /// Returns the number of the job, if there is one.
    fn job_text(&self) -> String {
        self.job.map_or_else(String::new, |job| job.to_string())
    }
}

/// Follows the events of all jobs, and sends notices, until the event log is closed. Events after `from`
/// are read.
pub(crate) async fn run(service: ApiState, settings: NoticeSettings, from: EventId) {
    // The settings are checked when they are read.
    let default_target = settings.default_target().unwrap_or_default();
    let (queue, queued) = mpsc::channel(sender::MAX_QUEUED);
    let sending = tokio::spawn(sender::send_all(settings, service.names.clone(), queued));
    let mut watcher = NoticeWatcher {
        service,
        default_target,
        queue,
        seen: from,
        sent_late: BTreeSet::new(),
        at_risk: BTreeMap::new(),
        looked_at: (0, 0),
        dropped: 0,
    };
    watcher.follow().await;
    drop(watcher);
    // Notices that are queued when the service stops are still sent.
    let _ = sending.await;
}

/// A job, and the place of a request among those of its user.
type RiskRequestKey = (u64, usize);

/// The position in the event log, and what is known of jobs.
struct NoticeWatcher {
    service: ApiState,
    default_target: String,
    queue: mpsc::Sender<JobNotice>,
    seen: EventId,
    /// The jobs whose users know that they are late.
    sent_late: BTreeSet<u64>,
    /// The unfinished jobs whose users want to know of a risk that they do not know of yet.
    /// By request, the chance below which to say so, and the target.
    at_risk: BTreeMap<RiskRequestKey, (Probability, String)>,
    /// The request that was looked at last.
    looked_at: RiskRequestKey,
    /// The number of notices for which the queue had no room.
    dropped: u64,
}

impl NoticeWatcher {
    async fn follow(&mut self) {
        let mut latest = self.service.log.watch();
        let mut risk = tokio::time::interval(RISK_INTERVAL);
        self.find_unfinished().await;
        loop {
            let closed = latest.borrow_and_update().closed;
            self.read_events().await;
            if closed {
                return;
            }
            tokio::select! {
                changed = latest.changed() => if changed.is_err() { return },
                _ = risk.tick() => self.look_at_risks().await,
            }
        }
    }

    /// Finds the jobs of an earlier service that may be at risk.
    async fn find_unfinished(&mut self) {
        let unfinished = JobFilter {
            unfinished: true,
            limit: MAX_JOBS,
            ..JobFilter::default()
        };
        let rows = query_store(&self.service, move |reader| reader.jobs(&unfinished)).await;
        for row in rows.unwrap_or_default() {
            self.note_risk(&row);
        }
    }

    async fn read_events(&mut self) {
        loop {
            let events = match self.service.log.events_after(self.seen, MAX_EVENTS) {
                Ok(events) => events,
                Err(gap) => {
                    tracing::warn!("more happened than could be followed: notices are missing");
                    self.seen = gap.from;
                    return;
                }
            };
            if events.is_empty() {
                return;
            }
            for event in events {
                self.seen = event.id;
                self.on_event(&event).await;
            }
        }
    }

    async fn on_event(&mut self, event: &EventEntry) {
        let (at, Some(event)) = (event.at, event.job_step()) else {
            return;
        };
        let is_admission = matches!(
            event.kind,
            JobEventKind::Accepted | JobEventKind::Queued | JobEventKind::Waitlisted
        );
        let is_final =
            event.is_last || event.kind == JobEventKind::Broken || event.kind == JobEventKind::Lost;
        if !(is_final || is_admission && event.tasks.is_none()) {
            return;
        }
        let Ok(Some(row)) = self.row(event.job).await else {
            return;
        };
        let requested = requested_notices(&row);
        if requested.is_empty() {
            return;
        }
        if is_admission {
            return self.note_risk(&row);
        }
        if event.kind == JobEventKind::Broken {
            self.forget_risk(row.id);
        }
        let is_late = event.kind == JobEventKind::Broken && row.due.is_some_and(|due| due < at);
        let is_late = is_late && self.sent_late.insert(row.id);
        let tasks = event.tasks.as_ref().map(|tasks| format!(" task {tasks}"));
        let tasks = tasks.unwrap_or_default();
        for NoticeRequest { kind, target } in &requested {
            let target = target.as_deref();
            match kind {
                NoticeKind::Late if is_late => {
                    let text = format!("{}{tasks} is late", title(&row));
                    self.send(target, "late", &row, at, text).await;
                }
                NoticeKind::Lost if event.kind == JobEventKind::Lost => {
                    let text = format!("{}{tasks} is lost", title(&row));
                    self.send(target, "lost", &row, at, text).await;
                }
                NoticeKind::End if event.is_last => {
                    self.send(target, "end", &row, at, ending(&row)).await;
                }
                NoticeKind::Late | NoticeKind::Lost | NoticeKind::End | NoticeKind::AtRisk(_) => {}
            }
        }
        if event.is_last {
            self.sent_late.remove(&row.id);
            self.forget_risk(row.id);
        }
    }

    fn note_risk(&mut self, row: &JobRow) {
        let requested = requested_notices(row).into_iter().enumerate();
        for (place, NoticeRequest { kind, target }) in requested.filter(|_| row.due.is_some()) {
            if let NoticeKind::AtRisk(below) = kind {
                let target = target.unwrap_or_else(|| self.default_target.clone());
                self.at_risk.insert((row.id, place), (below, target));
            }
        }
    }

    fn forget_risk(&mut self, job: u64) {
        self.at_risk.retain(|(watched, _), _| *watched != job);
    }

    /// Asks for the chances of a few of the watched promises, in turn: each answer plays futures.
    async fn look_at_risks(&mut self) {
        let after = (Bound::Excluded(self.looked_at), Bound::Unbounded);
        let in_turn = self
            .at_risk
            .range(after)
            .chain(self.at_risk.range(..=self.looked_at));
        let watched: Vec<(RiskRequestKey, Probability)> = in_turn
            .take(MAX_LOOKS)
            .map(|(&key, &(below, _))| (key, below))
            .collect();
        for (key, level) in watched {
            self.looked_at = key;
            let (job, _) = key;
            let (reply, answer) = tokio::sync::oneshot::channel();
            let question = ControllerRequest::PromiseRisk { job, level, reply };
            self.service.controller_handle.send(question);
            let Ok(Ok(Some((risk, now)))) = answer.await else {
                continue;
            };
            let Some((_, target)) = self.at_risk.remove(&key) else {
                continue;
            };
            if let Ok(Some(row)) = self.row(job).await {
                let PromiseAtRisk { probability, cause } = risk;
                let title = title(&row);
                let text =
                    format!("{title} meets its deadline with probability {probability}: {cause}");
                self.send(Some(&target), "at-risk", &row, now, text).await;
            }
        }
    }

    async fn row(&self, job: u64) -> Result<Option<JobRow>, ApiError> {
        query_store(&self.service, move |reader| reader.job(job)).await
    }

    /// Queues a notice to the user of a job. Without a `target`, the default one sends it.
    async fn send(
        &mut self,
        target: Option<&str>,
        notice: &'static str,
        row: &JobRow,
        at: Instant,
        text: String,
    ) {
        let user_id = row.user;
        let names = self.service.names.clone();
        // The system's name service may take its time.
        let user = tokio::task::spawn_blocking(move || names.name(user_id));
        let notice = JobNotice {
            target: target.unwrap_or(&self.default_target).to_owned(),
            notice,
            job: Some(row.id),
            user_id,
            user: user.await.unwrap_or_else(|_| user_id.to_string()),
            name: row.name.clone(),
            at: format_iso(at),
            text,
            left_out: 0,
        };
        if self.queue.try_send(notice).is_err() {
            self.dropped += 1;
            let dropped = self.dropped;
            tracing::warn!(dropped, "notices are sent too slowly: one is dropped");
        }
    }
}

fn requested_notices(row: &JobRow) -> Vec<NoticeRequest> {
    let words = row.program.iter().flat_map(|program| &program.notify);
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Returns how a job has ended, and what became of its promise.
fn ending(row: &JobRow) -> String {
    let status = row.status.as_ref().map(|status| format!(": {status}"));
    let promise = row.entry.and_then(promise_words);
    let ends = [status.as_deref(), promise].map(Option::unwrap_or_default);
    format!("{} {}{}", title(row), end_words(&row.state), ends.concat())
}

/// Returns what became of the promise of a deadline, to follow the status of a job.
const fn promise_words(entry: BookEntry) -> Option<&'static str> {
    match entry {
        BookEntry::Kept => Some(", promise kept"),
        BookEntry::Broken(_) => Some(", promise broken"),
        BookEntry::Void => Some(", promise void"),
        BookEntry::UnpromisedInTime => Some(", in time without a promise"),
        BookEntry::UnpromisedLate => Some(", late, without a promise"),
        BookEntry::UnpromisedDropped => Some(", dropped as late"),
        BookEntry::UnpromisedVoid
        | BookEntry::NoDeadline
        | BookEntry::Rejected
        | BookEntry::NoDeadlineRejected => None,
    }
}

/// Returns how a job ended, from the key of its state.
fn end_words(state: &str) -> String {
    match JobState::from_key(state).and_then(JobState::exceeded) {
        Some(ExceededLimit::Time) => "has reached its time limit".to_owned(),
        Some(ExceededLimit::Memory) => "has run out of memory".to_owned(),
        Some(ExceededLimit::Output) => "has reached its output limit".to_owned(),
        None => format!("is {state}"),
    }
}

fn title(row: &JobRow) -> String {
    match row.name.as_str() {
        "" => format!("job {}", row.id),
        name => format!("job {} ({name})", row.id),
    }
}
