//! Names that their users chose come out as text, whatever they are.

use serde_json::{Value, json};
use tollgate_client::types::JobExplanation;
use tollgate_overview::output::{OutputTail, ShownOutput};
use tollgate_web::pages::job::JobAnswers;
use tollgate_web::pages::jobs::JobsSelection;
use tollgate_web::pages::queue::QueueAnswers;
use tollgate_web::pages::submit::RequestKind;
use tollgate_web::pages::{how_well, job, jobs, machine, now, queue, submit};

use crate::answers::{self, read};
use crate::markup::check;

/// Texts that would do harm as markup, or break the page.
fn hostile_texts() -> Vec<String> {
    vec![
        "<script>alert(1)</script>".to_owned(),
        "\"><img src=x onerror=alert(1)>".to_owned(),
        "' onmouseover='alert(1)".to_owned(),
        "{{ view }}{% include 'shell' %}".to_owned(),
        "javascript:alert(1)".to_owned(),
        "\u{202e}gnirts detrevni\u{202c} \u{5d0}\u{5d1}".to_owned(),
        "nul \u{0} escape \u{1b}[31m bell \u{7} \u{ffff}".to_owned(),
        "]]> &amp; <!-- -->".to_owned(),
        "x".repeat(4_096),
        "\u{1f680}".repeat(1_024),
    ]
}

/// Replaces every text that no contract limits to known words or to instants.
fn poisoned(value: Value, text: &str) -> Value {
    const FIXED: [&str; 12] = [
        "state",
        "change",
        "decision",
        "market",
        "estimate_source",
        "promise",
        "broken_by",
        "key",
        "day",
        "version",
        "hosts",
        "tasks",
    ];
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, inner)| {
                let is_fixed = FIXED.contains(&name.as_str()) && inner.is_string();
                let is_fixed = is_fixed || name.ends_with("_at") || name == "until";
                let inner = if is_fixed {
                    inner
                } else {
                    poisoned(inner, text)
                };
                (name, inner)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| poisoned(item, text)).collect(),
        Value::String(_) => Value::String(text.to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn value(answer: &impl serde::Serialize) -> Value {
    serde_json::to_value(answer).unwrap()
}

/// Renders every page with a text in every field.
fn pages(text: &str) -> Vec<String> {
    let list = answers::list(answers::jobs());
    let mut present = answers::now_answers();
    present.live.jobs = read(poisoned(value(&present.live.jobs), text));
    present.ended = read(poisoned(value(&present.ended), text));
    present.placements = read(poisoned(answers::placements(), text));
    present.nodes = read(poisoned(answers::nodes(), text));
    present.status = read(poisoned(answers::status(), text));
    let explained: JobExplanation = read(poisoned(value(&answers::explanation()), text));
    let output = ShownOutput::of_tail(
        text,
        &OutputTail {
            bytes: text.as_bytes().to_vec(),
            size: text.len() as u64,
        },
    );
    let selection = JobsSelection {
        name: text.to_owned(),
        user: text.to_owned(),
        state: text.to_owned(),
        promise: text.to_owned(),
        before: None,
    };
    let answer = json!({
        "decision": "rejected", "now_at": "2026-12-01T09:10:00Z", "reasons": [{"key": "x", "text": "y"}],
        "estimate_s": 600.0, "estimate_source": "user", "forecast_from": "z",
    });
    let mut well = answers::how_well_answers();
    well.status = read(poisoned(answers::status(), text));
    well.what_if = Some(read(poisoned(answers::policy_risks(), text)));
    let answers = JobAnswers {
        explained,
        tasks: Some(read(poisoned(value(&list), text))),
        history: read(poisoned(answers::history(), text)),
        offset_s: 0,
        may_operate: true,
        output,
    };
    vec![
        now::render(&present),
        queue::render(&QueueAnswers {
            status: present.status.clone(),
            live: present.live.clone(),
        }),
        jobs::render(&read(poisoned(value(&list), text)), &selection),
        job::render(&answers, false),
        machine::render(
            &read(poisoned(answers::nodes(), text)),
            &present.status,
            false,
        ),
        how_well::render(&well),
        submit::render_form(Some(text.to_owned()), false),
        submit::render_answer(&read(poisoned(answer, text)), RequestKind::Submission),
    ]
}

#[test]
fn hostile_texts_come_out_as_text() {
    for text in hostile_texts() {
        for html in pages(&text) {
            // Elements, attributes and links are checked there.
            check(&html);
        }
    }
}

#[test]
fn text_is_shown_and_not_swallowed() {
    let text = "<script>alert(1)</script>";
    for html in pages(text) {
        assert!(html.contains("&lt;script&gt;"), "{html}");
    }
}

#[test]
fn long_texts_do_not_make_pages_large() {
    let long = "x".repeat(4_096);
    let pages = pages(&long);
    let (now, jobs) = (&pages[0], &pages[1]);
    assert!(now.len() < 60_000, "{}", now.len());
    assert!(jobs.len() < 40_000, "{}", jobs.len());
}
