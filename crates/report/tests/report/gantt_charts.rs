//! Gantt charts.

use proptest::prelude::*;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, NodeRange, Outcome, Reason, Span};
use tollgate_report::{GanttChart, GanttPlacement};

use crate::xml::{drawn, texts};

fn job(submit: i64, procs: u32, ran: Option<(i64, i64)>, due: Option<i64>) -> Outcome {
    let at = Instant::from_secs;
    Outcome {
        unpredictable: false,
        submit: at(submit),
        runtime: Span::from_secs(60),
        task_runtime: Span::from_secs(60),
        planned_run: Span::from_secs(60),
        procs,
        decision: ran.map_or(Decision::Rejected(Reason::DeadlinePassed), |_| {
            Decision::Accepted
        }),
        decided: at(ran.map_or(submit + 30, |(start, _)| start)),
        ran: ran.map(|(start, finish)| RunInterval {
            start: at(start),
            finish: at(finish),
        }),
        due: due.map(at),
        budget: Credits::ZERO,
        price: Credits::ZERO,
        utility: Credits::ZERO,
        killed: false,
    }
}

fn svg(jobs: &[Outcome], nodes: u32, nodes_of: impl Fn(usize) -> Vec<NodeRange>) -> String {
    let places: Vec<Vec<NodeRange>> = (0..jobs.len()).map(nodes_of).collect();
    let gantt = GanttChart {
        title: "a <small> schedule",
        nodes,
        jobs,
    };
    gantt.to_svg(
        |job| job as u64 + 1,
        |job| GanttPlacement {
            nodes: &places[job],
            reserved: (job % 2 == 0).then_some(jobs[job].submit),
        },
    )
}

const fn range(first: u32, len: u32) -> NodeRange {
    NodeRange { first, len }
}

#[test]
fn a_small_schedule() {
    let jobs = [
        job(0, 2, Some((0, 3600)), Some(7200)),
        job(10, 2, Some((3600, 9000)), Some(7200)),
        job(20, 3, None, Some(60)),
        job(30, 1, Some((30, 90)), None),
    ];
    let places = [
        vec![range(0, 1), range(1, 1)],
        vec![range(0, 2)],
        vec![],
        vec![range(3, 1)],
    ];
    let svg = svg(&jobs, 4, |job| places[job].clone());
    let labels = texts(&svg);
    let late = "job 2: 2 processors, ran 90 min, waited 60 min, 30 min late";
    assert!(labels.contains(&late.to_owned()), "{labels:?}");
    drawn(&svg);
    insta::assert_snapshot!(svg);
}

#[test]
fn no_jobs_give_an_empty_chart() {
    for nodes in [0, 1, 128] {
        texts(&svg(&[], nodes, |_| vec![]));
        let rejected = [job(i64::MAX / 2_000_000, 1, None, None)];
        drawn(&svg(&rejected, nodes, |_| vec![]));
    }
}

#[test]
fn file_size_grows_with_jobs_not_with_nodes() {
    let jobs: Vec<Outcome> = (0..3000)
        .map(|index| {
            job(
                index * 2000,
                64,
                Some((index * 2000, index * 2000 + 9000)),
                None,
            )
        })
        .collect();
    let wide = svg(&jobs, 100_000, |_| {
        (0..1000).map(|node| range(node, 1)).collect()
    });
    assert!(wide.len() < 600_000, "{} bytes", wide.len());
}

proptest! {
    #[test]
    fn every_job_that_ran_is_shown(
        jobs in prop::collection::vec(
            (0i64..1_000_000_000, 0i64..1_000_000, 0i64..1_000_000, 0u32..8, 1u32..5, prop::option::of(0i64..1_000_000)),
            1..40,
        ),
    ) {
        let outcomes: Vec<Outcome> = jobs
            .iter()
            .map(|&(submit, wait, length, _, procs, deadline)| {
                let start = submit + wait;
                job(submit, procs, Some((start, start + length + 1)), deadline.map(|d| submit + d))
            })
            .collect();
        let said = texts(&svg(&outcomes, 12, |i| vec![range(jobs[i].3, jobs[i].4)]));
        for number in 1..=jobs.len() {
            let name = format!("job {number}:");
            prop_assert!(said.iter().any(|words| words.starts_with(&name)), "{name}");
        }
    }
}
