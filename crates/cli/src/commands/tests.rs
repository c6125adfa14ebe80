//! Rules of the help of all commands.

use super::*;

/// The maximum number of words in the first sentence about a command or an option.
const MAX_WORDS: usize = 12;

/// Words of the project's former dialect. Processes are not persons, and the field has words
/// for every action on a job.
const FORBIDDEN: [&str; 12] = [
    "who",
    "whom",
    "whoever",
    "somebody",
    "nobody",
    "anybody",
    "hand in",
    "hands in",
    "let in",
    "kept out",
    "so many",
    "take back",
];

/// Calls `check` with every command and its path of names, from `tollgate` on.
fn walk(command: &ClapCommand, path: &str, check: &mut impl FnMut(&str, &ClapCommand)) {
    check(path, command);
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" {
            walk(inner, &format!("{path} {}", inner.get_name()), check);
        }
    }
}

/// Returns the first sentence without remarks in brackets, such as defaults.
fn first_sentence(text: &str) -> String {
    let mut sentence = String::new();
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ if depth == 0 => sentence.push(letter),
            _ => {}
        }
    }
    let sentence = sentence.split(". ").next().unwrap_or_default();
    sentence.trim().to_owned()
}

#[test]
fn every_sentence_of_help_is_short() {
    let mut wrong = Vec::new();
    walk(&whole_command(), "tollgate", &mut |path, command| {
        let about = command.get_about().map(ToString::to_string);
        let helps = command.get_arguments().map(|arg| {
            let help = arg.get_help().map(ToString::to_string);
            (format!("{path} {}", arg.get_id()), help)
        });
        for (what, text) in helps.chain([(path.to_owned(), about)]) {
            let text = text.unwrap_or_default();
            let sentence = first_sentence(&text);
            let words = sentence.split_whitespace().count();
            if !(1..=MAX_WORDS).contains(&words) {
                wrong.push(format!("{what}: {words} words: {sentence}"));
            }
        }
    });
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn help_uses_standard_terms() {
    walk(&whole_command(), "tollgate", &mut |path, command| {
        let text = command
            .clone()
            .render_long_help()
            .to_string()
            .to_lowercase();
        let words: Vec<&str> = text
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let text = format!(" {} ", words.join(" "));
        for word in FORBIDDEN {
            assert!(
                !text.contains(&format!(" {word} ")),
                "{path} --help: `{word}`"
            );
        }
    });
}

#[test]
fn connection_options_come_last() {
    let mut n_clients = 0;
    walk(&whole_command(), "tollgate", &mut |path, command| {
        let is_client = command
            .get_arguments()
            .any(|arg| arg.get_id() == "token_file");
        if !is_client {
            return;
        }
        n_clients += 1;
        let help = command.clone().render_long_help().to_string();
        let is_heading = |line: &&str| !line.starts_with(' ') && line.ends_with(':');
        let last = help.lines().rfind(is_heading);
        assert_eq!(last, Some("Connection:"), "{path} --help");
        let (_, connection) = help.split_once("Connection:").unwrap_or_default();
        let options = connection.lines().map(str::trim_start);
        let options: Vec<&str> = options
            .filter(|line| line.starts_with("--"))
            .filter_map(|line| line.split(' ').next())
            .collect();
        let shared = ["--token-file", "--certificate", "--ca", "--fingerprint"];
        let (first, last) = match path {
            "tollgate worker" => (vec!["--connect"], vec![]),
            // A session of this host has a name.
            "tollgate session attach" => (vec!["--url"], vec![]),
            // The name is given to what has none yet.
            "tollgate cluster add" => (vec!["--data", "--url"], vec![]),
            _ => (vec!["--data", "--url"], vec!["--cluster", "--reconnect"]),
        };
        let expected = [first, shared.to_vec(), last].concat();
        assert_eq!(options, expected, "{path} --help");
    });
    assert!(n_clients > 10, "{n_clients} commands");
}

#[test]
fn quote_help_lists_no_option_for_running() {
    let program = whole_command();
    let quote = program.find_subcommand("quote").expect("it is a command");
    let help = quote.clone().render_long_help().to_string();
    for option in ["--array", "--after", "--hold", "--output"] {
        assert!(!help.contains(option), "{option}");
    }
    assert!(help.contains("--reserve"));
}

#[test]
fn worker_names_its_own_option_for_the_service() {
    let program = whole_command();
    let worker = program.find_subcommand("worker").expect("it is a command");
    let help = worker.clone().render_long_help().to_string();
    assert!(help.contains("With --connect https://"), "{help}");
    assert!(!help.contains("--url"), "{help}");
}
