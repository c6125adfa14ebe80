//! Steps of running attempts: recorded by their jobs, kept with these, and visible to their users.

use tollgate_model::{AttemptId, Instant};
use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::CommandError;
use tollgate_store::{MAX_STEPS, NewStep, StepEnding, StepRow};

use crate::common::TestCluster;

const OK: StepEnding = StepEnding {
    code: 0,
    signal: None,
};

fn step(job: u64, attempt: u32) -> NewStep {
    NewStep {
        attempt: AttemptId {
            job,
            task: 0,
            attempt,
        },
        name: "solve".to_owned(),
        n_tasks: 2,
        procs: 2,
        hosts: vec!["n1".to_owned(), "n2".to_owned()],
    }
}

fn begin(site: &mut TestCluster, user: Option<u32>, step: &NewStep) -> Result<u32, RequestError> {
    site.request(|reply| ControllerRequest::BeginStep {
        user,
        step: Box::new(step.clone()),
        reply,
    })
}

fn end(
    site: &mut TestCluster,
    job: u64,
    number: u32,
    ending: StepEnding,
) -> Result<(), RequestError> {
    let attempt = step(job, 1).attempt;
    site.request(|reply| ControllerRequest::EndStep {
        user: None,
        attempt,
        step: number,
        ending,
        reply,
    })
}

fn steps(site: &TestCluster, user: Option<u32>) -> Vec<StepRow> {
    site.reader().steps(&[1, 2, 99], user, 100).unwrap()
}

#[test]
fn steps_count_from_zero_and_keep_their_ends_over_a_restart() {
    let mut site = TestCluster::new("fcfs");
    site.submit(&["work", "20"], 20).unwrap();
    assert_eq!(begin(&mut site, None, &step(1, 1)), Ok(0));
    assert_eq!(begin(&mut site, None, &step(1, 1)), Ok(1));
    let killed = StepEnding {
        code: 137,
        signal: Some(9),
    };
    assert_eq!(end(&mut site, 1, 1, killed), Ok(()));
    site.restart();
    assert_eq!(begin(&mut site, None, &step(1, 1)), Ok(2));
    let found = steps(&site, None);
    let ends: Vec<_> = found.iter().map(|step| (step.step, step.ending)).collect();
    assert_eq!(ends, [(0, None), (1, Some(killed)), (2, None)]);
    assert_eq!(found[0].begun, step(1, 1));
    assert!(found[1].finish >= Some(found[1].start));
    // A second end changes nothing.
    assert_eq!(end(&mut site, 1, 1, OK), Ok(()));
    assert_eq!(steps(&site, None)[1].ending, Some(killed));
}

#[test]
fn steps_are_those_of_the_owner_and_of_an_attempt_that_runs() {
    let mut site = TestCluster::new("fcfs");
    let own = rustix::process::geteuid().as_raw();
    for _ in 0..3 {
        site.submit(&["work", "20"], 20).unwrap();
    }
    let unknown = Err(RequestError::Ignored(CommandError::UnknownJob));
    assert_eq!(begin(&mut site, Some(own + 1), &step(1, 1)), unknown);
    assert_eq!(begin(&mut site, Some(own), &step(99, 1)), unknown);
    let waits = Err(RequestError::NotRunning);
    assert_eq!(begin(&mut site, Some(own), &step(3, 1)), waits);
    assert_eq!(begin(&mut site, Some(own), &step(1, 2)), waits);
    assert_eq!(begin(&mut site, Some(own), &step(1, 1)), Ok(0));
    assert_eq!(steps(&site, Some(own)).len(), 1);
    assert_eq!(steps(&site, Some(own + 1)), []);
}

#[test]
fn attempt_has_a_limited_number_of_recorded_steps() {
    let mut site = TestCluster::new("fcfs");
    site.submit(&["work", "20"], 20).unwrap();
    for number in 0..MAX_STEPS {
        assert_eq!(begin(&mut site, None, &step(1, 1)), Ok(number));
    }
    assert_eq!(
        begin(&mut site, None, &step(1, 1)),
        Err(RequestError::StepLimit)
    );
    assert_eq!(steps(&site, None).len(), 100);
}

#[test]
fn steps_are_removed_with_their_job() {
    let mut site = TestCluster::new("fcfs");
    site.submit(&["work", "20"], 20).unwrap();
    assert_eq!(begin(&mut site, None, &step(1, 1)), Ok(0));
    site.advance(30);
    assert_eq!(
        end(&mut site, 1, 0, OK),
        Err(RequestError::Ignored(CommandError::UnknownJob))
    );
    assert_eq!(steps(&site, None).len(), 1);
    let pruned = site.request(|reply| ControllerRequest::Prune {
        before: Instant::from_secs(1_000_000_000_000),
        reply,
    });
    assert_eq!(pruned.unwrap().jobs, [1]);
    assert_eq!(steps(&site, None), []);
    tollgate_store::check(&site.store()).unwrap();
}
