//! Account and queue are labels of a job: they are stored, shown, and tell jobs of one name apart in
//! forecasts.

use tollgate_service::Submission;

use crate::common::{TestCluster, submission};

#[test]
fn account_and_queue_are_stored_with_the_job() {
    let mut site = TestCluster::new("fcfs");
    let labelled = Submission {
        account: Some("physics".to_owned()),
        queue: Some("long".to_owned()),
        ..submission("sleep", 20)
    };
    site.submit_job(labelled, &["sleep", "1"]).unwrap();
    site.submit(&["sleep", "1"], 20).unwrap();
    let row = site.row(1);
    assert_eq!(row.account.as_deref(), Some("physics"));
    assert_eq!(row.queue.as_deref(), Some("long"));
    assert_eq!(site.row(2).account, None);
}

#[test]
fn jobs_of_one_name_are_forecast_by_queue() {
    let mut site = TestCluster::new("fcfs");
    let of_queue = |queue: &str| Submission {
        deadline: None,
        budget: None,
        queue: Some(queue.to_owned()),
        ..submission("work", 500)
    };
    for _ in 0..45 {
        for (queue, secs) in [("short", "2"), ("long", "200")] {
            site.submit_job(of_queue(queue), &["work", secs]).unwrap();
        }
        site.advance(205);
    }
    let median_s = |site: &mut TestCluster, queue| {
        let outcome = site.quote(of_queue(queue));
        let predicted = outcome.prediction.expect("it runs at once");
        predicted.finish.since(predicted.start).as_secs_f64()
    };
    let short_s = median_s(&mut site, "short");
    let long_s = median_s(&mut site, "long");
    assert!(short_s < 20.0 && long_s > 100.0, "{short_s} {long_s}");
}
