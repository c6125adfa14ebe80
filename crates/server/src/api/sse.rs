//! Live events (server-sent events). Nothing is buffered for a reader: a reader has a position in
//! the event log, and gets a gap event if the log has dropped the next event.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::{mpsc, watch};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    ClassCourseEvent, JobEvent, NodeEvent, NodeEventState, WireVocabulary, WorkerEvent,
    WorkerLinkState,
};
use tollgate_model::Instant;
use tollgate_workers::WorkerState;

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::{own_job, with_name};
use super::state::{ApiState, query_store, visible_user};
use crate::access::{AuthMethod, Peer};
use crate::events::{
    ClassStep, EventEntry, EventGap, EventId, EventSubject, LogPosition, NodeStep, WorkerStep,
};
use crate::permits::KeyedPermit;

/// An event of a stream that is about no step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// The name in the line `event:`.
    pub name: &'static str,
    /// When it is sent, and what its data is.
    pub meaning: &'static str,
}

/// The event with the whole state of a job.
const STATE: StreamEvent = StreamEvent {
    name: "job",
    meaning: "The current state of the job, as at `/v1/jobs/ID`. It begins the stream of a job, and follows a gap in it.",
};
/// The event in place of those that are lost.
const GAP: StreamEvent = StreamEvent {
    name: "gap",
    meaning: "Events before this one are no longer known. Its data is empty. A client asks for the current state.",
};

/// The event of a class of jobs.
const CLASS: StreamEvent = StreamEvent {
    name: "class",
    meaning: "Jobs like this one do not run as expected any more, or do again. Only in `/v1/events`, for the user of the job and operators.",
};
/// The event of a worker.
const WORKER: StreamEvent = StreamEvent {
    name: "worker",
    meaning: "A worker has connected, is about to leave, is disconnected or lost. Only in `/v1/events`, for every user.",
};
/// The event of nodes.
const NODES: StreamEvent = StreamEvent {
    name: "node",
    meaning: "Nodes are up, were drained, or are down. Only in `/v1/events`, for every user.",
};

/// The events of streams that are about no step of a job.
pub const STREAM_EVENTS: [StreamEvent; 5] = [STATE, GAP, CLASS, WORKER, NODES];

/// Maximum number of events read at a time.
const MAX_EVENTS_AT_ONCE: usize = 256;
/// Maximum number of jobs whose ownership a stream caches.
const MAX_CACHED_OWNERS: usize = 4_096;
/// Interval of the heartbeat on an idle stream, by which each end detects that the other is gone.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Streams the events of the user's own jobs; for operators, the events of all jobs.
pub(super) async fn all_events(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last_id = last_event_id(&headers)?;
    let watch = service.log.watch();
    let from = last_id.unwrap_or(watch.borrow().id);
    let stream = EventStream::new(service, peer, None, watch, from);
    stream.open(Vec::new())
}

/// Streams the events of a job until it is finished, starting with the job's current state.
pub(super) async fn job_events(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last_id = last_event_id(&headers)?;
    let JobSelector { job, .. } = JobSelector::find(&service, &id).await?;
    let whole = JobSelector { job, tasks: None };
    let watch = service.log.watch();
    // An event between this line and the reading of the job is sent twice, but none is missed.
    let latest = watch.borrow().id;
    let row = own_job(&service, &peer, &whole).await?;
    let over = row.finish.is_some();
    let missed = last_id.map(|from| service.log.events_after(from, MAX_EVENTS_AT_ONCE));
    let (from, begin) = match (last_id, missed) {
        (Some(_), Some(Ok(events))) if over && !is_any_of(&events, job) => {
            // A browser does not reconnect after this status.
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        (Some(from), Some(Ok(_))) => (from, Vec::new()),
        (_, missed) => {
            let gap = missed.and_then(Result::err);
            let mut begin: Vec<Bytes> = gap.into_iter().map(|_| gap_frame(latest)).collect();
            begin.push(frame(latest, STATE.name, &with_name(&service, row).await?));
            (latest, begin)
        }
    };
    let mut stream = EventStream::new(service, peer, Some(job), watch, from);
    stream.is_over = over && !begin.is_empty();
    stream.open(begin)
}

/// Returns whether an event is a step of a job.
fn is_any_of(events: &[EventEntry], job: u64) -> bool {
    let mut steps = events.iter().filter_map(EventEntry::job_step);
    steps.any(|step| step.job == job)
}

fn class_event(at: Instant, step: &ClassStep) -> ClassCourseEvent {
    let [from, to] = step.expected;
    ClassCourseEvent {
        job: step.job,
        runs: step.runs.into(),
        run_time_s: step.run_time.as_secs_f64(),
        expected_from_s: from.as_secs_f64(),
        expected_to_s: to.as_secs_f64(),
        at: format_iso(at),
    }
}

fn worker_event(at: Instant, step: &WorkerStep) -> WorkerEvent {
    let state = match step.state {
        WorkerState::Connected if step.is_leaving => WorkerLinkState::Leaving,
        WorkerState::Connected => WorkerLinkState::Connected,
        WorkerState::Disconnected => WorkerLinkState::Disconnected,
        WorkerState::Lost => WorkerLinkState::Lost,
    };
    WorkerEvent {
        worker: step.name.clone(),
        state: state.into(),
        incarnation: step.incarnation,
        first_node: step.nodes.first,
        nodes: step.nodes.len,
        at: format_iso(at),
    }
}

fn node_event(at: Instant, step: &NodeStep) -> NodeEvent {
    let state = match (step.is_up, step.is_drained) {
        (true, false) if step.is_in_use => NodeEventState::InUse,
        (true, false) => NodeEventState::Up,
        (true, true) => NodeEventState::Drained,
        (false, _) => NodeEventState::Down,
    };
    NodeEvent {
        worker: step.worker.clone(),
        state: state.into(),
        first_node: step.nodes.first,
        nodes: step.nodes.len,
        slowdown: Some(step.slowdown.as_f64()).filter(|_| step.slowdown.is_slower()),
        at: format_iso(at),
    }
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<EventId>, ApiError> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let id = value.to_str().ok().and_then(|words| words.parse().ok());
    id.map(Some).ok_or_else(|| {
        ApiError::new(
            StatusCode::BAD_REQUEST,
            "last-event-id: expected the id of an event",
        )
    })
}

/// An open event stream.
struct EventStream {
    service: ApiState,
    peer: Peer,
    /// The only job to report; None for all jobs that the peer may see.
    job: Option<u64>,
    latest: watch::Receiver<LogPosition>,
    /// The last event that was sent or skipped.
    seen: EventId,
    /// Cached ownership: whether a job belongs to the peer's user.
    owners: BTreeMap<u64, bool>,
    is_over: bool,
}

impl EventStream {
    fn new(
        service: ApiState,
        peer: Peer,
        job: Option<u64>,
        latest: watch::Receiver<LogPosition>,
        seen: EventId,
    ) -> Self {
        Self {
            service,
            peer,
            job,
            latest,
            seen,
            owners: BTreeMap::new(),
            is_over: false,
        }
    }

    fn open(self, begin: Vec<Bytes>) -> Result<Response, ApiError> {
        let permit = self
            .service
            .stream_permits
            .try_acquire(self.peer.user)
            .ok_or_else(|| {
                let max = self.service.access.limits.streams;
                let error = format!("expected at most {max} streams of events of one user");
                let hint = "the setting `limits.streams` allows more";
                ApiError::new(StatusCode::TOO_MANY_REQUESTS, error).hint(hint)
            })?;
        // At most one frame is queued and one is being built, so a slow reader uses no more memory.
        let (frames, reported) = mpsc::channel(1);
        tokio::spawn(async move {
            // Ends as soon as the reader is gone.
            let _ = self.run(begin, &frames).await;
        });
        let body = Body::new(EventBody {
            events: reported,
            _permit: permit,
        });
        let head = [
            (CONTENT_TYPE, "text/event-stream"),
            (CACHE_CONTROL, "no-store"),
        ];
        Ok((head, body).into_response())
    }

    async fn run(
        mut self,
        begin: Vec<Bytes>,
        to: &mpsc::Sender<Bytes>,
    ) -> Result<(), StreamClosed> {
        for frame in begin {
            to.send(frame).await?;
        }
        while !self.is_over {
            self.check_credential()?;
            match self.service.log.events_after(self.seen, MAX_EVENTS_AT_ONCE) {
                Ok(events) if events.is_empty() => self.wait(to).await?,
                Ok(events) => {
                    let frames = self.frames(events).await?;
                    if !frames.is_empty() {
                        to.send(frames.concat().into()).await?;
                    }
                }
                Err(EventGap { from }) => {
                    self.seen = from;
                    to.send(gap_frame(from)).await?;
                    self.catch_up(to).await?;
                }
            }
        }
        Ok(())
    }

    /// Sends the current state of the job after a gap in its events.
    async fn catch_up(&mut self, to: &mpsc::Sender<Bytes>) -> Result<(), StreamClosed> {
        let Some(job) = self.job else {
            return Ok(());
        };
        let whole = JobSelector { job, tasks: None };
        let row = own_job(&self.service, &self.peer, &whole).await;
        let row = row.map_err(|_| StreamClosed)?;
        self.is_over = row.finish.is_some();
        let job = with_name(&self.service, row).await;
        let job = job.map_err(|_| StreamClosed)?;
        to.send(frame(self.seen, STATE.name, &job)).await?;
        Ok(())
    }

    /// Waits for the next event. Sends heartbeats meanwhile, as long as the reader is connected.
    async fn wait(&mut self, to: &mpsc::Sender<Bytes>) -> Result<(), StreamClosed> {
        let seen = self.seen;
        let more = async {
            let latest = self
                .latest
                .wait_for(|latest| latest.closed || latest.id > seen);
            latest.await.is_ok_and(|latest| !latest.closed)
        };
        let goes_on = tokio::select! {
            more = more => more,
            () = to.closed() => false,
            () = tokio::time::sleep(HEARTBEAT) => {
                to.send(Bytes::from_static(b":\n\n")).await?;
                true
            }
        };
        goes_on.then_some(()).ok_or(StreamClosed)
    }

    /// Closes the stream once its key was revoked or has expired.
    fn check_credential(&self) -> Result<(), StreamClosed> {
        let AuthMethod::Network(print) = &self.peer.auth_method else {
            return Ok(());
        };
        let stands = self
            .service
            .credentials
            .is_valid(print, (self.service.clock)());
        stands.then_some(()).ok_or(StreamClosed)
    }

    async fn frames(&mut self, events: Vec<EventEntry>) -> Result<Vec<Bytes>, StreamClosed> {
        let mut frames = Vec::new();
        for event in events {
            self.seen = event.id;
            let step = match &event.subject {
                EventSubject::Job(step) => step,
                // The stream of a job is about the job alone.
                _ if self.job.is_some() => continue,
                EventSubject::Class(step) => {
                    if self.may_see(step.job).await? {
                        let words = class_event(event.at, step);
                        frames.push(frame(event.id, CLASS.name, &words));
                    }
                    continue;
                }
                EventSubject::Worker(step) => {
                    let words = worker_event(event.at, step);
                    frames.push(frame(event.id, WORKER.name, &words));
                    continue;
                }
                EventSubject::Nodes(step) => {
                    let words = node_event(event.at, step);
                    frames.push(frame(event.id, NODES.name, &words));
                    continue;
                }
            };
            if self.is_over || self.job.is_some_and(|job| job != step.job) {
                continue;
            }
            if !self.may_see(step.job).await? {
                continue;
            }
            self.is_over = self.job.is_some() && step.is_last;
            let words = JobEvent {
                job: step.job,
                tasks: step.tasks.as_ref().map(ToString::to_string),
                event: step.kind.into(),
                at: format_iso(event.at),
            };
            frames.push(frame(event.id, step.kind.key(), &words));
        }
        Ok(frames)
    }

    async fn may_see(&mut self, job: u64) -> Result<bool, StreamClosed> {
        // The ownership of a single job was checked when the stream was opened.
        let Some(user) = visible_user(&self.peer).filter(|_| self.job.is_none()) else {
            return Ok(true);
        };
        if let Some(&ours) = self.owners.get(&job) {
            return Ok(ours);
        }
        let owner = query_store(&self.service, move |reader| reader.owner(job)).await;
        let ours = owner.map_err(|_| StreamClosed)? == Some(user);
        if self.owners.len() >= MAX_CACHED_OWNERS {
            self.owners.clear();
        }
        self.owners.insert(job, ours);
        Ok(ours)
    }
}

/// The reader of a stream is gone, or its access has ended.
struct StreamClosed;

impl<T> From<mpsc::error::SendError<T>> for StreamClosed {
    fn from(_: mpsc::error::SendError<T>) -> Self {
        Self
    }
}

/// Returns an event as a frame.
fn frame(id: EventId, kind: &str, words: &impl serde::Serialize) -> Bytes {
    // Serialisation cannot fail: all keys here are strings. Its JSON has no line breaks.
    let data = serde_json::to_string(words).unwrap_or_default();
    format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into()
}

/// Returns the frame for a gap: events before `from` are lost, and a client that needs the current
/// state has to query it.
fn gap_frame(from: EventId) -> Bytes {
    frame(from, GAP.name, &serde_json::Map::new())
}

/// The body of a stream response.
struct EventBody {
    events: mpsc::Receiver<Bytes>,
    _permit: KeyedPermit<u32>,
}

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let reported = self.events.poll_recv(cx);
        reported.map(|frame| frame.map(|bytes| Ok(Frame::data(bytes))))
    }
}
