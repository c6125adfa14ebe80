//! The screen in three sizes, with and without colour.

use ratatui_core::buffer::Buffer;
use tollgate_overview::output::ShownOutput;
use tollgate_top::state::{TopKey, TopNews, TopState};
use tollgate_top::view::{ScreenColours, frame, whole_text};

use crate::answers::{answers, drawn, job, jobs, lines, read, state_of, usual_state};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Returns a frame as text in which each change of the style is written out: `{Red BOLD}`.
fn with_styles(cells: &Buffer) -> String {
    let mut text = String::new();
    for row in cells.content().chunks(usize::from(cells.area.width)) {
        let mut style = String::new();
        let mut line = String::new();
        for cell in row {
            let colour = format!("{:?} ", cell.fg).replace("Reset ", "");
            let modifier = format!("{:?}", cell.modifier).replace("NONE", "");
            let now = format!("{colour}{modifier}").trim().to_owned();
            if now != style {
                line.push_str(&format!("{{{now}}}"));
                style = now;
            }
            line.push_str(cell.symbol());
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn list_fits_every_size_with_and_without_colour() {
    for (width, height) in SIZES {
        let plain = drawn(&mut usual_state(), (width, height));
        insta::assert_snapshot!(format!("list_{width}x{height}"), lines(&plain).join("\n"));
        let shown = frame(&usual_state(), ScreenColours::Shown, (width, height)).cells;
        insta::assert_snapshot!(
            format!("list_{width}x{height}_coloured"),
            with_styles(&shown)
        );
        // A colour never says anything that the words do not.
        assert_eq!(lines(&plain), lines(&shown));
        assert!(
            plain
                .content()
                .iter()
                .all(|cell| cell.fg == ratatui_core::style::Color::Reset)
        );
    }
}

#[test]
fn text_has_all_jobs_and_no_sequence_without_colour() {
    let text = whole_text(&usual_state(), ScreenColours::None, 120);
    insta::assert_snapshot!("text_120", text);
    let coloured = whole_text(&usual_state(), ScreenColours::Shown, 120);
    assert!(coloured.contains("\u{1b}[0;1;31m") && !text.contains('\u{1b}'));
}

#[test]
fn missing_service_is_named_above_the_last_answers() {
    let mut state = usual_state();
    state.on_news(TopNews::Away(
        "no service listens at /run/socket".to_owned(),
    ));
    let shown = lines(&drawn(&mut state, (80, 24)));
    assert!(shown[0].ends_with("NOT LIVE since 09:10:00"), "{shown:?}");
    assert!(
        shown[1].contains("no service listens at /run/socket: waiting"),
        "{shown:?}"
    );
    assert!(shown.iter().any(|line| line.contains("fold")), "{shown:?}");
    state.on_news(TopNews::Answers(Box::new(answers(jobs()))));
    let shown = lines(&drawn(&mut state, (80, 24)));
    assert!(
        shown[0].ends_with("live 09:10:00") && !shown[1].contains("waiting"),
        "{shown:?}"
    );
}

#[test]
fn refusal_to_show_the_overview_is_named_without_waiting() {
    let mut state = usual_state();
    let words = "this token has expired: `tollgate token new` makes another one";
    state.on_news(TopNews::Denied(words.to_owned()));
    let shown = lines(&drawn(&mut state, (80, 24)));
    assert!(shown[0].contains("NOT LIVE since"), "{shown:?}");
    assert_eq!(shown[1], words);
    state.on_news(TopNews::Refused("no such job".to_owned()));
    let shown = lines(&drawn(&mut state, (80, 24)));
    assert!(shown[0].contains("NOT LIVE since"), "{shown:?}");
    assert_eq!(shown[23], "no such job");
}

#[test]
fn empty_service_has_no_job_to_list() {
    let shown = lines(&drawn(&mut state_of(answers(Vec::new())), (80, 24)));
    assert!(
        shown.contains(&"No job runs or waits.".to_owned()),
        "{shown:?}"
    );
}

#[test]
fn explanation_output_and_keys_cover_the_list() {
    let mut state = usual_state();
    state.on_key(TopKey::Enter);
    let explained = serde_json::json!({"job": job(6, &serde_json::json!({"state": "running", "attempts": 1,
        "started_at": "2026-12-01T09:04:00Z", "deadline_at": "2026-12-01T09:20:00Z",
        "promised_at": "2026-12-01T09:00:01Z"})),
        "words": ["it runs", "its forecast comes from 12 jobs that ran the same program, and is wide"],
        "expected_start_at": "2026-12-01T09:04:00Z", "expected_finish_at": "2026-12-01T09:18:00Z",
        "earliest_finish_at": "2026-12-01T09:14:00Z", "latest_finish_at": "2026-12-01T09:24:00Z", "probability": 0.61});
    state.on_news(TopNews::Explained(Box::new(read(explained))));
    insta::assert_snapshot!(
        "explanation_80x24",
        lines(&drawn(&mut state, (80, 24))).join("\n")
    );
    state.on_key(TopKey::Letter('l'));
    output(
        &mut state,
        &(1..=40).map(|n| format!("step {n}\n")).collect::<String>(),
    );
    insta::assert_snapshot!(
        "output_80x24",
        lines(&drawn(&mut state, (80, 24))).join("\n")
    );
    state.on_key(TopKey::Back);
    state.on_key(TopKey::Letter('?'));
    insta::assert_snapshot!("keys_80x24", lines(&drawn(&mut state, (80, 24))).join("\n"));
}

/// Hands the output of job 6 to the state.
fn output(state: &mut TopState, text: &str) {
    state.on_news(TopNews::Output {
        id: "6".to_owned(),
        output: ShownOutput {
            text: Some(text.to_owned()),
            note: "/home/alice/tollgate-6.out, 300 B".to_owned(),
        },
    });
}

#[test]
fn output_is_followed_at_its_end_and_stays_where_it_was_scrolled_to() {
    let mut state = usual_state();
    state.on_key(TopKey::Letter('l'));
    let text = |last: u32| {
        (1..=last)
            .map(|n| format!("step {n}\n"))
            .collect::<String>()
    };
    output(&mut state, &text(40));
    assert!(lines(&drawn(&mut state, (80, 24))).contains(&"step 40".to_owned()));
    output(&mut state, &text(41));
    assert!(lines(&drawn(&mut state, (80, 24))).contains(&"step 41".to_owned()));
    state.on_key(TopKey::PageUp);
    let before = lines(&drawn(&mut state, (80, 24)));
    output(&mut state, &text(60));
    assert_eq!(lines(&drawn(&mut state, (80, 24))), before);
    state.on_key(TopKey::Last);
    assert!(lines(&drawn(&mut state, (80, 24))).contains(&"step 60".to_owned()));
}

#[test]
fn small_terminals_show_the_list_or_the_least_size() {
    for width in 1..=130 {
        for height in [1, 5, 9, 10, 12, 16, 30] {
            let mut state = usual_state();
            let shown = lines(&drawn(&mut state, (width, height)));
            assert_eq!(shown.len(), usize::from(height));
            if width >= 40 && height >= 10 {
                assert!(
                    shown.iter().any(|line| line.contains("At risk")),
                    "{shown:?}"
                );
            } else if width > 10 {
                assert!(shown[0].starts_with("Too small"), "{shown:?}");
            }
        }
    }
}
