//! The effects of keys.

use tollgate_overview::actions::JobStateChange;
use tollgate_top::state::{TopKey, TopNews, TopRequest, TopState};

use crate::answers::{answers, drawn, jobs, lines, usual_state};

/// Returns the line of the selected job.
fn selected(state: &mut TopState) -> String {
    let shown = lines(&drawn(state, (80, 24)));
    let mut marked = shown.into_iter().filter(|line| line.starts_with("> "));
    let line = marked.next().expect("a selected job");
    assert_eq!(marked.next(), None);
    line
}

fn foot(state: &mut TopState) -> String {
    lines(&drawn(state, (80, 24))).pop().expect("a line")
}

#[test]
fn promise_at_risk_is_selected_first_and_keys_move() {
    let mut state = usual_state();
    assert!(selected(&mut state).starts_with("> 6 "));
    state.on_key(TopKey::Down);
    assert!(selected(&mut state).starts_with("> 5 "));
    state.on_key(TopKey::Letter('j'));
    assert!(selected(&mut state).starts_with("> 7 "));
    state.on_key(TopKey::Last);
    assert!(selected(&mut state).starts_with("> 12 "));
    state.on_key(TopKey::Down);
    assert!(selected(&mut state).starts_with("> 12 "));
    state.on_key(TopKey::First);
    state.on_key(TopKey::Up);
    assert!(selected(&mut state).starts_with("> 6 "));
}

#[test]
fn selection_stays_on_its_job_until_that_is_over() {
    let mut state = usual_state();
    state.on_key(TopKey::Down);
    let mut others = jobs();
    others.retain(|job| job.id != 6);
    state.on_news(TopNews::Answers(Box::new(answers(others.clone()))));
    assert!(selected(&mut state).starts_with("> 5 "));
    others.retain(|job| job.id != 5);
    state.on_news(TopNews::Answers(Box::new(answers(others))));
    assert!(selected(&mut state).starts_with("> 7 "));
}

#[test]
fn change_needs_one_confirmation_and_names_the_job() {
    let mut state = usual_state();
    assert_eq!(state.on_key(TopKey::Letter('c')), None);
    assert!(foot(&mut state).starts_with("Cancel job 6? Its work so far is lost. y: yes"));
    let mut others = jobs();
    others.retain(|job| job.id != 6);
    state.on_news(TopNews::Answers(Box::new(answers(others))));
    let change = TopRequest::Change {
        id: "6".to_owned(),
        change: JobStateChange::Cancel,
    };
    // The list moved on meanwhile; the question is still about job 6.
    assert_eq!(state.on_key(TopKey::Letter('y')), Some(change));
    state.on_news(TopNews::Changed(Err("Job 6: is over already".to_owned())));
    assert_eq!(foot(&mut state), "Job 6: is over already");
    assert_eq!(state.on_key(TopKey::Letter('y')), None);
}

#[test]
fn any_other_key_changes_nothing() {
    for key in [
        TopKey::Enter,
        TopKey::Back,
        TopKey::Letter('n'),
        TopKey::Down,
    ] {
        let mut state = usual_state();
        state.on_key(TopKey::Letter('c'));
        assert_eq!(state.on_key(key), None);
        assert_eq!(foot(&mut state), "Nothing was changed.");
        assert!(selected(&mut state).starts_with("> 6 "));
    }
}

#[test]
fn held_job_is_released_and_a_queued_one_held() {
    let mut state = usual_state();
    state.on_key(TopKey::Letter('r'));
    assert_eq!(foot(&mut state), "Job 6 is running: it cannot be released.");
    for (key, id, change) in [
        ('h', "> 7 ", JobStateChange::Hold),
        ('r', "> 11 ", JobStateChange::Release),
    ] {
        while !selected(&mut state).starts_with(id) {
            state.on_key(TopKey::Down);
        }
        state.on_key(TopKey::Letter(key));
        let request = state.on_key(TopKey::Letter('y'));
        let id = id.trim_matches(['>', ' ']).to_owned();
        assert_eq!(request, Some(TopRequest::Change { id, change }));
    }
}

#[test]
fn jobs_of_one_user_are_requested_and_late_answers_dropped() {
    let mut state = usual_state();
    assert_eq!(state.on_key(TopKey::Letter('m')), Some(TopRequest::Refresh));
    assert_eq!(state.user(), Some("alice"));
    state.on_news(TopNews::Answers(Box::new(answers(Vec::new()))));
    assert!(selected(&mut state).starts_with("> 6 "));
    let mut own = answers(Vec::new());
    own.user = Some("alice".to_owned());
    state.on_news(TopNews::Answers(Box::new(own)));
    let shown = lines(&drawn(&mut state, (80, 24)));
    assert!(
        shown.contains(&"No job of alice runs or waits.".to_owned()),
        "{shown:?}"
    );
    state.on_key(TopKey::Letter('c'));
    assert_eq!(foot(&mut state), "No job is selected.");
    state.on_key(TopKey::Letter('m'));
    assert_eq!(state.user(), None);
}

#[test]
fn panes_request_their_job_and_close() {
    let mut state = usual_state();
    assert_eq!(state.on_key(TopKey::Enter), Some(TopRequest::Refresh));
    assert_eq!(
        (state.explained_job(), state.output_job()),
        (Some("6"), None)
    );
    state.on_key(TopKey::Letter('l'));
    assert_eq!(
        (state.explained_job(), state.output_job()),
        (None, Some("6"))
    );
    assert_eq!(state.on_key(TopKey::Letter('q')), None);
    assert_eq!((state.explained_job(), state.output_job()), (None, None));
    assert_eq!(state.on_key(TopKey::Letter('q')), Some(TopRequest::Quit));
    state.on_key(TopKey::Letter('c'));
    assert_eq!(state.on_key(TopKey::Interrupt), Some(TopRequest::Quit));
}
