//! The loop around state, view, terminal and service.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossterm::event::{Event, read};
use jiff::tz::TimeZone;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, sleep_until};
use tollgate_client::ServiceForwarder;
use tollgate_overview::output::OutputReader;

use crate::feed::{ServiceFeed, ShownParts};
use crate::keys::{TerminalKey, meaning};
use crate::painter::ScreenPainter;
use crate::screen::TerminalScreen;
use crate::state::{ServiceLink, TopKey, TopNews, TopRequest, TopState};
use crate::view::{ScreenColours, frame};

/// The least time between two refreshes, however many events come.
const PAUSE: Duration = Duration::from_millis(260);
/// The time after which the service is asked without an event, also while an output is shown, and while it does not
/// answer.
const REFRESH: Duration = Duration::from_secs(5);
const OUTPUT_REFRESH: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_secs(1);

/// The parts of an overview.
pub struct TopSettings {
    /// The service.
    pub service: ServiceForwarder,
    /// The files of this host.
    pub reader: Arc<dyn OutputReader>,
    /// The zone of the times.
    pub zone: TimeZone,
    /// The user whose jobs are listed first; None for those of all.
    pub user: Option<String>,
    /// Whether text is coloured.
    pub colours: ScreenColours,
}

/// An error of the overview.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(io::Error),
    /// The program cannot wait for events.
    #[error("the overview cannot be shown: {0}")]
    Runtime(io::Error),
}

/// Something that happened.
enum OverviewEvent {
    Key(TerminalKey),
    Resized,
    /// The answers to a refresh.
    Refreshed(Vec<TopNews>),
    News(TopNews),
    /// The terminal can no longer be read.
    TerminalGone,
}

/// Shows the overview until the user or a signal ends it. The terminal is restored then, also after a panic.
///
/// # Errors
/// If the terminal cannot be used.
pub fn run(settings: TopSettings) -> Result<(), TopError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(TopError::Runtime)?;
    let shown = runtime.block_on(show(settings));
    // The thread that reads keys ends with the process.
    runtime.shutdown_background();
    shown
}

async fn show(settings: TopSettings) -> Result<(), TopError> {
    let listen = |kind| signal(kind).map_err(TopError::Runtime);
    let mut ends = [
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
        listen(SignalKind::hangup())?,
    ];
    let screen = TerminalScreen::enter().map_err(TopError::Terminal)?;
    let (sender, events) = mpsc::channel(64);
    let keys = sender.clone();
    thread::spawn(move || read_keys(&keys));
    let feed = ServiceFeed {
        service: Arc::new(settings.service),
        reader: settings.reader,
    };
    let (changed, changes) = mpsc::channel(1);
    let follower = feed.clone();
    tokio::spawn(async move { follower.follow(changed).await });
    let overview = RunningOverview {
        state: TopState::new(settings.zone, settings.user),
        colours: settings.colours,
        painter: ScreenPainter::new(0, 0),
        screen,
        feed,
        sender,
        next_refresh: Instant::now(),
        last_refresh: None,
        is_refreshing: false,
    };
    overview.run(events, changes, &mut ends).await
}

/// Reads keys and changes of the size, until the receiver is gone.
fn read_keys(sender: &Sender<OverviewEvent>) {
    loop {
        let event = match read() {
            Ok(Event::Key(key)) => meaning(key).map(OverviewEvent::Key),
            Ok(Event::Resize(..)) => Some(OverviewEvent::Resized),
            Ok(_) => None,
            Err(_) => Some(OverviewEvent::TerminalGone),
        };
        let is_gone = matches!(event, Some(OverviewEvent::TerminalGone));
        let sent = event.map_or(Ok(()), |event| sender.blocking_send(event));
        if is_gone || sent.is_err() {
            return;
        }
    }
}

/// Waits for any of the signals.
async fn any_of(signals: &mut [Signal; 3]) {
    let [one, two, three] = signals;
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
        _ = three.recv() => {}
    }
}

/// Whether the overview goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OverviewStep {
    GoesOn,
    Ends,
}

/// The overview while it is shown.
struct RunningOverview {
    state: TopState,
    colours: ScreenColours,
    painter: ScreenPainter,
    screen: TerminalScreen,
    feed: ServiceFeed,
    sender: Sender<OverviewEvent>,
    next_refresh: Instant,
    last_refresh: Option<Instant>,
    is_refreshing: bool,
}

impl RunningOverview {
    async fn run(
        mut self,
        mut events: Receiver<OverviewEvent>,
        mut changes: Receiver<()>,
        ends: &mut [Signal; 3],
    ) -> Result<(), TopError> {
        loop {
            self.draw().map_err(TopError::Terminal)?;
            let refresh_at = self.next_refresh;
            tokio::select! {
                () = any_of(ends) => return Ok(()),
                Some(first) = events.recv() => {
                    let mut next = Some(first);
                    // One frame shows all that has happened until now.
                    while let Some(event) = next {
                        let step = self.on_event(event).map_err(TopError::Terminal)?;
                        if step == OverviewStep::Ends {
                            return Ok(());
                        }
                        next = events.try_recv().ok();
                    }
                }
                Some(()) = changes.recv() => self.refresh_soon(),
                () = sleep_until(refresh_at), if !self.is_refreshing => self.refresh(),
            }
        }
    }

    fn on_event(&mut self, event: OverviewEvent) -> io::Result<OverviewStep> {
        match event {
            OverviewEvent::Key(TerminalKey::Overview(key)) => return Ok(self.on_key(key)),
            OverviewEvent::Key(TerminalKey::Redraw) | OverviewEvent::Resized => {
                self.painter.forget()
            }
            OverviewEvent::Key(TerminalKey::Suspend) => self.screen.suspend(&mut self.painter)?,
            OverviewEvent::News(news) => {
                self.state.on_news(news);
                self.refresh_soon();
            }
            OverviewEvent::Refreshed(all) => {
                self.is_refreshing = false;
                for news in all {
                    self.state.on_news(news);
                }
                if matches!(self.state.link, ServiceLink::Away(_)) {
                    self.next_refresh = Instant::now() + RETRY;
                }
            }
            OverviewEvent::TerminalGone => return Ok(OverviewStep::Ends),
        }
        Ok(OverviewStep::GoesOn)
    }

    fn on_key(&mut self, key: TopKey) -> OverviewStep {
        match self.state.on_key(key) {
            None => {}
            Some(TopRequest::Quit) => return OverviewStep::Ends,
            Some(TopRequest::Refresh) => self.next_refresh = Instant::now(),
            Some(TopRequest::Change { id, change }) => {
                let (feed, sender) = (self.feed.clone(), self.sender.clone());
                tokio::spawn(async move {
                    let news = feed.change(&id, change).await;
                    let _ = sender.send(OverviewEvent::News(news)).await;
                });
            }
        }
        OverviewStep::GoesOn
    }

    /// Refreshes soon, but not right after another refresh.
    fn refresh_soon(&mut self) {
        let now = Instant::now();
        let soon = self.last_refresh.map_or(now, |last| now.max(last + PAUSE));
        self.next_refresh = self.next_refresh.min(soon);
    }

    fn refresh(&mut self) {
        self.is_refreshing = true;
        self.last_refresh = Some(Instant::now());
        let pause = match self.state.output_job() {
            Some(_) => OUTPUT_REFRESH,
            None => REFRESH,
        };
        self.next_refresh = Instant::now() + pause;
        let parts = ShownParts {
            user: self.state.user().map(str::to_owned),
            explained: self.state.explained_job().map(str::to_owned),
            output: self.state.output_job().map(str::to_owned),
        };
        let (feed, sender) = (self.feed.clone(), self.sender.clone());
        tokio::spawn(async move {
            let news = feed.fetch(parts).await;
            let _ = sender.send(OverviewEvent::Refreshed(news)).await;
        });
    }

    fn draw(&mut self) -> io::Result<()> {
        let frame = frame(&self.state, self.colours, self.screen.size()?);
        self.state.measured(frame.page, frame.pane_lines);
        let changed = self.painter.paint(frame.cells);
        match changed.is_empty() {
            true => Ok(()),
            false => self.screen.write(&changed),
        }
    }
}
