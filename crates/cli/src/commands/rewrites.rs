//! Command lines that mean another one.

use std::ffi::OsString;

use clap::Command;

/// Turns `replay --world campus` into `campus`, the name of that command since it has flags of its own.
pub(super) fn with_campus_command(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|command| command != "replay") {
        return words;
    }
    let separate = words
        .windows(2)
        .position(|pair| pair[0] == "--world" && pair[1] == "campus");
    let joined = || words.iter().position(|word| word == "--world=campus");
    let world = match separate {
        Some(at) => at..at + 2,
        None => match joined() {
            Some(at) => at..at + 1,
            None => return words,
        },
    };
    words.drain(world);
    words[1] = "campus".into();
    words
}

/// Removes `--help` after the command `help`, which prints the same text without the option.
pub(super) fn without_help_of_help(
    mut words: Vec<OsString>,
    whole_command: fn() -> Command,
) -> Vec<OsString> {
    if !words.iter().any(|word| word == "help") {
        return words;
    }
    let program = whole_command();
    let mut command = Some(&program);
    let is_help =
        |word: Option<&OsString>| word.is_some_and(|word| word == "--help" || word == "-h");
    for at in 1..words.len() {
        if words[at] == "help" && is_help(words.get(at + 1)) {
            words.remove(at + 1);
            break;
        }
        command = command.and_then(|command| command.find_subcommand(&words[at]));
        if command.is_none() {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::whole_command;

    #[test]
    fn replay_in_the_world_campus_is_the_command_campus() {
        let read = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            with_campus_command(words).join(" ".as_ref()).into_string()
        };
        let campus = Ok("tollgate campus --seed 3".to_owned());
        assert_eq!(
            read(&["tollgate", "replay", "--world", "campus", "--seed", "3"]),
            campus
        );
        assert_eq!(
            read(&["tollgate", "replay", "--seed", "3", "--world=campus"]),
            campus
        );
        let policies = ["tollgate", "policies", "--world", "campus"];
        assert_eq!(read(&policies), Ok(policies.join(" ")));
    }

    #[test]
    fn help_of_help_is_help() {
        let read = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            without_help_of_help(words, whole_command)
                .join(" ".as_ref())
                .into_string()
        };
        assert_eq!(
            read(&["tollgate", "help", "--help"]),
            Ok("tollgate help".to_owned())
        );
        assert_eq!(
            read(&["tollgate", "study", "help", "-h"]),
            Ok("tollgate study help".to_owned())
        );
        let logs = ["tollgate", "submit", "--", "help", "--help"];
        assert_eq!(read(&logs), Ok(logs.join(" ")));
    }
}
