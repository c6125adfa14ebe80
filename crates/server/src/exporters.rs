//! Node exporters: services on other hosts that say how much load slows these. They measure where no runner does, as on nodes
//! of a batch system.
//!
//! | module | contents |
//! |---|---|
//! | `figures` | the figures of an answer |
//! | `fetch` | the request for one |

mod fetch;
mod figures;

use std::time::Duration;

use hyper::Uri;
use tokio::time::{MissedTickBehavior, timeout};
use tollgate_workers::SlowdownMeter;

use self::fetch::{ExporterError, fetch};
pub(crate) use self::figures::WaitFigures;
use crate::controller::{ControllerHandle, ControllerRequest};

/// Maximum time for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Number of looks in a row without figures after which nothing is known of the host any more.
const MOST_FAILURES: u32 = 10;

/// The exporter of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostExporter {
    /// Name of the host, as the service knows it.
    pub host: String,
    /// The address of its metrics, by `http`.
    pub url: Uri,
}

/// Watches hosts from now on, each with a look in each interval. Must be called in a runtime.
pub(crate) fn watch_all(
    controller: &ControllerHandle,
    exporters: Vec<HostExporter>,
    interval: Duration,
) {
    for exporter in exporters {
        tokio::spawn(watch(controller.clone(), exporter, interval));
    }
}

/// Reports the slowdown of a host to the controller whenever it changes. An exporter without usable figures changes nothing
/// at first, and is logged once. Never returns.
async fn watch(controller: ControllerHandle, exporter: HostExporter, interval: Duration) {
    let HostExporter { host, url } = exporter;
    let mut meter = SlowdownMeter::new(interval);
    let mut last: Option<(Duration, WaitFigures)> = None;
    let mut failures = 0;
    let began = tokio::time::Instant::now();
    let mut looks = tokio::time::interval(interval);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let answer = timeout(TIMEOUT, fetch(&url)).await;
        let now = began.elapsed();
        match answer.unwrap_or(Err(ExporterError::TimedOut)) {
            Ok(figures) => {
                failures = 0;
                let before = last.replace((now, figures));
                let seen = before.and_then(|(at, before)| {
                    figures.slowdown_since(before, now.saturating_sub(at))
                });
                if let Some(slowdown) = meter.note(now, seen) {
                    let (host, slowdown) = (host.clone(), Some(slowdown));
                    controller.send(ControllerRequest::HostSlowed { host, slowdown });
                }
            }
            Err(error) => {
                last = None;
                failures += 1;
                if failures == 1 {
                    tracing::warn!(host, %url, %error, "the exporter of a host cannot be read");
                }
                if failures == MOST_FAILURES {
                    meter = SlowdownMeter::new(interval);
                    let (host, slowdown) = (host.clone(), None);
                    controller.send(ControllerRequest::HostSlowed { host, slowdown });
                }
            }
        }
    }
}
