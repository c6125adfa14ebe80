//! Jobs without a promise beside those that have one: which wait for which.

use tollgate_model::{Instant, Reason, Span, UserId};

use super::cluster::{Cluster, Job, job};

const HOUR: i64 = 3600;

/// Returns how many of 40 jobs of a user, due in 100 s, are promised one after the other.
fn n_promised(cluster: &mut Cluster, user: u32) -> usize {
    let wide = other(user, job(1, 20, 100));
    (0..40).filter(|_| cluster.submit_surely(wide)).count()
}

#[test]
fn automatic_share_leaves_others_their_requests_at_most_an_equal_part() {
    let all = n_promised(&mut Cluster::new("plan", 2), 1);
    let mut alone = Cluster::new("plan:share=auto", 2);
    assert_eq!(
        n_promised(&mut alone, 1),
        all,
        "a user who is alone gets all"
    );
    // Another user has asked for more than two days of the machine, without a promise.
    let mut shared = Cluster::new("plan:share=auto", 2);
    shared.submit_surely(other(2, without_deadline(2, 200_000)));
    shared.submit_surely(other(2, without_deadline(2, 200_000)));
    assert_eq!(n_promised(&mut shared, 1), all / 2);
    // A user with a small request leaves the rest: an hour of two days of processors is 1 part in 48.
    let mut little = Cluster::new("plan:share=auto", 2);
    little.submit_surely(other(2, without_deadline(1, 1)));
    assert!(n_promised(&mut little, 1) + 1 >= all);
}

#[test]
fn user_with_a_larger_weight_may_use_more_before_others_stand_first() {
    for (weight, first) in [(1.0, 2), (4.0, 1)] {
        let mut cluster = Cluster::new("plan", 1);
        let weights = [(UserId(1), weight)].into();
        cluster.simulation.set_user_weights(cluster.now, weights);
        // User 1 uses 100 s, user 2 40 s.
        for (user, run_s) in [(1, 100), (2, 40)] {
            wait_of(&mut cluster, 0, other(user, without_deadline(1, run_s)));
        }
        let at = cluster.now;
        cluster.submit_surely(other(3, without_deadline(1, 10)));
        cluster.pass();
        let mut ids = Vec::new();
        for user in [1, 2] {
            cluster.submit_surely(other(user, without_deadline(1, 10)));
            ids.push((cluster.last, user));
        }
        cluster.run_until(at + Span::from_secs(100));
        let mut order = cluster.ended.iter().filter_map(|(id, _)| {
            let found = ids.iter().find(|(other, _)| other == id);
            found.map(|(_, user)| *user)
        });
        assert_eq!(order.next_back(), Some(3 - first), "weight {weight}");
    }
}

/// A job of another user than the flood's.
fn other(user: u32, job: Job) -> Job {
    Job { user, ..job }
}

fn without_deadline(procs: u32, run_s: i64) -> Job {
    Job {
        deadline_s: None,
        ..job(procs, run_s, 0)
    }
}

/// Submits a job some seconds after the beginning, and returns how long it waits until it starts.
fn wait_of(cluster: &mut Cluster, at_s: i64, job: Job) -> i64 {
    let at = Instant::from_secs(at_s);
    cluster.run_until(at);
    cluster.now = at;
    cluster.submit_surely(job);
    let (id, ended_before) = (cluster.last, cluster.ended.len());
    cluster.run_until(at + Span::from_secs(HOUR));
    let later = &cluster.ended[ended_before..];
    let end = later.iter().find(|(ended, _)| *ended == id);
    let end = end.expect("it ends within an hour").1;
    end.since(at).as_micros() / 1_000_000 - job.run_s
}

/// Returns how long a job that is submitted some seconds after the beginning is expected to wait, and how long it then
/// waits.
fn expected_and_real_wait(cluster: &mut Cluster, at_s: i64, job: Job) -> (i64, i64) {
    let at = Instant::from_secs(at_s);
    cluster.run_until(at);
    cluster.now = at;
    let expected = cluster.expected_start(job).since(at);
    let real = wait_of(cluster, at_s, job);
    (expected.as_micros() / 1_000_000, real)
}

#[test]
fn expected_start_of_a_job_without_a_promise_is_beside_lax_promises() {
    let month = 30 * 24 * HOUR;
    for (nodes, flood, n_tasks, request) in [
        (2, job(1, 2, HOUR / 2), 60, without_deadline(1, 1)),
        (6, job(1, 10, HOUR), 500, without_deadline(1, 5)),
        (4, job(1, 5, month), 900, without_deadline(4, 60)),
        (1, job(1, 100, month), 10, without_deadline(1, 100)),
    ] {
        let mut cluster = Cluster::new("plan", nodes);
        assert_eq!(
            cluster.submit_array_surely(flood, n_tasks),
            n_tasks as usize
        );
        let (expected, real) = expected_and_real_wait(&mut cluster, 7, other(1, request));
        assert!(
            (expected - real).abs() <= flood.run_s,
            "{expected} and {real} s beside {n_tasks} tasks"
        );
    }
}

#[test]
fn expected_start_of_a_job_without_a_promise_is_behind_promises_that_are_due() {
    // The machine is full up to the deadline of the flood.
    let mut cluster = Cluster::new("plan", 2);
    assert_eq!(cluster.submit_array_surely(job(1, 10, 100), 20), 20);
    let request = other(1, without_deadline(2, 60));
    let (expected, real) = expected_and_real_wait(&mut cluster, 1, request);
    assert_eq!((expected, real), (99, 99));
}

#[test]
fn short_job_waits_for_one_task_of_a_lax_promise() {
    let mut cluster = Cluster::new("plan", 2);
    assert_eq!(cluster.submit_array_surely(job(1, 2, HOUR / 2), 60), 60);
    let wait = wait_of(&mut cluster, 1, other(1, without_deadline(1, 1)));
    assert!(wait <= 2, "{wait}");
}

#[test]
fn flood_of_one_user_delays_others_by_one_task() {
    // A lab of six slots: 500 tasks of 10 s that are due in an hour, or in 25 minutes.
    for (due_s, others_due) in [(HOUR, None), (25 * 60, Some(HOUR))] {
        let mut cluster = Cluster::new("plan", 6);
        assert_eq!(cluster.submit_array_surely(job(1, 10, due_s), 500), 500);
        let mut waits = Vec::new();
        for user in 1..5 {
            let short = Job {
                deadline_s: others_due,
                ..without_deadline(1, 5)
            };
            let mut lab = cluster_copy(due_s);
            waits.push(wait_of(
                &mut lab,
                30 * i64::from(user) + 1,
                other(user, short),
            ));
        }
        assert!(waits.iter().all(|&wait| wait <= 10), "{due_s}: {waits:?}");
        cluster.run();
        let due = Instant::from_secs(due_s);
        assert!(cluster.finished.iter().all(|job| job.end <= due));
        assert_eq!(cluster.ended.len(), 500);
    }
}

/// Returns the lab with its flood.
fn cluster_copy(due_s: i64) -> Cluster {
    let mut cluster = Cluster::new("plan", 6);
    cluster.submit_array_surely(job(1, 10, due_s), 500);
    cluster
}

#[test]
fn job_on_all_nodes_does_not_wait_for_a_flood_that_is_due_in_a_month() {
    let mut cluster = Cluster::new("plan", 4);
    let month = 30 * 24 * HOUR;
    assert_eq!(cluster.submit_array_surely(job(1, 5, month), 2000), 2000);
    let wait = wait_of(&mut cluster, 7, other(1, without_deadline(4, 60)));
    assert!(wait <= 5, "{wait}");
}

#[test]
fn deadline_in_a_month_buys_no_place_before_an_honest_user() {
    let mut cluster = Cluster::new("plan", 1);
    let month = 30 * 24 * HOUR;
    assert_eq!(cluster.submit_array_surely(job(1, 100, month), 10), 10);
    let wait = wait_of(&mut cluster, 50, other(1, without_deadline(1, 100)));
    assert_eq!(wait, 50);
}

#[test]
fn job_that_cannot_be_promised_runs_and_may_be_in_time_all_the_same() {
    let mut cluster = Cluster::new("plan", 1);
    assert!(cluster.submit(job(1, 1000, 2000)));
    cluster.pass();
    // Its estimate says 500 s, and it runs for 50.
    let late = Job {
        run_s: 50,
        estimate_s: 500,
        ..job(1, 500, 1100)
    };
    assert!(!cluster.submit(late));
    cluster.run();
    assert_eq!((cluster.ended.len(), cluster.rejected.len()), (2, 0));
    assert_eq!(cluster.promised.len(), 1, "it never got a promise");
}

#[test]
fn empty_machine_refuses_no_deadline_that_is_still_to_come() {
    let mut cluster = Cluster::new("plan", 4);
    assert!(!cluster.submit(job(1, 1000, 100)));
    cluster.run();
    assert_eq!((cluster.ended.len(), cluster.rejected.len()), (1, 0));
}

#[test]
fn late_job_is_dropped_once_it_could_hardly_end_in_time() {
    let mut cluster = Cluster::new("plan:drop-late=true", 1);
    assert!(cluster.submit_surely(job(1, 1000, 2000)));
    cluster.pass();
    assert!(!cluster.submit_surely(job(1, 500, 900)));
    cluster.run_until(Instant::from_secs(400));
    assert!(cluster.rejected.is_empty());
    cluster.run_until(Instant::from_secs(401));
    assert_eq!(cluster.rejected, [(cluster.last, Reason::LATE)]);
    // One that runs goes on.
    cluster.run();
    assert_eq!(cluster.ended.len(), 1);
}

#[test]
fn users_take_turns_by_their_use() {
    let mut cluster = Cluster::new("plan", 1);
    for user in [0, 0, 0, 1, 1, 1] {
        cluster.submit_surely(other(user, without_deadline(1, 100)));
    }
    cluster.run();
    let order: Vec<u32> = cluster.ended.iter().map(|(job, _)| job.0 / 3).collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn wide_job_gets_a_place_after_its_maximum_wait() {
    // Narrow jobs of others keep coming, and without a place one processor would always be busy.
    let mut cluster = Cluster::new("plan:patience=0.5h", 2);
    cluster.submit_surely(other(1, without_deadline(1, 1000)));
    cluster.pass();
    let wait = wait_of(&mut cluster, 10, other(0, without_deadline(2, 100)));
    assert_eq!(wait, 990, "it keeps the place that it has as the first");
}
