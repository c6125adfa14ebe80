//! The service that pilots join, as sites need it: its work, and the tokens of its workers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tollgate_model::Instant;

use crate::control::{PilotWorker, ScaleOutcome, SiteControl};
use crate::error::SiteError;
use crate::settings::SiteSettings;
use tollgate_provisioning::{PendingWork, SiteDemand};

/// The number of sites whose engines are asked at the same time.
const SITES_AT_ONCE: usize = 2;

/// The unfinished jobs and the workers of a service at an instant.
pub trait PilotWork: Sync {
    /// Returns the worker with a name. None if the service does not know it.
    fn worker(&self, name: &str) -> Option<PilotWorker>;

    /// Returns the work for the pilots of these sites.
    fn pending_work(&self, sites: &BTreeSet<&str>, now: Instant) -> PendingWork;
}

/// A service, or a scheduler, that pilots join.
pub trait PilotService: Sync {
    /// Its work.
    type Work: PilotWork;
    /// An error of the service or of a site.
    type Error: From<SiteError> + fmt::Display + Send;

    /// Asks for the work for pilots of these sites.
    ///
    /// # Errors
    /// If the service does not answer.
    fn work(&self, sites: &[SiteSettings]) -> Result<Self::Work, Self::Error>;

    /// Tells the service the ends of pilots that the engine has moved. A service that does not take them
    /// learns them by the next look.
    fn report_moved_ends(&self, work: &Self::Work, site: &SiteControl);

    /// Returns whether pilots may have any of a site's shapes. Else they have the first one.
    fn takes_shapes(&self) -> bool;

    /// Asks workers of pilots that run nothing to leave, by their names. One that has a task by then stays.
    ///
    /// # Errors
    /// If the service does not answer.
    fn release(&self, workers: &[String]) -> Result<(), Self::Error>;
    /// States which pilots are expected at a site now. A service that does not take the statement makes no promise that
    /// counts on them.
    fn expect_pilots(&self, work: &Self::Work, site: &SiteControl);

    /// Submits and cancels pilots at a site, with tokens of the service.
    ///
    /// # Errors
    /// If the service gives no token, or the site cannot be used.
    fn follow(
        &self,
        site: &mut SiteControl,
        demand: &SiteDemand,
    ) -> Result<ScaleOutcome, Self::Error>;
}

/// Runs `work` for each site, for two at a time: a log-in host is no place for many commands at once.
/// Returns the results in the order of the sites.
pub fn for_sites<'a, S: Sync, T: Send>(sites: &'a [S], work: impl Fn(&'a S) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(sites.len()));
    let run = || {
        while let Some((at, site)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, sites.get(at)?)))
        {
            let result = work(site);
            results
                .lock()
                .expect("no thread panicked")
                .push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..SITES_AT_ONCE.min(sites.len()) {
            scope.spawn(run);
        }
    });
    let mut results = results.into_inner().expect("no thread panicked");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_sites() {
        let sites = [5, 3, 8, 1];
        assert_eq!(for_sites(&sites, |site| site * 2), [10, 6, 16, 2]);
        assert!(for_sites::<u8, u8>(&[], |site| *site).is_empty());
    }
}
