//! The `#SBATCH` lines of a script.

use super::error::SlurmError;
use super::getopt::{self, OptionsEnd, TypedOption};
use super::sbatch_options;

/// The tool whose options the lines have.
const TOOL: &str = "sbatch";

/// Parses the options in the script `text`, up to its first command.
///
/// # Errors
/// The first option that is unknown or lacks its value, or a word that is none.
pub(crate) fn parse(text: &str) -> Result<Vec<TypedOption>, SlurmError> {
    let mut all = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            continue;
        }
        if !line.starts_with('#') {
            break;
        }
        // `#SBATCHED` and `# SBATCH` are comments.
        let rest = line.strip_prefix("#SBATCH");
        let Some(rest) = rest.filter(|rest| rest.starts_with(char::is_whitespace)) else {
            continue;
        };
        all.extend(parse_line(rest)?);
    }
    Ok(all)
}

fn parse_line(rest: &str) -> Result<Vec<TypedOption>, SlurmError> {
    let words = split(rest);
    let rules = sbatch_options::rules();
    let parsed = getopt::parse(TOOL, &rules, &words, OptionsEnd::DoubleDash, 255)?;
    match parsed.operands.first() {
        None => Ok(parsed.options),
        Some(word) => {
            let message = format!("Invalid directive found in batch script: {word}");
            Err(SlurmError::usage(TOOL, message))
        }
    }
}

/// Splits a line at its blanks outside quotes. `#` at the start of a word begins a comment; a backslash keeps the
/// character behind it. A quote that is not closed ends with the line, as in Slurm.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('#', None) if word.is_none() => break,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => {
                let kept = letters.next();
                word.get_or_insert_default().extend(kept);
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (plain, _) => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<String, String> {
        let all = parse(text).map_err(|error| error.text)?;
        let all = all.iter().map(|one| format!("{}={}", one.name, one.text()));
        Ok(all.collect::<Vec<_>>().join(";"))
    }

    #[test]
    fn directives_end_at_the_first_command() {
        for text in [
            "#!/bin/bash\n#SBATCH -J a\n#SBATCH --time=1\necho\n#SBATCH -J b\n",
            "#!/bin/bash\n\n# SBATCH -J b\n##SBATCH -J b\n#SBATCHED\n#SBATCH -J a --time 1 # why\n",
            "#!/bin/bash\n#SBATCH\t-J 'a'\n#SBATCH --time=\"1\"\n",
        ] {
            assert_eq!(options(text).as_deref(), Ok("job-name=a;time=1"), "{text}");
        }
        let text = "#!/bin/sh\n#SBATCH --comment=\"two words # both\" --hold\n";
        assert_eq!(options(text).unwrap(), "comment=two words # both;hold=");
    }

    #[test]
    fn wrong_directives_are_named_as_slurm_does() {
        let wrong = options("#!/bin/sh\n#SBATCH -J x y\n").unwrap_err();
        let expected = "sbatch: error: Invalid directive found in batch script: y";
        assert_eq!(wrong, expected);
        let wrong = options("#!/bin/sh\n#SBATCH --foo\n").unwrap_err();
        assert!(wrong.starts_with("sbatch: unrecognized option '--foo'\n"));
    }
}
