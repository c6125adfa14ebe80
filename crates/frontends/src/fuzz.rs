//! The entry point of a fuzz target.

use std::path::PathBuf;

use crate::words::split_words;
use crate::{FrontendError, QsubCall, QsubSubmission, SubmitPlace};

/// Makes the request of `qsub job.sh` with `data` as the script, in both styles. A first line that begins with `qsub `
/// has the words of the call. Returns false if its options are invalid in both.
///
/// # Panics
/// If an error names neither the call nor the script, or the request cannot be sent to a service.
pub fn scripts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let (words, text) = call(text);
    let understood = ["pbs", "sge"].map(|style| {
        let mut place = fixed_place();
        let style = style.to_owned();
        place.variables.insert("TOLLGATE_STYLE".to_owned(), style);
        match submit(&words, text, &place) {
            Ok(submission) => {
                check(&submission);
                assert_eq!(submit(&words, text, &place).ok(), Some(submission));
                true
            }
            Err(error) => {
                let error = error.to_string();
                let script = QsubCall::parse(&words, &place).ok();
                let script = script.as_ref().and_then(QsubCall::script);
                let script = script.map(|script| format!("{}:", script.name()));
                let places = [Some("qsub:"), Some("--"), script.as_deref()];
                let mut places = places.into_iter().flatten();
                assert!(places.any(|place| error.starts_with(place)), "{error}");
                false
            }
        }
    });
    understood.contains(&true)
}

/// Returns the words of the call and the text of its script.
fn call(text: &str) -> (Vec<String>, &str) {
    let (mut words, text) = match text.strip_prefix("qsub ") {
        Some(text) => {
            let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
            (split_words(line).unwrap_or_default(), rest)
        }
        None => (Vec::new(), text),
    };
    words.push("script".to_owned());
    (words, text)
}

fn submit(
    words: &[String],
    text: &str,
    place: &SubmitPlace,
) -> Result<QsubSubmission, FrontendError> {
    QsubCall::parse(words, place)?.submission(text, place)
}

fn check(submission: &QsubSubmission) {
    let request = &submission.request;
    assert!(request.procs > 0 && !request.command.is_empty());
    assert!(request.dir.starts_with('/'), "{}", request.dir);
    let has_script = request.script.is_some();
    assert_eq!(has_script, request.command[0].starts_with("./"));
    if let Some(output) = &request.output {
        assert!(output.starts_with('/'), "{output}");
    }
    assert!(submission.answer(7).contains('7'));
}

/// Returns a place that is the same on every host.
pub(crate) fn fixed_place() -> SubmitPlace {
    let variables = [
        ("HOME", "/home/mia"),
        ("LOGNAME", "mia"),
        ("PATH", "/usr/bin:/bin"),
        ("MODEL", "warm"),
        ("TOLLGATE_DATA", "/data"),
    ];
    let text = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    SubmitPlace {
        variables: variables.into_iter().map(text).collect(),
        dir: Ok(PathBuf::from("/home/mia/runs")),
        host: "login".to_owned(),
        umask: 0o022,
        user_id: 1000,
        group_id: 1000,
        now: "2026-11-21T15:30:00+00:00[UTC]"
            .parse()
            .expect("an instant"),
        is_dir: |_| false,
    }
}
