//! The option `--signal`: a signal before the time limit.

use tollgate_client::types::JobSignal;
use tollgate_model::WarningSignal;

use crate::parse::parse_span;

/// The time before the limit if none is typed, as in Slurm.
const DEFAULT_BEFORE_S: f64 = 60.0;

/// Parses `USR1@60s`, or `USR1` for a minute before the limit.
pub(crate) fn parse_signal(words: &str) -> Result<JobSignal, String> {
    let (name, before) = words.split_once('@').unwrap_or((words, ""));
    let signal: WarningSignal = name
        .parse()
        .map_err(|error| format!("{error}, as in USR1@60s"))?;
    let before_s = match before {
        "" => DEFAULT_BEFORE_S,
        span => parse_span(span)?,
    };
    Ok(JobSignal {
        name: signal.key().to_owned(),
        before_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_has_a_name_and_a_span_of_a_minute_by_default() {
        let read = |words| parse_signal(words).map(|signal| (signal.name, signal.before_s));
        assert_eq!(read("USR1@60s"), Ok(("USR1".to_owned(), 60.0)));
        assert_eq!(read("SIGTERM@2m"), Ok(("TERM".to_owned(), 120.0)));
        assert_eq!(read("usr2@90"), Ok(("USR2".to_owned(), 90.0)));
        assert_eq!(read("INT"), Ok(("INT".to_owned(), 60.0)));
        for wrong in ["KILL@60s", "@60s", "USR1@soon"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
