//! The causes for which jobs wait, in lists.

use std::collections::BTreeMap;

use tollgate_model::{Instant, Market, Otherwise, Span};
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedBegin, RequestedTimes};
use tollgate_service::{
    ArraySpec, DependencyCondition, JobDependency, ServiceCommand, Submission, SubmissionOptions,
    WaitCause,
};

use crate::common::{TestCluster, program, submission};

/// Returns a submission without a deadline.
fn free(procs: u32, options: SubmissionOptions) -> Submission {
    Submission {
        procs,
        budget: None,
        deadline: None,
        options,
        ..submission("work", 20)
    }
}

fn plain() -> SubmissionOptions {
    SubmissionOptions::default()
}

/// Returns a service on two nodes with a GPU and a licence, of which one node is busy.
fn site() -> TestCluster {
    let mut site = TestCluster::in_market("plan", Market::None);
    site.world
        .set_devices(BTreeMap::from([("gpu".to_owned(), 1)]));
    site.restart();
    let licences = BTreeMap::from([("matlab".to_owned(), 1)]);
    site.tick(vec![ControllerRequest::SetLicences { licences }]);
    add(&mut site, free(1, plain()));
    site
}

fn add(site: &mut TestCluster, submission: Submission) -> u64 {
    add_at(site, submission, None)
}

/// Submits a job that begins at an instant, in seconds.
fn add_at(site: &mut TestCluster, submission: Submission, begin_s: Option<i64>) -> u64 {
    let program = Box::new(program(&["work", "100"]));
    let begin = begin_s.map(|secs| RequestedBegin::At(Instant::from_secs(secs)));
    let submitted = site.request(|reply| {
        ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes { due: None, begin },
            program,
            reply,
        })
    });
    submitted.expect("taken up").job
}

fn cause(site: &mut TestCluster, job: u64, task: Option<u32>) -> Option<WaitCause> {
    let jobs = vec![(job, task)];
    let causes = site.request(|reply| ControllerRequest::WaitCauses { jobs, reply });
    let facts = causes.expect("answered").remove(0);
    facts.map(|facts| facts.cause)
}

#[test]
fn jobs_wait_for_the_first_thing_that_they_lack() {
    let mut site = site();
    let taking = |name: &str| SubmissionOptions {
        resources: BTreeMap::from([(name.to_owned(), 1)]),
        ..plain()
    };
    let first_gpu = add(&mut site, free(1, taking("gpu")));
    let gpu = add(&mut site, free(1, taking("gpu")));
    let large = add(&mut site, free(2, plain()));
    let held = SubmissionOptions {
        held: true,
        ..plain()
    };
    let held = add(&mut site, free(1, held));
    let dependencies = vec![JobDependency {
        job: large,
        condition: DependencyCondition::Success,
    }];
    let dependent = SubmissionOptions {
        dependencies,
        ..plain()
    };
    let dependent = add(&mut site, free(1, dependent));
    let begin = add_at(&mut site, free(1, plain()), Some(500));
    for (job, expected) in [
        (1, None),
        (first_gpu, None),
        (gpu, Some(WaitCause::Devices)),
        (large, Some(WaitCause::Resources)),
        (held, Some(WaitCause::Held)),
        (dependent, Some(WaitCause::Dependency)),
        (begin, Some(WaitCause::Begin)),
        (999, None),
    ] {
        assert_eq!(cause(&mut site, job, None), expected, "job {job}");
    }
}

#[test]
fn job_behind_kept_processors_waits_for_others_and_licences_go_before() {
    let mut site = site();
    add(&mut site, free(2, plain()));
    let taking = SubmissionOptions {
        resources: BTreeMap::from([("matlab".to_owned(), 1)]),
        ..plain()
    };
    // It could start on the idle node, but would delay the job before it.
    let long = Submission {
        estimate: Some(Span::from_secs(10_000)),
        ..free(1, taking.clone())
    };
    let long = add(&mut site, long);
    assert_eq!(cause(&mut site, long, None), Some(WaitCause::Priority));
    let mut site = self::site();
    add(&mut site, free(1, taking.clone()));
    let other = add(&mut site, free(1, taking));
    assert_eq!(cause(&mut site, other, None), Some(WaitCause::Licences));
}

#[test]
fn waitlisted_job_waits_for_its_promise() {
    let mut site = site();
    add(&mut site, free(1, plain()));
    let late = Submission {
        deadline: Some(Span::from_secs(15)),
        options: SubmissionOptions {
            otherwise: Otherwise::Wait,
            ..plain()
        },
        ..free(1, plain())
    };
    let late = Submission {
        estimate: Some(Span::from_secs(1)),
        ..late
    };
    let late = add(&mut site, late);
    assert_eq!(cause(&mut site, late, None), Some(WaitCause::Promise));
}

#[test]
fn array_has_the_cause_of_its_first_waiting_task() {
    let mut site = site();
    let array = |max_at_once| SubmissionOptions {
        array: Some(ArraySpec {
            tasks: "1-9".parse().expect("tasks"),
            max_at_once,
        }),
        ..plain()
    };
    let limited = add(&mut site, free(1, array(Some(1))));
    for (task, expected) in [
        (None, Some(WaitCause::ArrayLimit)),
        (Some(1), None),
        (Some(2), Some(WaitCause::ArrayLimit)),
        (Some(9), Some(WaitCause::ArrayLimit)),
        (Some(10), None),
    ] {
        assert_eq!(cause(&mut site, limited, task), expected, "{task:?}");
    }
    let held = ServiceCommand::Hold {
        job: limited,
        tasks: Some("9".parse().expect("a task")),
    };
    let own = rustix::process::geteuid().as_raw();
    site.request(|reply| ControllerRequest::Command {
        user: Some(own),
        command: held,
        reply,
    })
    .expect("held");
    assert_eq!(cause(&mut site, limited, Some(9)), Some(WaitCause::Held));
    let other = add(&mut site, free(1, array(None)));
    let expected = Some(WaitCause::Resources);
    assert_eq!(cause(&mut site, other, None), expected);
    assert_eq!(cause(&mut site, other, Some(9)), expected);
}
