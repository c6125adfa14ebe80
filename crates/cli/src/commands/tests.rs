//! Rules of the help of all commands.

use std::fs;
use std::path::Path;

use super::internal::INTERNAL_PROCESSES;
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

/// Returns the command lines of the program that stand between grave accents in a text.
fn named_commands(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter_map(|words| words.strip_prefix("tollgate "))
}

/// Returns what is wrong with a command line, in which words in capitals or braces stand for others.
fn fault_of(program: &ClapCommand, line: &str) -> Option<String> {
    let is_internal = |word: &str| INTERNAL_PROCESSES.iter().any(|process| process.arg == word);
    let (own, _) = line.split_once(" -- ").unwrap_or((line, ""));
    let mut command = program;
    for word in own.split(' ') {
        let name = word.trim_start_matches('-');
        match word.len() - name.len() {
            0 if command.find_subcommand(word).is_some() => {
                command = command.find_subcommand(word)?;
            }
            0 if command.is_subcommand_required_set() => {
                let is_other = word.starts_with(['{', '.']) || is_internal(word);
                return (!is_other).then(|| format!("no command `{word}`"));
            }
            2 if !name.is_empty() => {
                let mut options = command.get_arguments();
                let is_known = options.any(|option| option.get_long() == Some(name));
                if !is_known {
                    return Some(format!("no option `{word}`"));
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn commands_in_messages_and_comments_exist() {
    let program = whole_command();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let mut folders = vec![crates.expect("the folder of crates").to_owned()];
    let (mut n_lines, mut faults) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "tests" {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let source = fs::read_to_string(&path).expect("a source");
                for line in named_commands(&source) {
                    n_lines += 1;
                    let fault = fault_of(&program, line);
                    faults
                        .extend(fault.map(|fault| format!("{}: {line}: {fault}", path.display())));
                }
            }
        }
    }
    assert_eq!(faults, [""; 0]);
    assert!(n_lines > 200, "{n_lines} command lines");
}

#[test]
fn wrong_command_lines_are_noticed() {
    let program = whole_command();
    let fault = |line| fault_of(&program, line);
    assert_eq!(
        fault("site add --name"),
        Some("no option `--name`".to_owned())
    );
    assert_eq!(fault("sites"), Some("no command `sites`".to_owned()));
    assert_eq!(
        fault("session leave NAME"),
        Some("no command `leave`".to_owned())
    );
    assert_eq!(fault("submit --deadline 17:00 -- ./job --own"), None);
    let text = "see `x`, or `tollgate jobs --all`\nand `tollgate site {name}`";
    let named: Vec<&str> = named_commands(text).collect();
    assert_eq!(named, ["jobs --all", "site {name}"]);
}
