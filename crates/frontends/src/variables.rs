//! Environment variables as `-v` names them.

use crate::error::FrontendError;
use crate::options::ParsedOption;
use crate::place::SubmitPlace;

/// Returns the variables in the value of `-v`, each as `NAME=VALUE`. A name alone takes the value of the
/// caller's environment.
///
/// # Errors
/// If a name is empty, or a variable has no value in UTF-8 here.
pub(crate) fn parse(
    given: &ParsedOption,
    place: &SubmitPlace,
) -> Result<Vec<String>, FrontendError> {
    let parse_one = |item: String| match item.split_once('=') {
        Some(("", _)) => {
            let message = format!("expected the name of a variable, got `{item}`");
            Err(given.invalid_value(message))
        }
        Some(_) => Ok(item),
        None => match place.variable(&item) {
            Some(value) => Ok(format!("{item}={value}")),
            None => {
                let message = format!("there is no variable `{item}` to pass to the job");
                Err(given.invalid_value(message))
            }
        },
    };
    split_list(&given.value)
        .into_iter()
        .map(parse_one)
        .collect()
}

/// Splits a list such as `A=1,B,C='x,y',D=x\,y` at its commas, but not within quotes and not behind a
/// backslash. A backslash before another character stays.
pub(crate) fn split_list(value: &str) -> Vec<String> {
    let (mut items, mut item, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None) => {
                let escaped = letters.next_if(|next| [',', '\\', '"', '\''].contains(next));
                item.push(escaped.unwrap_or(letter));
            }
            (',', None) => items.push(std::mem::take(&mut item)),
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            _ => item.push(letter),
        }
    }
    items.push(item);
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    #[test]
    fn variables_are_split_at_commas_but_not_within_quotes() {
        assert_eq!(split_list("A=1,B,C='x,y',"), ["A=1", "B", "C=x,y"]);
    }

    #[test]
    fn backslash_keeps_the_comma_behind_it() {
        assert_eq!(split_list(r"CM=x\,y,B=1"), ["CM=x,y", "B=1"]);
        assert_eq!(
            split_list(r#"A=\\,B=\"q\",C=a\tb\"#),
            [r"A=\", r#"B="q""#, r"C=a\tb\"]
        );
    }

    #[test]
    fn fault_names_the_option_and_its_place() {
        let fault = |value: &str| {
            let given = ParsedOption {
                source: "job.sh:2".to_owned(),
                name: "v".to_owned(),
                value: value.to_owned(),
            };
            parse(&given, &fixed_place()).unwrap_err().to_string()
        };
        assert_eq!(
            fault("no variable has this name"),
            "job.sh:2: -v: there is no variable `no variable has this name` to pass to the job"
        );
        assert_eq!(
            fault("=x"),
            "job.sh:2: -v: expected the name of a variable, got `=x`"
        );
    }
}
