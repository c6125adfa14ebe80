//! The histories of jobs: turns, and samples of what was expected as time went by.

use tollgate_client::types::{AccessRole, JobHistory, JobRequest, SubmitResponse};
use tollgate_client::{ApiClient, ClientError};
use tollgate_model::{Instant, Market, Span};
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedTimes};
use tollgate_service::{ServiceCommand, Submission};
use tollgate_store::{MAX_SAMPLES, SampleRow};

use crate::common::test_service::TestService;
use crate::common::{TestCluster, program, submission};
use crate::network::refused;

fn samples(site: &TestCluster, job: u64) -> Vec<SampleRow> {
    site.reader().samples(job).unwrap()
}

fn secs(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_secs_f64()
}

/// Returns the longest time between two samples, in seconds.
fn widest_gap(samples: &[SampleRow]) -> f64 {
    let gaps = samples
        .windows(2)
        .map(|two| secs(two[1].at) - secs(two[0].at));
    gaps.fold(0.0, f64::max)
}

#[test]
fn samples_are_taken_as_time_goes_by_and_kept_over_restarts() {
    let mut site = TestCluster::in_market("plan", Market::None);
    let long = Submission {
        budget: None,
        deadline: Some(Span::from_secs(4_000)),
        ..submission("long", 1_000)
    };
    let job = site.submit_job(long, &["work", "600"]).unwrap().job;
    assert_eq!(samples(&site, job).len(), 1, "at the submission");
    site.advance(100);
    let before = samples(&site, job);
    assert!((10..=50).contains(&before.len()), "{}", before.len());
    site.restart();
    site.advance(520);
    let all = samples(&site, job);
    assert_eq!(all[0], before[0], "a restart loses none");
    assert!(
        (40..=MAX_SAMPLES as usize).contains(&all.len()),
        "{}",
        all.len()
    );
    assert!(widest_gap(&all) <= 40.0, "{all:?}");
    for sample in &all {
        assert!(sample.earliest <= sample.finish && sample.finish <= sample.latest);
        assert!(sample.probability.is_some_and(|chance| chance > 0.5));
        assert_eq!(sample.start, Instant::ZERO);
    }
    // A job that has run long is expected to end later than at first.
    assert!(all.last().unwrap().finish > all[0].finish);
    assert_eq!(site.row(job).state, "finished");
    let n_before = all.len();
    site.advance(50);
    assert_eq!(
        samples(&site, job).len(),
        n_before,
        "none of a job that is over"
    );
}

#[test]
fn samples_beyond_the_maximum_are_thinned_but_for_the_first_and_the_last() {
    let mut site = TestCluster::in_market("fcfs", Market::None);
    let job = site.submit(&["work", "1000"], 1_000).unwrap().job;
    site.controller = None;
    let mut store = tollgate_store::Store::open(&site.store()).unwrap();
    for nth in 1..=500 {
        let at = Instant::from_secs(nth);
        let sample = SampleRow {
            at,
            start: at,
            finish: at,
            earliest: at,
            latest: at,
            probability: None,
        };
        store.add_samples(&[(job, sample), (99, sample)]).unwrap();
        let kept = store.reader().unwrap().samples(job).unwrap();
        assert!(kept.len() as u32 <= MAX_SAMPLES);
        assert_eq!(kept.last().unwrap().at, at);
        assert!(kept[0].at <= Instant::from_secs(1), "{:?}", kept[0]);
    }
    let kept = store.reader().unwrap().samples(job).unwrap();
    assert_eq!(kept.len() as u32, MAX_SAMPLES);
    assert!(widest_gap(&kept) <= 4.0 * 500.0 / 64.0, "{kept:?}");
    assert!(store.reader().unwrap().samples(99).unwrap().is_empty());
    drop(store);
    tollgate_store::check(&site.store()).unwrap();
}

#[test]
fn looks_are_rarer_the_more_jobs_there_are() {
    let mut site = TestCluster::in_market("fcfs", Market::None);
    let new_job = |_| NewJob {
        submission: Submission {
            deadline: None,
            budget: None,
            ..submission("work", 1_000)
        },
        times: RequestedTimes::default(),
        program: Box::new(program(&["work", "1000"])),
        reply: tokio::sync::oneshot::channel().0,
    };
    let jobs = (0..600).map(new_job).collect();
    site.tick(vec![ControllerRequest::Submit { jobs }]);
    let n_samples = |site: &TestCluster| [1, 600].map(|job| samples(site, job).len());
    assert_eq!(n_samples(&site), [1, 1]);
    // A look at one job would be due after 2 s.
    site.advance(2);
    assert_eq!(n_samples(&site), [1, 1]);
    site.advance(1);
    assert_eq!(n_samples(&site), [2, 2]);
}

fn command(site: &mut TestCluster, command: ServiceCommand) {
    let user = None;
    site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    })
    .unwrap();
}

#[test]
fn turns_of_a_job_are_kept() {
    let mut site = TestCluster::in_market("fcfs", Market::None);
    site.submit(&["work", "20"], 20).unwrap();
    site.submit(&["work", "20"], 20).unwrap();
    let job = site.submit(&["work", "5"], 5).unwrap().job;
    site.advance(3);
    command(&mut site, ServiceCommand::Hold { job, tasks: None });
    site.advance(3);
    command(&mut site, ServiceCommand::Release { job, tasks: None });
    site.advance(30);
    let turns = site.reader().turns(job).unwrap();
    let kinds = turns.iter().map(|turn| (secs(turn.at), turn.kind.as_str()));
    assert_eq!(kinds.collect::<Vec<_>>(), [(3.0, "held"), (6.0, "queued")]);
    let before = Instant::from_secs(1_000);
    site.request(|reply| ControllerRequest::Prune { before, reply })
        .unwrap();
    assert!(site.reader().turns(job).unwrap().is_empty());
    assert!(samples(&site, job).is_empty());
}

fn history(client: &mut ApiClient, id: u64) -> Result<JobHistory, ClientError> {
    client.get(&format!("/v1/jobs/{id}/history"))
}

#[test]
fn history_of_a_job_has_its_turns_for_its_user_alone() {
    let service = TestService::with_policy("plan");
    let mut client = ApiClient::connect(&service.socket()).unwrap();
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        dir: "/".to_owned(),
        procs: 1,
        deadline_s: Some(600.0),
        estimate_s: Some(60.0),
        ..JobRequest::default()
    };
    let id = client
        .post::<SubmitResponse>("/v1/jobs", &request)
        .unwrap()
        .id
        .unwrap();
    let running = history(&mut client, id).unwrap();
    let keys = |history: &JobHistory| {
        let keys = history.turns.iter().map(|turn| turn.key.clone());
        keys.collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&running),
        ["submitted", "promised", "started"],
        "{running:?}"
    );
    let texts: Vec<&str> = running
        .turns
        .iter()
        .map(|turn| turn.text.as_str())
        .collect();
    assert!(texts[0].starts_with("submitted, due at 1970-"), "{texts:?}");
    assert!(
        texts[1].starts_with("promised with probability 0."),
        "{texts:?}"
    );
    let [sample] = &running.samples[..] else {
        panic!("{running:?}");
    };
    assert!(sample.probability.is_some());
    let _: serde_json::Value = client.post(&format!("/v1/jobs/{id}/cancel"), &()).unwrap();
    let over = client.get::<serde_json::Value>(&format!("/v1/jobs/{id}/wait"));
    assert_eq!(over.unwrap()["state"], "cancelled");
    let over = history(&mut client, id).unwrap();
    let last = over.turns.last().unwrap();
    assert_eq!(last.key, "cancelled", "{over:?}");
    assert!(last.text.contains("promise void"), "{over:?}");
    let token = service.make_for(65_534, AccessRole::User, None);
    let mut other_client = service.remote_client(Some(&token));
    let (status, _) = refused(history(&mut other_client, id));
    assert_eq!(status, 404);
}
