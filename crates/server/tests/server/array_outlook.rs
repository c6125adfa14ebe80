//! The outlook of an array that runs: when its last task ends.

use tollgate_model::{Market, Span, TaskId};
use tollgate_service::{ArrayOutlook, ArraySpec, ServiceCommand, Submission, SubmissionOptions};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};

const N_TASKS: i64 = 24;
const RUN_S: i64 = 60;

/// Starts tasks of a minute each, for which twice the time is asked, on three nodes.
fn driver(deadline_s: Option<i64>, max_at_once: Option<u32>) -> CoreDriver {
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    let array = Submission {
        budget: None,
        deadline: deadline_s.map(Span::from_secs),
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: format!("1-{N_TASKS}").parse().unwrap(),
                max_at_once,
            }),
            ..SubmissionOptions::default()
        },
        ..submission("sim", 2 * RUN_S)
    };
    driver.submit(1, array, RUN_S);
    driver
}

fn outlook(driver: &CoreDriver) -> ArrayOutlook {
    driver.core.array_outlook(driver.now, 1).unwrap()
}

#[test]
fn outlook_brackets_the_last_end_from_the_first_start_to_the_last_task() {
    for deadline_s in [None, Some(3_000)] {
        for max_at_once in [None, Some(2)] {
            let case = format!("{deadline_s:?} {max_at_once:?}");
            let mut driver = driver(deadline_s, max_at_once);
            let waves = N_TASKS / i64::from(max_at_once.unwrap_or(3));
            let last_end = driver.now + Span::from_secs(waves * RUN_S);
            let begin = driver.now;
            for part in [0, waves / 2, waves - 1] {
                driver.run(begin + Span::from_secs(part * RUN_S + 10));
                let prediction = outlook(&driver).prediction.expect("it ends");
                assert!(
                    prediction.earliest <= last_end && last_end <= prediction.latest,
                    "{case}, wave {part}: {last_end} is not in {prediction:?}"
                );
                assert_eq!(
                    prediction.probability.is_some(),
                    deadline_s.is_some(),
                    "{case}, wave {part}"
                );
            }
            driver.run(last_end + Span::from_secs(1));
            assert!(driver.core.array(1).is_none(), "{case}");
            assert_eq!(driver.core.array_outlook(driver.now, 1), None);
            assert_eq!(driver.ends.values().max(), Some(&last_end), "{case}");
        }
    }
}

#[test]
fn limit_of_tasks_at_a_time_counts_in_the_outlook() {
    let [free, limited] = [None, Some(1)].map(|limit| {
        let driver = driver(None, limit);
        let prediction = outlook(&driver).prediction.expect("it ends");
        prediction.finish.since(driver.now).as_secs_f64()
    });
    assert!(limited > 2.0 * free, "{limited} and {free}");
}

#[test]
fn held_tasks_are_left_out_of_the_outlook() {
    let mut driver = driver(None, None);
    let whole = outlook(&driver).prediction.expect("it ends");
    let hold = |tasks: &str| ServiceCommand::Hold {
        job: 1,
        tasks: Some(tasks.parse().unwrap()),
    };
    driver.step(&[hold("7-24")]);
    let part = outlook(&driver).prediction.expect("it ends");
    assert!(part.finish < whole.finish, "{part:?} and {whole:?}");
    driver.step(&[hold("1-6")]);
    driver.wait(2 * RUN_S);
    let held = outlook(&driver);
    assert_eq!((held.prediction, held.oldest), (None, None));
}

#[test]
fn outlook_names_the_oldest_and_the_youngest_running_task() {
    let mut driver = driver(None, None);
    driver.wait(20);
    driver.step(&[ServiceCommand::Cancel {
        job: 1,
        tasks: Some("2".parse().unwrap()),
    }]);
    driver.wait(5);
    let prediction = outlook(&driver);
    let [oldest, youngest] = [prediction.oldest, prediction.youngest].map(|of| of.unwrap());
    assert_eq!((oldest.task, oldest.age), (1, Span::from_secs(25)));
    assert_eq!((youngest.task, youngest.age), (4, Span::from_secs(5)));
}

#[test]
fn promised_task_has_a_start_and_an_end_of_its_own() {
    let driver = driver(Some(3_000), None);
    let of = |task| {
        let prediction = driver.core.predict(driver.now, TaskId { job: 1, task });
        prediction.expect("it runs")
    };
    let starts = [1, 10, 24].map(|task| of(task).start);
    assert!(starts.is_sorted() && starts[0] < starts[1] && starts[1] < starts[2]);
    let whole = outlook(&driver).prediction.expect("it ends");
    assert_eq!(whole.start, driver.now);
    assert!(of(10).finish < whole.finish);
}
