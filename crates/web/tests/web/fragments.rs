//! The parts of pages as they are sent.

use insta::assert_snapshot;
use serde_json::json;
use tollgate_client::types::{JobDetails, JobRef};
use tollgate_overview::output::{OutputTail, ShownOutput};
use tollgate_web::pages::job::JobAnswers;
use tollgate_web::pages::jobs::JobsSelection;
use tollgate_web::pages::queue::QueueAnswers;
use tollgate_web::pages::submit::RequestKind;
use tollgate_web::pages::{how_well, job, jobs, machine, now, queue, submit};

use crate::answers::{self, read};
use crate::markup::check;

/// Checks parts of a page and breaks their lines between elements, so that a snapshot shows what changed.
fn checked(html: &str) -> String {
    check(html);
    html.replace("><", ">\n<")
}

#[test]
fn now_shows_promises_nodes_and_waiting_jobs() {
    assert_snapshot!(checked(&now::render(&answers::now_answers())));
}

#[test]
fn queue_of_another_scheduler_shows_next_starts_and_ends() {
    let present = answers::now_answers();
    let answers = QueueAnswers {
        status: present.status,
        live: present.live,
    };
    assert_snapshot!(checked(&queue::render(&answers)));
}

#[test]
fn now_of_an_idle_service_has_no_tables() {
    let mut idle = answers::now_answers();
    idle.live.jobs.clear();
    idle.ended.clear();
    idle.placements.placements.clear();
    (idle.status.queued, idle.status.held) = (0, 0);
    let html = now::render(&idle);
    let text = check(&html);
    assert!(text.contains("No job runs or waits."), "{text}");
    assert!(
        text.contains("No promise is open.") && text.contains("Nothing waits."),
        "{text}"
    );
}

#[test]
fn waiting_tasks_of_an_array_that_runs_are_not_nothing() {
    let mut running = answers::now_answers();
    running.live.jobs.retain(|job| job.started_at.is_some());
    (running.status.queued, running.status.held) = (12, 0);
    let text = check(&now::render(&running));
    assert!(
        text.contains("No job waits as a whole: 12 tasks of arrays that run do."),
        "{text}"
    );
}

#[test]
fn jobs_are_listed_with_the_outcome_of_their_promises() {
    let selection = JobsSelection {
        state: "live".to_owned(),
        name: "a&b".to_owned(),
        ..JobsSelection::default()
    };
    let html = jobs::render(&answers::list(answers::jobs()), &selection);
    assert_snapshot!(checked(&html));
}

#[test]
fn empty_list_differs_from_an_empty_selection() {
    let empty = answers::list(Vec::new());
    let all = check(&jobs::render(&empty, &JobsSelection::default()));
    assert!(all.contains("No jobs yet."), "{all}");
    let named = JobsSelection {
        name: "x".to_owned(),
        ..JobsSelection::default()
    };
    assert!(check(&jobs::render(&empty, &named)).contains("No such jobs."));
}

fn job_answers() -> JobAnswers {
    JobAnswers {
        explained: answers::explanation(),
        tasks: None,
        history: answers::read(answers::history()),
        offset_s: 3_600,
        may_operate: true,
        output: ShownOutput::of_tail(
            "/home/alice/out",
            &OutputTail {
                bytes: b"epoch 1\nepoch 2\n".to_vec(),
                size: 16,
            },
        ),
    }
}

#[test]
fn job_shows_its_history_its_promise_and_its_output() {
    assert_snapshot!(checked(&job::render(&job_answers(), false)));
}

#[test]
fn late_job_shows_its_delay() {
    let mut answers = job_answers();
    answers.explained.job = answers::jobs().remove(5);
    answers.explained.expected = None;
    let text = check(&job::render(&answers, false));
    assert!(
        text.contains("promise broken: late by 1 min 30 s"),
        "{text}"
    );
}

#[test]
fn array_lists_its_tasks() {
    let mut answers = job_answers();
    answers.explained.job = answers::jobs().remove(0);
    let task = |task: u32, state: &str| {
        answers::job(
            9,
            &json!({"task": task, "state": state, "attempts": 1, "host": "head"}),
        )
    };
    answers.tasks = Some(answers::list(vec![task(1, "finished"), task(2, "running")]));
    let html = job::render(&answers, false);
    assert!(html.contains("job?id=9_2"), "{html}");
    assert!(check(&html).contains("tollgate jobs 9"));
}

#[test]
fn read_only_window_has_no_buttons_and_no_form() {
    let html = job::render(&job_answers(), true) + &submit::render_form(None, true);
    assert!(
        !html.contains("<button") && !html.contains("<form"),
        "{html}"
    );
}

#[test]
fn long_output_is_cut_at_its_beginning() {
    let lines: Vec<String> = (0..300).map(|n| format!("line {n}")).collect();
    let bytes = lines.join("\n").into_bytes();
    let shown = ShownOutput::of_tail(
        "out",
        &OutputTail {
            size: bytes.len() as u64,
            bytes,
        },
    );
    let text = shown.text.unwrap();
    assert!(
        text.starts_with("line 100\n") && text.ends_with("line 299"),
        "{text}"
    );
    assert!(
        shown.note.starts_with("the last 200 lines of out"),
        "{}",
        shown.note
    );
}

#[test]
fn form_has_the_directory_of_the_user() {
    assert_snapshot!(checked(&submit::render_form(
        Some("/home/alice".to_owned()),
        false
    )));
}

#[test]
fn refused_quote_has_offers_as_buttons() {
    let mut answer = json!({
        "decision": "unpromised", "now_at": "2026-12-01T09:10:00Z", "deadline_at": "2026-12-01T09:20:00Z",
        "reasons": [{"key": "no_room", "text": "it would end in time with a probability of 0.2"}],
        "estimate_s": 600.0, "estimate_source": "user", "forecast_from": "14 runs of this program",
        "offers": [
            {"change": "deadline", "deadline_at": "2026-12-01T10:00:00Z", "deadline_s": 2999.5, "procs": 1,
                "probability": 0.93, "price": 12.0},
            {"change": "budget", "budget": 20.0, "procs": 1},
            {"change": "procs", "procs": 2},
            {"change": "confidence", "confidence": 0.99, "procs": 1, "price": 14.0},
        ],
    });
    let expected = answers::forecast([18, 30, 25, 40], 0.2);
    answer
        .as_object_mut()
        .unwrap()
        .extend(expected.as_object().unwrap().clone());
    let html = submit::render_answer(&read(answer), RequestKind::Quote);
    assert_snapshot!(checked(&html));
}

#[test]
fn reserved_quote_can_be_claimed() {
    let answer = json!({
        "id": 17, "decision": "accepted", "now_at": "2026-12-01T09:10:00Z", "price": 2.0,
        "estimate_s": 600.0, "estimate_source": "user", "forecast_from": "your request",
        "held_until_at": "2026-12-01T09:11:00Z",
    });
    let html = submit::render_answer(&read(answer), RequestKind::Reservation);
    assert!(check(&html).contains("Reserved as quote 17"));
    assert!(
        html.contains("{&quot;quote&quot;:&quot;17&quot;}"),
        "{html}"
    );
    check(&submit::render_claimed(&JobRef { id: 17 }));
}

#[test]
fn machine_shows_hosts_and_limits() {
    let html = machine::render(&read(answers::nodes()), &read(answers::status()), false);
    assert_snapshot!(checked(&html));
}

#[test]
fn operator_gets_buttons_that_drain_and_resume_hosts() {
    let mut nodes = answers::nodes();
    nodes["workers"][0]["name"] = "rack b&c".into();
    nodes["nodes"][3]["state"] = "drained".into();
    let mut status = answers::status();
    let page = |status: &serde_json::Value, read_only| {
        let html = machine::render(&read(nodes.clone()), &read(status.clone()), read_only);
        check(&html);
        html
    };
    assert!(!page(&status, false).contains("<button"));
    status["may_operate"] = true.into();
    let html = page(&status, false);
    for post in [
        "ui/hosts/drain\"",
        "ui/hosts/drain?worker=rack%20b%26c\"",
        "ui/hosts/resume?worker=rack%20b%26c\"",
    ] {
        assert!(html.contains(post), "{post}: {html}");
    }
    assert!(!html.contains("ui/hosts/resume\""), "{html}");
    assert!(!page(&status, true).contains("<button"));
}

#[test]
fn table_beside_the_chart_is_cut_with_a_note() {
    let mut answers = answers::now_answers();
    let waiting = answers.live.jobs.iter().find(|job| job.id == 7);
    let waiting = waiting.expect("a job that waits").clone();
    answers.live.jobs.extend((100..300).map(|id| JobDetails {
        id,
        ..waiting.clone()
    }));
    let html = now::render(&answers);
    check(&html);
    let (_, same) = html.split_once("now-same").expect("the table");
    assert_eq!(
        same.split("</table>")
            .next()
            .unwrap()
            .matches("<tr>")
            .count(),
        101
    );
    assert!(html.contains("more: see <a href=\"jobs?state=live\">Jobs</a>"));
}

#[test]
fn how_well_shows_promises_against_kept_ones() {
    assert_snapshot!(checked(&how_well::render(&answers::how_well_answers())));
}

#[test]
fn how_well_has_a_reason_why_policies_are_not_compared() {
    let mut well = answers::how_well_answers();
    let mut with = |state: &str, problem: Option<&str>| {
        let report = json!({"state": state, "jobs": 12, "needed_jobs": 60, "windows": 6, "problem": problem, "policies": []});
        well.what_if = Some(answers::read(report));
        checked(&how_well::render(&well))
    };
    for (state, problem, words) in [
        (
            "too_few_jobs",
            None,
            "12 jobs are over, and 6 windows need at least 60.",
        ),
        ("running", None, "A simulation runs."),
        (
            "failed",
            Some("nice: not found"),
            "The simulation failed: nice: not found.",
        ),
    ] {
        let html = with(state, problem);
        assert!(html.contains(words), "{html}");
    }
    well.what_if = None;
    assert!(!how_well::render(&well).contains("well-risk"));
}
