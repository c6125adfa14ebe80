//! Events as they happen (server-sent events). Nothing is kept for a reader: it has a place in the
//! log, and if it falls so far behind that the log has forgotten what comes next, it is told so.

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

use super::convert;
use super::error::ApiError;
use super::handlers::{ApiState, own_job, query_store, visible_user};
use super::job_selector::JobSelector;
use super::timestamp::format_iso;
use super::types::JobEvent;
use crate::access::{AuthMethod, Peer};
use crate::events::{EventEntry, EventGap, EventId, LogPosition};
use crate::permits::KeyedPermit;

/// The most events that are looked at at once.
const MAX_EVENTS_AT_ONCE: usize = 256;
/// The most jobs of which a stream remembers whose they are.
const MAX_CACHED_OWNERS: usize = 4_096;
/// How often something is said although nothing happens, so that each end knows of the other.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// All that happens to one's own jobs; for operators, to all.
pub(super) async fn all_events(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = last_event_id(&headers)?;
    let watch = service.log.watch();
    let from = asked.unwrap_or(watch.borrow().id);
    let stream = EventStream::new(service, peer, None, watch, from);
    stream.open(Vec::new())
}

/// All that happens to a job, until it is over. It begins with how it stands.
pub(super) async fn job_events(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = last_event_id(&headers)?;
    let JobSelector { job, .. } = JobSelector::parse(&id)?;
    let whole = JobSelector { job, tasks: None };
    let watch = service.log.watch();
    // What happens after this and before the job is read is told twice, and nothing is missed.
    let latest = watch.borrow().id;
    let row = own_job(&service, &peer, &whole).await?;
    let over = row.finish.is_some();
    let missed = asked.map(|from| service.log.events_after(from, MAX_EVENTS_AT_ONCE));
    let (from, begin) = match (asked, missed) {
        (Some(_), Some(Ok(events))) if over && !events.iter().any(|event| event.job == job) => {
            // A browser that is answered this does not come again.
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        (Some(from), Some(Ok(_))) => (from, Vec::new()),
        (_, missed) => {
            let gap = missed.and_then(Result::err);
            let mut begin: Vec<Bytes> = gap.into_iter().map(|_| gap_frame(latest)).collect();
            begin.push(frame(latest, "job", &convert::job_details(row)));
            (latest, begin)
        }
    };
    let mut stream = EventStream::new(service, peer, Some(job), watch, from);
    stream.is_over = over && !begin.is_empty();
    stream.open(begin)
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

/// Somebody who is told.
struct EventStream {
    service: ApiState,
    peer: Peer,
    /// Only of this job.
    job: Option<u64>,
    latest: watch::Receiver<LogPosition>,
    /// What was told, or passed over, last.
    seen: EventId,
    /// Whose jobs are, as far as it had to be looked up.
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
        let seat = self
            .service
            .stream_permits
            .try_acquire(self.peer.user)
            .ok_or_else(|| {
                let most = self.service.access.limits.streams;
                let error = format!("expected at most {most} streams of events of one user");
                ApiError::new(StatusCode::TOO_MANY_REQUESTS, error)
            })?;
        // One frame waits, and one is being made: whoever reads slowly keeps no more than these.
        let (frames, told) = mpsc::channel(1);
        tokio::spawn(async move {
            // Ends as soon as nobody is there to be told.
            let _ = self.run(begin, &frames).await;
        });
        let body = Body::new(EventBody {
            events: told,
            _permit: seat,
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

    /// After a gap in what happened to a job: how it stands now.
    async fn catch_up(&mut self, to: &mpsc::Sender<Bytes>) -> Result<(), StreamClosed> {
        let Some(job) = self.job else {
            return Ok(());
        };
        let whole = JobSelector { job, tasks: None };
        let row = own_job(&self.service, &self.peer, &whole).await;
        let row = row.map_err(|_| StreamClosed)?;
        self.is_over = row.finish.is_some();
        to.send(frame(self.seen, "job", &convert::job_details(row)))
            .await?;
        Ok(())
    }

    /// Until something happens. Says meanwhile that it is still there, as long as its reader may be.
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

    /// A key that was taken back, or has expired, opens no stream any more, nor keeps one open.
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
            if self.is_over || self.job.is_some_and(|job| job != event.job) {
                continue;
            }
            if !self.may_see(event.job).await? {
                continue;
            }
            self.is_over = self.job.is_some() && event.is_last;
            let words = JobEvent {
                job: event.job,
                tasks: event.tasks.as_ref().map(ToString::to_string),
                event: event.kind.to_owned(),
                at: format_iso(event.at),
            };
            frames.push(frame(event.id, event.kind, &words));
        }
        Ok(frames)
    }

    async fn may_see(&mut self, job: u64) -> Result<bool, StreamClosed> {
        // Whose the one job of a stream is was checked as it began.
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

/// Nobody is there to be told any more, or nobody may be.
struct StreamClosed;

impl<T> From<mpsc::error::SendError<T>> for StreamClosed {
    fn from(_: mpsc::error::SendError<T>) -> Self {
        Self
    }
}

/// An event as it is sent.
fn frame(id: EventId, kind: &str, words: &impl serde::Serialize) -> Bytes {
    // What is sent here has only keys that are strings, and JSON without line breaks.
    let data = serde_json::to_string(words).unwrap_or_default();
    format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into()
}

/// Some events before this one are not known any more: whoever wants to know how things stand has
/// to ask.
fn gap_frame(from: EventId) -> Bytes {
    format!("id: {from}\nevent: gap\ndata: {{}}\n\n").into()
}

/// What is told, as the body of an answer.
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
        let told = self.events.poll_recv(cx);
        told.map(|frame| frame.map(|bytes| Ok(Frame::data(bytes))))
    }
}
