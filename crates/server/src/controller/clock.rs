//! The controller's clock: reads the host's clocks, and logs how far they differ from the service's.

use tollgate_model::{AttemptEvent, AttemptReport, Instant, MaintenanceCalendar, Span};
use tollgate_service::{ClockReading, ServiceClock};

/// Returns what the host's clocks show.
pub type HostClock = Box<dyn FnMut() -> ClockReading + Send>;

/// Growth of a difference after which the log names it again.
const LOGGED_GROWTH: Span = Span::from_secs(60);

/// The clock of the service, with the host's clocks that it is read from.
pub(super) struct ControllerClock {
    host: HostClock,
    service: ServiceClock,
    /// The difference as the log last named it.
    logged: Option<Span>,
}

impl ControllerClock {
    /// Creates a clock that never shows an instant before `last`.
    pub(super) fn after(last: Instant, host: HostClock) -> Self {
        Self {
            host,
            service: ServiceClock::after(last),
            logged: None,
        }
    }

    /// Returns the current instant, which is never before an earlier one.
    pub(super) fn now(&mut self) -> Instant {
        self.service.read((self.host)())
    }

    /// Returns what the host's clock shows, if the service's is ahead of it by a difference that users and
    /// operators are to know.
    pub(super) fn host_if_behind(&mut self) -> Option<Instant> {
        let now = self.now();
        self.notable_difference().map(|ahead| now - ahead)
    }

    /// Begins anew: from now on the clock never shows an instant before `last`.
    pub(super) fn restart_after(&mut self, last: Instant) {
        self.service = ServiceClock::after(last);
    }

    /// Returns how far the clock was ahead of the host's at the last reading, if users and operators are to
    /// know.
    pub(super) fn notable_difference(&self) -> Option<Span> {
        ServiceClock::notable(self.service.ahead())
    }

    /// Dates a report of an engine, which has only the host's clock, by the service's clock.
    pub(super) fn date(&self, mut report: AttemptReport) -> AttemptReport {
        let at = match &mut report.event {
            AttemptEvent::Started(start) => &mut start.at,
            AttemptEvent::Ended(ended) => &mut ended.at,
            AttemptEvent::Lost { at } => at,
        };
        *at += self.service.ahead();
        report
    }

    /// Returns how far the service's clock is ahead of the host's. Not negative.
    pub(super) fn ahead(&self) -> Span {
        self.service.ahead()
    }

    /// Dates windows by the host's clock by the service's clock. Silent differences are left out, so that windows
    /// do not change with them.
    pub(super) fn date_windows(&self, calendar: &MaintenanceCalendar) -> MaintenanceCalendar {
        let ahead = self.notable_difference().unwrap_or(Span::ZERO);
        calendar.later_by(ahead)
    }

    /// Logs that the host's clock was set back, and later that the clocks agree again.
    pub(super) fn log_difference(&mut self) {
        match (self.logged, self.notable_difference()) {
            (Some(logged), Some(ahead)) if ahead <= logged + LOGGED_GROWTH => {}
            (_, Some(ahead)) => {
                self.logged = Some(ahead);
                tracing::warn!(
                    ahead_s = ahead.as_secs_f64(),
                    "the host's clock is behind the service's, which runs on: was it set back? \
                     `tollgate serve --accept-clock` takes the host's"
                );
            }
            (Some(_), None) => {
                self.logged = None;
                tracing::info!("the host's clock and the service's agree again");
            }
            (None, None) => {}
        }
    }
}
