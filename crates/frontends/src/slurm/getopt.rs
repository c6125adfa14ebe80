//! Options as GNU getopt takes them: `--long=value`, `--long value`, `-s value`, `-svalue`, `-abc`, and the
//! beginning of a long name that no other has.

use super::error::SlurmError;

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// None.
    Bare,
    /// Always.
    Required,
    /// Only behind an equals sign.
    Optional,
}

/// An option of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionRule {
    /// The long name, which stands for the option everywhere.
    pub name: &'static str,
    /// The letter; None without one.
    pub letter: Option<char>,
    /// Whether it has a value.
    pub value: OptionValue,
}

/// An option as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedOption {
    /// The long name.
    pub name: &'static str,
    /// The value; None without one.
    pub value: Option<String>,
}

impl TypedOption {
    /// Returns the value. Empty without one.
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// Where options end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsEnd {
    /// At the first word that is none, as for commands whose operand has options of its own.
    FirstOperand,
    /// At `--` only.
    DoubleDash,
}

/// The words of a command: its options, and what else stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedWords {
    /// The options, in the order of the words.
    pub options: Vec<TypedOption>,
    /// The other words.
    pub operands: Vec<String>,
}

/// Returns the rule of an option: its long name, its letter if it has one, and whether it has a value.
pub const fn rule(name: &'static str, letter: Option<char>, value: OptionValue) -> OptionRule {
    OptionRule {
        name,
        letter,
        value,
    }
}

/// Parses the words of the command `tool`, whose errors have the exit code `code`.
///
/// # Errors
/// The first option that is unknown, or lacks its value.
pub fn parse(
    tool: &str,
    rules: &[OptionRule],
    words: &[String],
    end: OptionsEnd,
    code: u8,
) -> Result<ParsedWords, SlurmError> {
    let mut parsed = ParsedWords::default();
    let mut rest = words.iter();
    let wrong = |message: String| {
        let text = format!("{tool}: {message}\nTry \"{tool} --help\" for more information");
        SlurmError::new(text, code)
    };
    while let Some(word) = rest.next() {
        if word == "--" {
            parsed.operands.extend(rest.cloned());
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let found = find_long(rules, name).map_err(|problem| {
                wrong(match problem {
                    LongNameProblem::Unknown => format!("unrecognized option '--{name}'"),
                    LongNameProblem::Ambiguous => format!("option '--{name}' is ambiguous"),
                })
            })?;
            let value = match (found.value, value) {
                (OptionValue::Bare, Some(_)) => {
                    let name = found.name;
                    return Err(wrong(format!(
                        "option '--{name}' doesn't allow an argument"
                    )));
                }
                (OptionValue::Required, None) => {
                    let next = rest.next().cloned();
                    let name = found.name;
                    let lacks = || wrong(format!("option '--{name}' requires an argument"));
                    Some(next.ok_or_else(lacks)?)
                }
                (_, value) => value,
            };
            let name = found.name;
            parsed.options.push(TypedOption { name, value });
        } else if let Some(letters) = word.strip_prefix('-').filter(|word| !word.is_empty()) {
            parse_letters(rules, letters, &mut rest, &mut parsed.options).map_err(wrong)?;
        } else if end == OptionsEnd::FirstOperand {
            parsed.operands.push(word.clone());
            parsed.operands.extend(rest.cloned());
            break;
        } else {
            parsed.operands.push(word.clone());
        }
    }
    Ok(parsed)
}

/// Parses `abc` of `-abc`: options without values, and the last perhaps with one. Returns the message about the
/// first that is wrong.
fn parse_letters<'a>(
    rules: &[OptionRule],
    letters: &str,
    rest: &mut impl Iterator<Item = &'a String>,
    options: &mut Vec<TypedOption>,
) -> Result<(), String> {
    for (at, letter) in letters.char_indices() {
        let found = rules.iter().find(|rule| rule.letter == Some(letter));
        let found = found.ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        let behind = &letters[at + letter.len_utf8()..];
        let value = match found.value {
            OptionValue::Bare => {
                options.push(TypedOption {
                    name: found.name,
                    value: None,
                });
                continue;
            }
            OptionValue::Optional if behind.is_empty() => None,
            OptionValue::Required if behind.is_empty() => Some(
                rest.next()
                    .cloned()
                    .ok_or_else(|| format!("option requires an argument -- '{letter}'"))?,
            ),
            OptionValue::Optional | OptionValue::Required => Some(behind.to_owned()),
        };
        options.push(TypedOption {
            name: found.name,
            value,
        });
        break;
    }
    Ok(())
}

enum LongNameProblem {
    Unknown,
    Ambiguous,
}

fn find_long<'a>(rules: &'a [OptionRule], name: &str) -> Result<&'a OptionRule, LongNameProblem> {
    if let Some(exact) = rules.iter().find(|rule| rule.name == name) {
        return Ok(exact);
    }
    let mut similar = rules.iter().filter(|rule| rule.name.starts_with(name));
    match (similar.next(), similar.next()) {
        (Some(only), None) if !name.is_empty() => Ok(only),
        (Some(_), Some(_)) if !name.is_empty() => Err(LongNameProblem::Ambiguous),
        (_, _) => Err(LongNameProblem::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [OptionRule; 4] = [
        rule("array", Some('a'), OptionValue::Required),
        rule("hold", Some('H'), OptionValue::Bare),
        rule("wait", Some('W'), OptionValue::Bare),
        rule("exclusive", None, OptionValue::Optional),
    ];

    fn parsed(words: &str) -> Result<String, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let parsed = parse("sbatch", &RULES, &words, OptionsEnd::FirstOperand, 255);
        let parsed = parsed.map_err(|error| error.text)?;
        let options = parsed.options.iter();
        let options = options.map(|one| format!("{}={:?}", one.name, one.value));
        let operands = parsed.operands.iter().map(|word| format!("[{word}]"));
        Ok(options.chain(operands).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_are_typed_in_every_form() {
        for words in [
            "--array=1-2 -H",
            "--array 1-2 -H",
            "-a1-2 --hold",
            "-Ha 1-2",
            "--arr 1-2 --ho",
        ] {
            let expected = "array=Some(\"1-2\") hold=None";
            let read = parsed(words).unwrap();
            let read: std::collections::BTreeSet<&str> = read.split(' ').collect();
            assert_eq!(read, expected.split(' ').collect(), "{words}");
        }
        assert_eq!(parsed("--exclusive").unwrap(), "exclusive=None");
        assert_eq!(
            parsed("--exclusive=user").unwrap(),
            "exclusive=Some(\"user\")"
        );
        assert_eq!(parsed("-H job.sh -H").unwrap(), "hold=None [job.sh] [-H]");
    }

    #[test]
    fn unknown_options_are_named_as_getopt_does() {
        for (words, expected) in [
            ("--foo", "sbatch: unrecognized option '--foo'"),
            ("--foo=1", "sbatch: unrecognized option '--foo'"),
            ("-Z", "sbatch: invalid option -- 'Z'"),
            ("-a", "sbatch: option requires an argument -- 'a'"),
            ("--array", "sbatch: option '--array' requires an argument"),
            (
                "--hold=1",
                "sbatch: option '--hold' doesn't allow an argument",
            ),
        ] {
            let error = parsed(words).unwrap_err();
            let (first, second) = error.split_once('\n').unwrap();
            assert_eq!(first, expected);
            assert_eq!(second, "Try \"sbatch --help\" for more information");
        }
    }
}
