//! Text of others never breaks the screen, and never reaches the terminal as it is.

use serde_json::json;
use tollgate_overview::output::ShownOutput;
use tollgate_top::painter::ScreenPainter;
use tollgate_top::state::{TopKey, TopNews};
use tollgate_top::view::{ScreenColours, whole_text};

use crate::answers::{answers, drawn, forecast, job, state_of};
use crate::painting::terminal;

/// Names that would clear the screen, set its title, write over lines, turn text around or take another width.
const NAMES: [&str; 9] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;title\u{7}",
    "a\r\nb\tc",
    "\u{9b}31mred",
    "\u{202e}gpj.exe\u{2066}\u{200f}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} 12",
    "\u{6587}\u{5b57}\u{6587}\u{5b57}\u{6587}\u{5b57}\u{6587}\u{5b57}\u{6587}\u{5b57}\u{6587}\u{5b57}\u{6587}",
    "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}algo",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f3f4}\u{e0067}\u{e007f} \u{2764}\u{fe0f}",
];

/// Returns what is painted without the sequences of the painter itself.
fn without_own_sequences(painted: &str) -> String {
    let mut rest = String::new();
    for (n, part) in painted.split('\u{1b}').enumerate() {
        let own = part.strip_prefix('[').and_then(|part| {
            let end = part.find(|letter: char| !(letter.is_ascii_digit() || letter == ';'))?;
            let (_, last) = part.split_at(end);
            last.strip_prefix(['m', 'H', 'J'])
        });
        match (n, own) {
            (0, _) => rest.push_str(part),
            (_, Some(own)) => rest.push_str(own),
            (_, None) => panic!("a sequence of another: {part:?}"),
        }
    }
    rest
}

#[test]
fn hostile_text_is_shown_and_not_obeyed() {
    for name in NAMES {
        let job = job(
            6,
            &json!({"state": "running", "name": name, "user": name, "host": name, "started_at": name,
                "deadline_at": name, "promised_at": "2026-12-01T09:00:00Z", "command": [name], "dir": name,
                "waits_for": {"key": "resources", "text": name}, "expected": forecast([4, 18, 14, 24], 0.61)}),
        );
        let mut given = answers(vec![job.clone()]);
        given.status.policy = name.to_owned();
        given.status.risks[0].cause = name.to_owned();
        given.nodes.resources[0].name = name.to_owned();
        let mut state = state_of(given);
        let mut painter = ScreenPainter::new(120, 30);
        let mut check = |state: &mut _, what: &str| {
            let cells = drawn(state, (120, 30));
            let text = without_own_sequences(&painter.paint(cells));
            let is_bad =
                |letter: char| letter.is_control() || "\u{202e}\u{2066}\u{200f}".contains(letter);
            assert!(!text.contains(is_bad), "{what} {name:?}: {text:?}");
        };
        check(&mut state, "list");
        state.on_news(TopNews::Away(name.to_owned()));
        check(&mut state, "away");
        state.on_key(TopKey::Enter);
        let explained = json!({"job": job, "words": [name]});
        let explained = serde_json::from_value(explained).expect("an explanation");
        state.on_news(TopNews::Explained(Box::new(explained)));
        check(&mut state, "explanation");
        state.on_key(TopKey::Letter('l'));
        state.on_news(TopNews::Output {
            id: "6".to_owned(),
            output: ShownOutput {
                text: Some(name.to_owned()),
                note: name.to_owned(),
            },
        });
        check(&mut state, "output");
        state.on_news(TopNews::Changed(Err(name.to_owned())));
        check(&mut state, "notice");
        let text = whole_text(&state, ScreenColours::None, 120);
        assert!(
            !text.contains(|letter: char| letter.is_control() && letter != '\n'),
            "{text:?}"
        );
    }
}

#[test]
fn columns_behind_a_hostile_name_stand_where_they_stand_in_other_rows() {
    for name in NAMES {
        let held = |id, name: &str| job(id, &json!({"state": "held", "name": name}));
        let jobs = vec![held(6, name), held(5, "usual")];
        let mut painter = ScreenPainter::new(100, 20);
        let cells = drawn(&mut state_of(answers(jobs)), (100, 20));
        let mut terminal = terminal(&cells);
        terminal.process(painter.paint(cells).as_bytes());
        let screen = terminal.screen();
        let letter = |row, x| screen.cell(row, x).map_or("", |cell| cell.contents());
        let held_at = |id: &str| {
            let row = (0..20).find(|row| letter(*row, 2) == id).expect("a row");
            let word = |x: u16| (0..4).map(|n| letter(row, x + n)).collect::<String>();
            (0..96).find(|x| word(*x) == "held")
        };
        assert!(held_at("5").is_some());
        assert_eq!(held_at("6"), held_at("5"), "{name:?}");
    }
}
