//! Parses options in the notation of PBS and Grid Engine: one dash, a letter or a word, and
//! possibly values.

use crate::error::FrontendError;

/// The options of `qsub` without a value.
const BARE: &[&str] = &[
    "V", "h", "I", "X", "z", "x", "f", "clear", "cwd", "hard", "soft", "notify", "terse", "verbose",
];
/// The options of `qsub` with one value.
const VALUED: &[&str] = &[
    "a",
    "A",
    "ac",
    "b",
    "binding",
    "c",
    "C",
    "ckpt",
    "d",
    "D",
    "dc",
    "display",
    "dl",
    "e",
    "F",
    "hold_jid",
    "hold_jid_ad",
    "i",
    "j",
    "J",
    "js",
    "k",
    "l",
    "m",
    "M",
    "masterq",
    "N",
    "now",
    "o",
    "p",
    "P",
    "q",
    "r",
    "R",
    "S",
    "shell",
    "sync",
    "t",
    "tc",
    "u",
    "v",
    "w",
    "W",
    "wd",
];
/// The option of `qsub` with two values.
const PARALLEL: &str = "pe";

/// Returns the name of every option of `qsub`.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let valued = BARE.iter().chain(VALUED).copied();
    valued.chain([PARALLEL])
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParsedOption {
    /// The place of the option: `qsub`, or a file and its line.
    pub(crate) source: String,
    /// The name of the option, without the dash.
    pub(crate) name: String,
    /// The values of the option, joined by blanks.
    pub(crate) value: String,
}

impl ParsedOption {
    /// Returns the option as it was written.
    pub(crate) fn option(&self) -> String {
        format!("-{}", self.name)
    }

    /// Reports that the value is invalid.
    pub(crate) fn invalid_value(&self, message: impl Into<String>) -> FrontendError {
        FrontendError::Value {
            place: self.source.clone(),
            option: self.option(),
            message: message.into(),
        }
    }

    /// Reports that the option cannot be honoured.
    pub(crate) fn unsupported(&self, message: &'static str) -> FrontendError {
        FrontendError::UnsupportedOption {
            place: self.source.clone(),
            option: self.option(),
            message,
        }
    }
}

/// Parses the options at the start of the arguments. Returns the options and the remaining
/// arguments.
///
/// # Errors
/// The first option that is unknown or lacks its value.
pub(crate) fn parse<'a>(
    place: &str,
    words: &'a [String],
) -> Result<(Vec<ParsedOption>, &'a [String]), FrontendError> {
    let mut given = Vec::new();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
            break;
        };
        if name == "-" {
            return Ok((given, behind));
        }
        let (option, values, behind) = parse_one(place, name, behind)?;
        given.push(ParsedOption {
            source: place.to_owned(),
            name: option.to_owned(),
            value: values.join(" "),
        });
        rest = behind;
    }
    Ok((given, rest))
}

/// Parses one option. Returns its name, its values and the remaining arguments. The value of a
/// letter may follow directly, as in `-joe` for `-j oe`.
fn parse_one<'a>(
    place: &str,
    name: &'a str,
    behind: &'a [String],
) -> Result<(&'a str, Vec<&'a str>, &'a [String]), FrontendError> {
    let count = match name {
        name if BARE.contains(&name) => 0,
        name if VALUED.contains(&name) => 1,
        PARALLEL => 2,
        _ => {
            let (letter, value) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
            if VALUED.contains(&letter) {
                // Workflow systems write `-l=walltime=..`; no resource begins with `=`.
                let value = match letter {
                    "l" => value.strip_prefix('=').unwrap_or(value),
                    _ => value,
                };
                return Ok((letter, vec![value], behind));
            }
            return Err(FrontendError::Unknown {
                place: place.to_owned(),
                option: format!("-{name}"),
            });
        }
    };
    let Some((values, behind)) = behind.split_at_checked(count) else {
        return Err(FrontendError::NoValue {
            place: place.to_owned(),
            option: format!("-{name}"),
        });
    };
    Ok((name, values.iter().map(String::as_str).collect(), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &str) -> Result<(String, String), String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let (given, rest) = parse("qsub", &words).map_err(|error| error.to_string())?;
        let given = given
            .iter()
            .map(|one| format!("{}={}", one.name, one.value));
        Ok((given.collect::<Vec<_>>().join(";"), rest.join(" ")))
    }

    #[test]
    fn options_end_at_the_script_name() {
        let read = |words| split(words).unwrap();
        let parts = |options: &str, rest: &str| (options.to_owned(), rest.to_owned());
        assert_eq!(read("-terse job.sh -N x"), parts("terse=", "job.sh -N x"));
        assert_eq!(read("-N a -joe -- -x"), parts("N=a;j=oe", "-x"));
        assert_eq!(read("-pe smp 4 job.sh"), parts("pe=smp 4", "job.sh"));
        assert_eq!(read("-l=nodes=1 x"), parts("l=nodes=1", "x"));
        assert_eq!(read("-"), parts("", "-"));
    }

    #[test]
    fn unknown_option_is_named() {
        assert_eq!(split("-zork").unwrap_err(), "qsub: unknown option `-zork`");
        assert_eq!(split("-pe smp").unwrap_err(), "qsub: -pe: expected a value");
        assert_eq!(split("-l").unwrap_err(), "qsub: -l: expected a value");
    }
}
