//! A host whose clock is set: the service's clock runs on, and nothing waits for the host's.

use tokio::sync::oneshot;
use tollgate_engine::Engine;
use tollgate_engine::SimEngine;
use tollgate_engine::sim_engine::SimFaults;
use tollgate_model::{Instant, MaintenanceCalendar, MaintenanceWindow, Span};
use tollgate_server::controller::{ControllerRequest, RequestedTimes, StartError};
use tollgate_service::Submission;

use crate::common::{TestCluster, submission};

const HOUR: i64 = 3_600;

impl TestCluster {
    /// Sets the host's clock.
    fn set_clock(&self, secs: i64) {
        *self.clock.lock().unwrap() = Instant::from_secs(secs);
    }

    /// Lets `secs` seconds pass, in which the service is not asked for anything, on a host whose clock now
    /// shows `clock` seconds.
    fn stay_silent(&mut self, clock: i64, secs: i64) {
        let began = self.world.now();
        for second in 1..=secs {
            self.set_clock(clock + second);
            self.world.advance_to(began + Span::from_secs(second));
            self.tick(Vec::new());
        }
    }

    fn clock_ahead(&mut self) -> Option<Span> {
        let (reply, mut answer) = oneshot::channel();
        self.tick(vec![ControllerRequest::Status { user: None, reply }]);
        answer.try_recv().unwrap().unwrap().clock_ahead
    }
}

/// Returns a service at hour 10 of its world and of its host's clock.
fn cluster(policy: &str) -> TestCluster {
    let mut site = TestCluster::new(policy);
    site.wait_until(10 * HOUR);
    site
}

#[test]
fn clock_set_back_runs_on() {
    let mut site = cluster("libra-risk");
    site.submit(&["sleep", "50"], 60).unwrap();
    site.set_clock(8 * HOUR);
    let verdict = site.submit(&["sleep", "5"], 10).unwrap();
    assert_eq!(verdict.answer.spec.submit, Instant::from_secs(10 * HOUR));
    site.stay_silent(8 * HOUR, 60);
    for job in [1, 2] {
        let row = site.row(job);
        assert_eq!(row.state, "finished");
        let ran_s = row.finish.unwrap().since(row.start.unwrap()).as_secs_f64();
        assert!((4.9..=52.0).contains(&ran_s), "{ran_s}");
    }
    let ahead = site.clock_ahead().expect("two hours");
    assert!(ahead <= Span::from_secs(2 * HOUR) && ahead > Span::from_secs(2 * HOUR - 1));
    // The host's clock is set right again.
    site.set_clock(10 * HOUR + 61);
    assert_eq!(site.clock_ahead(), None);
    assert_eq!(site.controller().now(), Instant::from_secs(10 * HOUR + 61));
    // A year ahead: promised deadlines are missed, and nothing else goes wrong.
    site.submit(&["sleep", "50"], 60).unwrap();
    site.set_clock(365 * 24 * HOUR);
    site.tick(Vec::new());
    site.controller().core().check_invariants().unwrap();
    assert_eq!(site.state(3).0, "running");
}

#[test]
fn engine_fault_after_the_clock_was_set_back_is_tried_again() {
    let mut site = cluster("fcfs");
    site.set_clock(8 * HOUR);
    site.world.set_faults(SimFaults {
        fail_before: 1,
        ..SimFaults::default()
    });
    site.submit(&["sleep", "3"], 10).unwrap();
    site.stay_silent(8 * HOUR, 10);
    assert_eq!(site.row(1).state, "finished");
}

#[test]
fn end_is_noticed_after_the_clock_was_set_back() {
    let mut site = cluster("fcfs");
    site.controller().delay_reports(Span::from_secs(1));
    site.submit(&["sleep", "3"], 10).unwrap();
    site.set_clock(8 * HOUR);
    site.stay_silent(8 * HOUR, 10);
    assert_eq!(site.row(1).state, "finished");
}

#[test]
fn reserved_quote_expires_after_the_clock_was_set_back() {
    let mut site = cluster("plan");
    let (reply, mut answer) = oneshot::channel();
    let reserved = Submission {
        reserve_for: Some(Span::from_secs(3)),
        ..submission("sleep", 10)
    };
    site.tick(vec![ControllerRequest::Reserve {
        submission: reserved,
        times: RequestedTimes::default(),
        reply,
    }]);
    let (job, _) = answer.try_recv().unwrap().unwrap();
    assert_eq!(job, Some(1));
    site.set_clock(8 * HOUR);
    site.stay_silent(8 * HOUR, 5);
    assert_eq!(site.row(1).state, "expired");
}

#[test]
fn store_from_the_future_freezes_nothing() {
    // The host's clock was two days ahead when the service ran, and is right again.
    let mut site = cluster("fcfs");
    site.set_clock(58 * HOUR);
    site.submit(&["sleep", "3"], 10).unwrap();
    site.controller = None;
    site.set_clock(10 * HOUR);
    site.restart();
    site.world.set_faults(SimFaults {
        fail_before: 1,
        ..SimFaults::default()
    });
    let ahead = site.clock_ahead().expect("two days");
    assert!(ahead > Span::from_secs(47 * HOUR));
    site.submit(&["sleep", "3"], 10).unwrap();
    site.stay_silent(10 * HOUR, 20);
    for job in [1, 2] {
        let row = site.row(job);
        assert_eq!(row.state, "finished");
        assert!(row.finish.unwrap().since(row.start.unwrap()) < Span::from_secs(10));
    }
}

#[test]
fn maintenance_follows_the_clock_of_the_host() {
    let mut site = cluster("plan");
    site.set_clock(8 * HOUR);
    let window = |from_s: i64| MaintenanceWindow {
        from: Instant::from_secs(from_s),
        until: Instant::from_secs(from_s + HOUR),
    };
    let calendar = MaintenanceCalendar::new(vec![window(9 * HOUR)]);
    site.tick(vec![ControllerRequest::Maintain { calendar }]);
    let now = site.controller().now();
    let view = site.controller().core().gate().view(now);
    assert_eq!(view.maintenance().windows(), [window(11 * HOUR)]);
}

#[test]
fn clock_of_the_host_is_taken_only_while_no_job_is_unfinished() {
    let mut site = cluster("fcfs");
    site.submit(&["sleep", "3"], 10).unwrap();
    site.set_clock(8 * HOUR);
    let refused = site.controller().accept_host_clock().unwrap_err();
    assert!(matches!(refused, StartError::ClockInUse(1)), "{refused}");
    site.stay_silent(8 * HOUR, 10);
    assert_eq!(site.row(1).state, "finished");
    let (host, elapsed) = (Instant::from_secs(8 * HOUR + 10), site.world.now());
    site.controller().accept_host_clock().unwrap();
    assert_eq!(site.clock_ahead(), None);
    assert_eq!(site.controller().now(), host);
    site.controller().core().check_invariants().unwrap();
    // The next service begins at the host's time, too, and runs jobs.
    site.restart();
    assert_eq!(site.controller().now(), host);
    assert_eq!(site.world.now(), elapsed);
    site.submit(&["sleep", "3"], 10).unwrap();
    site.stay_silent(8 * HOUR + 10, 10);
    let row = site.row(2);
    assert_eq!((row.state.as_str(), row.submit), ("finished", host));
    let mut engine = SimEngine::open(&site.world);
    assert_eq!(engine.running().unwrap(), []);
}
