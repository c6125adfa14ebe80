//! The nodes that jobs and tasks take over time.

use tollgate_client::types::{
    AccessRole, JobRequest, NodeSpan, Placement, PlacementList, SubmitResponse,
};
use tollgate_client::{ApiClient, ClientError};
use tollgate_model::{Instant, Market};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{ArraySpec, ServiceCommand, Submission, SubmissionOptions};
use tollgate_store::{PlaceFilter, PlaceRow};

use crate::common::test_service::TestService;
use crate::common::{TestCluster, submission};
use crate::network::refused;

/// A user who is neither the service's nor root.
const OTHER_USER: u32 = 65_534;

fn free(procs: u32) -> Submission {
    Submission {
        procs,
        budget: None,
        deadline: None,
        ..submission("work", 20)
    }
}

fn places(site: &TestCluster, filter: PlaceFilter) -> Vec<PlaceRow> {
    let filter = PlaceFilter {
        limit: 100,
        ..filter
    };
    site.reader().places(&filter).unwrap()
}

/// Returns job, task, nodes, start and end in seconds.
fn short(places: &[PlaceRow]) -> Vec<(u64, u32, &str, i64, Option<i64>)> {
    let secs = |at: Instant| at.since(Instant::ZERO).as_secs_f64() as i64;
    let short = |place: &'_ PlaceRow| {
        let key = place.attempt;
        (key.job, key.task, secs(place.start), place.finish.map(secs))
    };
    let parts = places
        .iter()
        .map(|place| (short(place), place.nodes.as_str()));
    parts
        .map(|((job, task, start, finish), nodes)| (job, task, nodes, start, finish))
        .collect()
}

#[test]
fn places_of_jobs_and_tasks_are_kept_with_their_nodes_and_times() {
    let mut site = TestCluster::in_market("fcfs", Market::None);
    site.submit_job(free(2), &["work", "10"]).unwrap();
    let array = Submission {
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: "1-3".parse().unwrap(),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..free(1)
    };
    site.submit_job(array, &["work", "5"]).unwrap();
    site.advance(12);
    let now = places(&site, PlaceFilter::default());
    assert_eq!(
        short(&now),
        [(2, 1, "0", 10, None), (2, 2, "1", 10, None)],
        "only what goes on"
    );
    assert!(
        now.iter()
            .all(|place| place.of_array && place.host.is_some())
    );
    site.advance(10);
    let since = |secs| PlaceFilter {
        since: Some(Instant::from_secs(secs)),
        ..PlaceFilter::default()
    };
    let all = places(&site, since(-1));
    let expected = [
        (2, 3, "0", 15, Some(20)),
        (2, 1, "0", 10, Some(15)),
        (2, 2, "1", 10, Some(15)),
        (1, 0, "0-1", 0, Some(10)),
    ];
    assert_eq!(short(&all), expected);
    assert!(
        all.iter()
            .all(|place| place.ending.as_deref() == Some("finished"))
    );
    assert_eq!(short(&places(&site, since(15))), expected[..1]);
    let few = PlaceFilter {
        before: Some(Instant::from_secs(15)),
        ..since(-1)
    };
    assert_eq!(short(&places(&site, few)), expected[3..]);
    let early = PlaceFilter {
        until: Some(Instant::from_secs(10)),
        ..since(-1)
    };
    assert_eq!(short(&places(&site, early)), expected[3..]);
    let of_job = PlaceFilter {
        job: Some(1),
        ..since(-1)
    };
    assert_eq!(short(&places(&site, of_job)), expected[3..]);
    // Removed with the jobs.
    let before = Instant::from_secs(1_000);
    site.request(|reply| ControllerRequest::Prune { before, reply })
        .unwrap();
    assert_eq!(places(&site, since(-1)), []);
}

#[test]
fn attempts_that_are_cancelled_or_lost_leave_their_places() {
    let mut site = TestCluster::in_market("fcfs", Market::None);
    site.submit_job(free(1), &["work", "100"]).unwrap();
    site.advance(3);
    site.request(|reply| ControllerRequest::Command {
        user: None,
        command: ServiceCommand::Cancel {
            job: 1,
            tasks: None,
        },
        reply,
    })
    .unwrap();
    site.advance(2);
    let since = PlaceFilter {
        since: Some(Instant::from_secs(-1)),
        ..PlaceFilter::default()
    };
    let all = places(&site, since);
    assert_eq!(all[0].ending.as_deref(), Some("cancelled"));
    let [(1, 0, "0", 0, Some(3..=5))] = short(&all)[..] else {
        panic!("{all:?}");
    };
}

fn list(client: &mut ApiClient, query: &str) -> Result<PlacementList, ClientError> {
    client.get(&format!("/v1/placements?{query}"))
}

#[test]
fn placement_of_a_job_that_a_user_may_not_see_has_no_name() {
    let service = TestService::with_policy("fcfs");
    let mut own = ApiClient::connect(&service.socket()).unwrap();
    let request = JobRequest {
        command: vec!["sleep".to_owned(), "60".to_owned()],
        dir: "/".to_owned(),
        procs: 2,
        name: Some("secret".to_owned()),
        deadline_s: Some(600.0),
        ..JobRequest::default()
    };
    let _: SubmitResponse = own.post("/v1/jobs", &request).unwrap();
    let seen = list(&mut own, "").unwrap();
    let [place] = &seen.placements[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(
        (place.job, place.task, place.attempt),
        (Some(1), None, Some(1))
    );
    assert_eq!(place.name.as_deref(), Some("secret"));
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(place.user_id, Some(user));
    assert!(place.user.is_some() && place.worker.is_some() && place.to_at.is_none());
    assert_eq!(place.nodes, [NodeSpan { first: 0, last: 1 }]);
    assert_eq!(list(&mut own, "job=1").unwrap(), seen);
    let token = service.make_for(OTHER_USER, AccessRole::User, None);
    let mut other_client = service.remote_client(Some(&token));
    let hidden = list(&mut other_client, "").unwrap();
    let anonymous = Placement {
        job: None,
        attempt: None,
        name: None,
        user_id: None,
        user: None,
        deadline_at: None,
        ..place.clone()
    };
    assert_eq!(hidden.placements, [anonymous]);
    let (status, _) = refused(list(&mut other_client, "job=1"));
    assert_eq!(status, 404);
    let (status, problem) = refused(list(&mut own, "before=2030-01-01T00:00:00Z"));
    assert_eq!(status, 422, "{problem:?}");
    let few = list(&mut own, "limit=0").unwrap();
    assert!(few.placements.is_empty() && few.more);
}
