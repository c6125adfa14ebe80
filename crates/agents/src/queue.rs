//! The pilots of a site, as its agent sees them.

use tollgate_model::Instant;
use tollgate_sites::{CoreSpeed, PilotRecord, SiteControl};

/// A site's queue: its pilots are counted, submitted and cancelled.
pub trait PilotQueue: Send {
    /// Makes the number of pilots that wait or run `target`, without ending any that runs, and returns
    /// the pilots after that.
    ///
    /// # Errors
    /// Why the engine cannot be asked, in a user's words.
    fn hold(&mut self, target: u32) -> Result<QueueView, String>;

    /// Cancels all pilots, those that run included, and waits until the engine has none.
    ///
    /// # Errors
    /// Why some may be left, in a user's words.
    fn end(&mut self) -> Result<(), String>;
}

/// The pilots of a site at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueView {
    /// The number of pilots that run.
    pub running: u32,
    /// The seconds for which each pending pilot has waited.
    pub pending: Vec<u32>,
    /// The pilots that started, those that ended lately included, in the order of their starts.
    pub started: Vec<StartedPilot>,
    /// The speed of a core, as the last probe measured it.
    pub speed: CoreSpeed,
    /// Why the site takes no pilots for now. None if it does.
    pub closed: Option<String>,
}

/// A pilot that started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedPilot {
    /// The number of the pilot at its site.
    pub number: u32,
    /// The seconds that it waited.
    pub waited_s: u32,
}

impl QueueView {
    /// Returns the pilots of a site as they were last seen. `stopped` says why the last submission or
    /// cancellation failed, if it did.
    pub fn new(site: &SiteControl, stopped: Option<String>, now: Instant) -> Self {
        let state = site.state();
        let waited = |pilot: &PilotRecord| pilot.waited(now).map(|span| span.as_secs_f64() as u32);
        let counted = || state.pilots.iter().filter(|pilot| pilot.counts());
        let pending = counted().filter(|pilot| pilot.is_pending());
        let mut started: Vec<_> = state
            .pilots
            .iter()
            .filter_map(|pilot| Some((pilot.started_at?, pilot.number, waited(pilot)?)))
            .collect();
        started.sort_unstable();
        let paused = site.is_paused().then(|| {
            let keep = state.keep.as_ref();
            keep.map_or_else(String::new, |keep| keep.text.clone())
        });
        Self {
            running: u32::try_from(site.counts().running).unwrap_or(u32::MAX),
            pending: pending.filter_map(waited).collect(),
            started: started
                .into_iter()
                .map(|(_, number, waited_s)| StartedPilot { number, waited_s })
                .collect(),
            speed: site.core_speed(),
            closed: paused.or(stopped),
        }
    }
}
