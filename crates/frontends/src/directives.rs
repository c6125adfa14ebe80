//! The options in a script: `#PBS` lines up to its first command, or `#$` lines anywhere.

use crate::error::FrontendError;
use crate::options::{self, ParsedOption};
use crate::tool::FrontendDialect;
use crate::words;

/// Parses the options in the script `text`; `name` names the script in messages.
///
/// # Errors
/// The first option that is unknown or lacks its value.
pub(crate) fn parse(
    name: &str,
    text: &str,
    style: FrontendDialect,
) -> Result<Vec<ParsedOption>, FrontendError> {
    let mark = match style {
        FrontendDialect::Pbs => "#PBS",
        FrontendDialect::GridEngine => "#$",
    };
    let mut all = Vec::new();
    let mut lines = text.lines().zip(1_usize..);
    while let Some((line, number)) = lines.next() {
        if style == FrontendDialect::Pbs && is_command(line) {
            break;
        }
        let Some(rest) = options_of(line, mark, style) else {
            continue;
        };
        let mut words = rest.to_owned();
        while style == FrontendDialect::Pbs && words.trim_end().ends_with('\\') {
            words.truncate(words.trim_end().len() - 1);
            let (next, _) = lines.next().unwrap_or_default();
            words.push(' ');
            words.push_str(options_of(next, mark, style).unwrap_or(next));
        }
        all.extend(parse_line(&format!("{name}:{number}"), mark, &words)?);
    }
    Ok(all)
}

/// Returns whether PBS stops reading options at a line: neither blank nor a comment.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with(['#', ':'])
}

/// Returns the text behind the mark of a line with options. Blanks may stand before the mark of PBS, and
/// the first option may follow a mark at once. `#$variable` in a comment is not an option.
fn options_of<'a>(line: &'a str, mark: &str, style: FrontendDialect) -> Option<&'a str> {
    let line = match style {
        FrontendDialect::Pbs => line.trim_start(),
        FrontendDialect::GridEngine => line,
    };
    let rest = line.strip_prefix(mark)?;
    let is_option =
        |rest: &str| rest.starts_with(|first: char| first.is_whitespace() || first == '-');
    is_option(rest).then_some(rest)
}

fn parse_line(place: &str, mark: &str, rest: &str) -> Result<Vec<ParsedOption>, FrontendError> {
    let words = words::split_list_words(rest).ok_or_else(|| FrontendError::Value {
        place: place.to_owned(),
        option: mark.to_owned(),
        message: "a quote is not closed".to_owned(),
    })?;
    let (given, rest) = options::parse(place, &words)?;
    match rest.first() {
        None => Ok(given),
        Some(word) => Err(FrontendError::Value {
            place: place.to_owned(),
            option: mark.to_owned(),
            message: format!("expected options, got `{word}`"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str, style: FrontendDialect) -> String {
        let all = parse("job", text, style).unwrap();
        let all = all.iter().map(|one| format!("{}={}", one.name, one.value));
        all.collect::<Vec<_>>().join(";")
    }

    #[test]
    fn options_of_pbs_end_at_the_first_command_only() {
        for text in [
            "#!/bin/sh\n#PBS -N a\n#PBS -j oe\ntrue\n#PBS -N b\n",
            "#!/bin/sh\n   # a comment\n\n#PBS -N a\n  #PBS -j oe\ntrue\n",
            "#PBS-N a\n#PBS\t-joe\ntrue\n",
            "#PBS -N a \\\n -j oe\ntrue\n",
            "#PBS -N \\\n#PBS a -j \\  \noe\ntrue\n",
            ": a label\n#PBS -N a\n#PBSX -N b\n#PBS -j oe",
        ] {
            assert_eq!(options(text, FrontendDialect::Pbs), "N=a;j=oe", "{text}");
        }
    }

    #[test]
    fn options_of_grid_engine_may_stand_anywhere() {
        let text = "#!/bin/sh\n#$ -N a\ntrue\n#$-j y\n#$HOME is a variable\n  #$ -N indented\n";
        assert_eq!(options(text, FrontendDialect::GridEngine), "N=a;j=y");
    }
}
