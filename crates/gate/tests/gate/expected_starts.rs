//! When `plan` expects jobs to start, and when they then start if nothing is submitted later. All run times
//! are known exactly.

use proptest::prelude::*;
use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::OutlookSubject;

use super::cluster::{Cluster, Job, job};

const HOUR: i64 = 3600;

/// Returns a machine on which users 0, 1 and 2 have used ever more. Nothing in these tests can change the
/// order in which they have their turns. All processors are busy for 30 s.
fn busy_cluster(nodes: u32) -> Cluster {
    let mut cluster = Cluster::new("plan", nodes);
    for user in 0..3 {
        let used = job(1, 10 * HOUR * i64::from(user + 1), 100 * HOUR);
        cluster.submit_surely(Job { user, ..used });
    }
    cluster.run();
    for _ in 0..nodes {
        cluster.submit_surely(job(1, 30, HOUR));
    }
    cluster.pass();
    cluster
}

/// Returns the expected first start of some jobs: the last one of all futures. In some, a job is shorter than it is known to
/// be, because the lowest level of what is believed is above 0.
fn expected_start_of(cluster: &Cluster, subject: OutlookSubject<'_>) -> Instant {
    *cluster.possible_starts(subject).last().expect("futures")
}

/// Returns the same of a job if it were submitted now.
fn expected_start_of_new(cluster: &Cluster, job: Job) -> Instant {
    let starts = cluster.possible_starts_of_new(job);
    *starts.last().expect("futures")
}

/// Submits a job that is known to be promised or not, and returns it.
fn submit(cluster: &mut Cluster, job: Job, is_promised: bool) -> JobId {
    assert_eq!(cluster.submit_surely(job), is_promised);
    cluster.last
}

/// Runs a cluster to the end, and returns when each of some jobs started.
fn starts_of(cluster: &mut Cluster, jobs: &[JobId]) -> Vec<Instant> {
    let before = cluster.started.len();
    cluster.run();
    let all = cluster.started.iter().zip(&cluster.starts).skip(before);
    let starts: Vec<(JobId, Instant)> = all.map(|((job, ..), (_, at))| (*job, *at)).collect();
    let start_of = |job: &JobId| starts.iter().find(|(other, _)| other == job).unwrap().1;
    jobs.iter().map(start_of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn jobs_with_lax_promises_start_when_they_are_expected_to(
        nodes in 1u32..4,
        waiting in prop::collection::vec((0u32..3, 1i64..20, 1i64..200, any::<bool>()), 1..12),
    ) {
        let mut cluster = busy_cluster(nodes);
        let (mut promised, mut others) = (Vec::new(), Vec::new());
        for (user, run_s, more_s, is_promised) in waiting {
            let deadline_s = is_promised.then_some(10 * HOUR + more_s);
            let asked = Job { user, deadline_s, ..job(1, run_s, 0) };
            let at_submission = expected_start_of_new(&cluster, asked);
            let kind = if is_promised { &mut promised } else { &mut others };
            kind.push(submit(&mut cluster, asked, is_promised));
            let existing = expected_start_of(&cluster, OutlookSubject::Existing(&[cluster.last]));
            prop_assert_eq!(at_submission, existing);
        }
        let expected = |jobs: &[JobId]| -> Vec<Instant> {
            let start = |job| expected_start_of(&cluster, OutlookSubject::Existing(&[job]));
            jobs.iter().copied().map(start).collect()
        };
        let (expected, expected_of_others) = (expected(&promised), expected(&others));
        let all: Vec<JobId> = promised.into_iter().chain(others).collect();
        let starts = starts_of(&mut cluster, &all);
        let (starts, starts_of_others) = starts.split_at(expected.len());
        prop_assert_eq!(expected, starts);
        // A job without a promise is expected as early as behind all promises, too.
        for (expected, start) in expected_of_others.iter().zip(starts_of_others) {
            prop_assert!(expected <= start, "{expected} {start}");
        }
    }

    #[test]
    fn promised_jobs_are_expected_to_end_in_time(
        nodes in 1u32..4,
        waiting in prop::collection::vec((0u32..3, 1i64..20, 0i64..200, any::<bool>()), 1..12),
    ) {
        let mut cluster = busy_cluster(nodes);
        let at = cluster.now;
        let mut promised = Vec::new();
        for (user, run_s, more_s, has_deadline) in waiting {
            let deadline_s = has_deadline.then_some(run_s + more_s);
            if cluster.submit_surely(Job { user, deadline_s, ..job(1, run_s, 0) }) {
                promised.push((cluster.last, at + Span::from_secs(run_s + more_s)));
            }
        }
        for (job, due) in promised {
            // In a future in which the job itself is shorter it may start later, and end in time all the same.
            for run in cluster.possible_runs(OutlookSubject::Existing(&[job])) {
                prop_assert!(run.finish <= due, "{run:?} until {due}");
            }
        }
    }
}

#[test]
fn promised_job_behind_those_of_a_user_with_less_use_starts_last_as_expected() {
    let mut cluster = busy_cluster(1);
    let at = cluster.now;
    let short = Job {
        deadline_s: None,
        ..job(1, 10, 0)
    };
    for _ in 0..20 {
        submit(&mut cluster, short, false);
    }
    // A quarter of its slack of 80 s is not lent, so it can start 60 s from now and no later.
    let request = Job {
        user: 2,
        ..job(1, 20, 100)
    };
    let expected = expected_start_of_new(&cluster, request);
    let job = submit(&mut cluster, request, true);
    assert_eq!(starts_of(&mut cluster, &[job]), [expected]);
    assert_eq!(expected, at + Span::from_secs(60));
}

#[test]
fn promised_tasks_are_expected_in_the_turns_of_their_user() {
    let mut cluster = busy_cluster(2);
    let at = cluster.now;
    let task = Job {
        user: 1,
        ..job(1, 10, 10 * HOUR)
    };
    assert_eq!(cluster.submit_array_surely(task, 6), 6);
    let tasks = cluster.last;
    // Both processors are user 0's for another ten seconds, and those of user 2 wait for all tasks.
    for user in [0, 2] {
        let other = Job { user, ..task };
        for _ in 0..2 {
            submit(&mut cluster, other, true);
        }
    }
    let expected = |n_before: u32| {
        let subject = OutlookSubject::InGroup(tasks, n_before);
        expected_start_of(&cluster, subject).since(at).as_secs_f64()
    };
    let expected: Vec<f64> = (0..6).map(expected).collect();
    assert_eq!(expected, [40.0, 40.0, 50.0, 50.0, 60.0, 60.0]);
    let last = cluster.last;
    let behind = expected_start_of(&cluster, OutlookSubject::Existing(&[last]));
    assert_eq!(starts_of(&mut cluster, &[last]), [behind]);
    assert_eq!(behind, at + Span::from_secs(70));
}
