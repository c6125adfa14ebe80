//! A service on an engine that runs nothing, for the tests of the controller.

pub(crate) mod core_driver;
pub(crate) mod store_sample;
pub(crate) mod store_view;
pub(crate) mod test_service;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{SimEngine, SimHost};
use tollgate_gate::OnEviction;
use tollgate_model::{BookEntry, Credits, CreditsPerSecond, Instant, Market, Probability, Span};
use tollgate_policies::builtin_registry;
use tollgate_server::controller::{
    Controller, ControllerRequest, HostClock, NewJob, RequestError, RequestedTimes, SubmittedJob,
};
use tollgate_service::{
    AdmissionRules, ClockReading, RetryPolicy, Submission, SubmissionOptions, SubmitOutcome,
};
use tollgate_store::{JobProgram, JobRow, Store, StoreReader};

/// Returns the clocks of a host whose wall clock is never set.
pub(crate) fn host_clock(mut now: impl FnMut() -> Instant + Send + 'static) -> HostClock {
    Box::new(move || {
        let host = now();
        ClockReading {
            host,
            elapsed: host.since(Instant::ZERO),
        }
    })
}

/// A service in a data directory, on a host that survives restarts.
pub(crate) struct TestCluster {
    pub(crate) data_dir: tempfile::TempDir,
    pub(crate) world: SimHost,
    pub(crate) clock: Arc<Mutex<Instant>>,
    pub(crate) controller: Option<Controller<SimEngine>>,
    pub(crate) rules: AdmissionRules,
}

impl TestCluster {
    pub(crate) fn new(policy: &str) -> Self {
        Self::in_market(policy, Market::Commodity)
    }

    pub(crate) fn in_market(policy: &str, market: Market) -> Self {
        let mut site = Self {
            data_dir: tempfile::tempdir().unwrap(),
            world: SimHost::new(2, 1 << 30, SimProgram::of_command),
            clock: Arc::default(),
            controller: None,
            rules: rules(policy, market),
        };
        site.restart();
        site
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.data_dir.path().join("tollgate.db")
    }

    /// Kills the service, if it runs, and starts the next one.
    pub(crate) fn restart(&mut self) {
        self.controller = None;
        let store = Store::open(&self.store()).unwrap();
        let engine = SimEngine::open(&self.world);
        let (clock, world) = (Arc::clone(&self.clock), self.world.clone());
        let now = Box::new(move || ClockReading {
            host: *clock.lock().unwrap(),
            elapsed: world.now().since(Instant::ZERO),
        });
        let mut controller = Controller::new(store, engine, &self.rules, now).unwrap();
        controller.reconcile().unwrap();
        self.controller = Some(controller);
    }

    pub(crate) fn controller(&mut self) -> &mut Controller<SimEngine> {
        self.controller.as_mut().unwrap()
    }

    pub(crate) fn tick(&mut self, requests: Vec<ControllerRequest>) {
        self.controller().tick(requests);
    }

    pub(crate) fn wait_until(&mut self, secs: i64) {
        *self.clock.lock().unwrap() = Instant::from_secs(secs);
        self.world.advance_to(Instant::from_secs(secs));
        self.tick(Vec::new());
    }

    /// Advances the time second by second, so that jobs that end free their nodes for the next
    /// ones.
    pub(crate) fn advance(&mut self, secs: i64) {
        let now = self
            .clock
            .lock()
            .unwrap()
            .since(Instant::ZERO)
            .as_secs_f64() as i64;
        for second in 1..=secs {
            self.wait_until(now + second);
        }
    }

    /// Sends a request to the controller and returns its response.
    pub(crate) fn request<T>(
        &mut self,
        question: impl FnOnce(oneshot::Sender<Result<T, RequestError>>) -> ControllerRequest,
    ) -> Result<T, RequestError> {
        let (reply, mut answer) = oneshot::channel();
        self.tick(vec![question(reply)]);
        answer.try_recv().unwrap()
    }

    /// Submits a job with a deadline of 100 s and a budget of 1,000 credits.
    pub(crate) fn submit(
        &mut self,
        words: &[&str],
        estimate_s: i64,
    ) -> Result<SubmittedJob, RequestError> {
        self.submit_job(submission(words[0], estimate_s), words)
    }

    pub(crate) fn submit_job(
        &mut self,
        submission: Submission,
        words: &[&str],
    ) -> Result<SubmittedJob, RequestError> {
        let program = Box::new(program(words));
        self.request(|reply| {
            ControllerRequest::submit(NewJob {
                submission,
                times: RequestedTimes::default(),
                program,
                reply,
            })
        })
    }

    pub(crate) fn quote(&mut self, submission: Submission) -> SubmitOutcome {
        self.request_quote(submission, false)
    }

    /// Returns a quote that names surer promises.
    pub(crate) fn quote_with_levels(&mut self, submission: Submission) -> SubmitOutcome {
        self.request_quote(submission, true)
    }

    fn request_quote(&mut self, submission: Submission, with_levels: bool) -> SubmitOutcome {
        self.request(|reply| ControllerRequest::Quote {
            submission,
            times: RequestedTimes::default(),
            with_levels,
            reply,
        })
        .unwrap()
    }

    pub(crate) fn reader(&self) -> StoreReader {
        Store::open(&self.store()).unwrap().reader().unwrap()
    }

    pub(crate) fn row(&self, job: u64) -> JobRow {
        self.reader().job(job).unwrap().unwrap()
    }

    /// Returns the key of the entry of a job in the books.
    pub(crate) fn entry(&self, job: u64) -> Option<&'static str> {
        self.row(job).entry.map(BookEntry::key)
    }

    pub(crate) fn state(&self, job: u64) -> (String, Option<String>) {
        let row = self.row(job);
        (row.state, row.status)
    }
}

pub(crate) fn rules(policy: &str, market: Market) -> AdmissionRules {
    AdmissionRules {
        unpredictable: Default::default(),
        choose: None,
        evictions: RetryPolicy::forever(),
        policy: builtin_registry().parse_list(policy).unwrap().remove(0),
        registry: builtin_registry(),
        market,
        price: 3600.0,
        default_estimate: Span::from_secs(10),
        level: Probability::new(0.9).unwrap(),
        confidence: 0,
        max_resident: 8,
        shadow: None,
        start_delay: Span::ZERO,
    }
}

pub(crate) fn submission(name: &str, estimate_s: i64) -> Submission {
    Submission {
        user: rustix::process::geteuid().as_raw(),
        name: name.to_owned(),
        executable: None,
        account: None,
        queue: None,
        procs: 1,
        memory: None,
        estimate: Some(Span::from_secs(estimate_s)),
        deadline: Some(Span::from_secs(100)),
        budget: Some(Credits::from_f64(1000.0)),
        penalty: CreditsPerSecond::ZERO,
        confidence: None,
        at_least: None,
        retry: OnEviction::Fail,
        reserve_for: None,
        options: SubmissionOptions::default(),
    }
}

pub(crate) fn program(words: &[&str]) -> JobProgram {
    JobProgram {
        auto_memory: None,
        unpredictable: Default::default(),
        give_up: None,
        argv: words.iter().map(|&word| word.to_owned()).collect(),
        script: None,
        env: Vec::new(),
        dir: "/".to_owned(),
        output: None,
        umask: 0o022,
        memory: None,
        time_limit: None,
        signal: None,
        error: None,
        input: None,
        comment: None,
        submit_line: None,
        submit_host: None,
        notify: Vec::new(),
        append: false,
        retries: None,
        repeat: None,
        begin: None,
        claim_key: None,
    }
}
