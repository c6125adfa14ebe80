//! Names of output files with placeholders, in Slurm's letters.
//!
//! | placeholder | stands for | known |
//! |---|---|---|
//! | `%x`, `%u` | the name of the job and of its user | at the submission |
//! | `%j`, `%A` | the number of the job | at the start |
//! | `%a` | the number of the task in its array; 0 for another job | at the start |
//! | `%r` | the number of times that the job was restarted, from 0 | at the start |
//! | `%N` | the host on which the program runs, without its domain | at the start |
//! | `%%` | a percent sign | at the start |
//!
//! A number between the percent sign and a letter pads a number with zeros, as in `%4a`.

/// Maximum number of digits to which a number is padded.
const MAX_PADDING: usize = 10;

/// The values of the placeholders of a name once an attempt starts. A placeholder without a value stays as it
/// is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AttemptFacts<'a> {
    /// The number of the job.
    pub(crate) job: u64,
    /// The number of the task in its array.
    pub(crate) task: Option<u32>,
    /// The number of restarts.
    pub(crate) restarts: Option<u32>,
    /// The name of the host.
    pub(crate) host: Option<&'a str>,
}

/// Returns the name of the file of an attempt.
pub(crate) fn of_attempt(name: &str, facts: &AttemptFacts<'_>) -> String {
    replace(name, |letter, width| {
        let padded = |number: u64| format!("{number:0width$}");
        match letter {
            'j' | 'A' => Some(padded(facts.job)),
            'a' => facts.task.map(|task| padded(task.into())),
            'r' => facts.restarts.map(|restarts| padded(restarts.into())),
            'N' => {
                let short = facts.host?.split('.').next().unwrap_or_default();
                Some(as_file_name(short))
            }
            '%' => Some("%".to_owned()),
            _ => None,
        }
    })
}

/// Returns the name with the names of the job and its user in it.
pub(crate) fn of_submission(name: &str, job: &str, user: &str) -> String {
    let literal = |text: &str| Some(as_file_name(text).replace('%', "%%"));
    replace(name, |letter, _| match letter {
        'x' => literal(job),
        'u' => literal(user),
        // A percent sign that stands for itself stays one.
        '%' => Some("%%".to_owned()),
        _ => None,
    })
}

/// Returns whether the name has a placeholder that [`of_submission`] replaces.
pub(crate) fn names_submission(name: &str) -> bool {
    of_submission(name, "", "") != name
}

/// Returns whether the tasks of an array have different files.
pub(crate) fn has_a_file_per_task(name: &str) -> bool {
    let of = |task| AttemptFacts {
        task: Some(task),
        ..AttemptFacts::default()
    };
    of_attempt(name, &of(1)) != of_attempt(name, &of(2))
}

/// Replaces each placeholder for which `value` returns a text, given its letter and its width.
fn replace(name: &str, value: impl Fn(char, usize) -> Option<String>) -> String {
    let mut replaced = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('%') {
        replaced.push_str(before);
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let width = behind[..digits].parse().unwrap_or(0).min(MAX_PADDING);
        let letter = behind[digits..].chars().next();
        match letter.and_then(|letter| Some((letter, value(letter, width)?))) {
            Some((letter, text)) => {
                replaced.push_str(&text);
                rest = &behind[digits + letter.len_utf8()..];
            }
            None => {
                replaced.push('%');
                let kept = digits + letter.map_or(0, char::len_utf8);
                replaced.push_str(&behind[..kept]);
                rest = &behind[kept..];
            }
        }
    }
    replaced + rest
}

/// Returns a text as one part of a path.
fn as_file_name(text: &str) -> String {
    text.replace(['/', '\0'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: AttemptFacts<'static> = AttemptFacts {
        job: 12,
        task: Some(7),
        restarts: Some(1),
        host: Some("n1.example.org"),
    };

    #[test]
    fn placeholders_of_an_attempt_are_replaced() {
        for (name, expected) in [
            ("out-%j-%a", "out-12-7"),
            ("%A_%4a.%r", "12_0007.1"),
            ("%N/%99j", "n1/0000000012"),
            ("100%%j", "100%j"),
            ("%q %5 %", "%q %5 %"),
            ("%é%j", "%é12"),
        ] {
            assert_eq!(of_attempt(name, &FACTS), expected, "{name}");
        }
        let unknown = AttemptFacts {
            job: 12,
            ..AttemptFacts::default()
        };
        assert_eq!(of_attempt("%j.%a.%r.%N", &unknown), "12.%a.%r.%N");
    }

    #[test]
    fn names_are_one_part_of_a_path_and_no_placeholders() {
        let name = of_submission("%u/%x.%j%%x", "a/%j", "ann");
        assert_eq!(name, "ann/a_%%j.%j%%x");
        assert_eq!(of_attempt(&name, &FACTS), "ann/a_%j.12%x");
        assert!(names_submission("%x") && !names_submission("%%x.%j"));
    }

    #[test]
    fn only_the_number_of_the_task_gives_a_file_per_task() {
        for name in ["%a", "out/%3a"] {
            assert!(has_a_file_per_task(name), "{name}");
        }
        for name in ["%%a", "%j", "out"] {
            assert!(!has_a_file_per_task(name), "{name}");
        }
    }
}
