//! The command line: the commands, and the parts that their options share.

use std::ffi::OsString;
use std::str::FromStr;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command as ClapCommand, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::client::frontends::{self, FrontendTool};
use crate::{client, forecast, policies, replay, study, trace};

/// Decide which jobs a shared cluster promises to finish in time.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Replay(Box<replay::ReplayArgs>),
    Policies(policies::PoliciesArgs),
    Forecast(Box<forecast::ForecastArgs>),
    Study(study::StudyArgs),
    Serve(client::serve::ServeArgs),
    Demo(client::demo::DemoArgs),
    Submit(Box<client::submit::SubmitArgs>),
    Quote(Box<client::submit::QuoteArgs>),
    Status(client::list::StatusArgs),
    Jobs(client::list::JobsArgs),
    Explain(client::list::ExplainArgs),
    Wait(client::wait::WaitArgs),
    Alter(client::alter::AlterArgs),
    /// Cancel jobs: remove them from the queue, or kill them.
    Cancel(client::act::JobActionArgs),
    /// Hold queued jobs.
    Hold(client::act::JobActionArgs),
    /// Release held jobs.
    Release(client::act::JobActionArgs),
    Logs(client::logs::LogsArgs),
    /// List the nodes, what is enforced there, and what can escape.
    Nodes(client::figures::ServiceQueryArgs),
    /// Start no other job on the nodes of a host.
    Drain(client::drain::DrainArgs),
    /// Let jobs start again on nodes that were drained.
    Resume(client::drain::DrainArgs),
    Grant(client::grant::GrantArgs),
    /// Compare promised probabilities with how many promises were kept.
    Calibration(client::figures::ServiceQueryArgs),
    Ledger(client::list::LedgerArgs),
    Usage(client::usage::UsageArgs),
    Export(client::export::ExportArgs),
    Prune(client::prune::PruneArgs),
    Learn(client::learn::LearnArgs),
    Backup(client::backup::BackupArgs),
    Restore(client::backup::RestoreArgs),
    Check(client::backup::StoreCheckArgs),
    Token(client::token::TokenArgs),
    Worker(client::worker::WorkerArgs),
    Site(Box<client::site::SiteArgs>),
    Agent(client::site::agent::AgentArgs),
    Cluster(client::cluster::ClusterArgs),
    Session(client::session::SessionArgs),
    Spread(client::spread::SpreadArgs),
    /// Submit a job as with qsub of PBS or Grid Engine.
    Qsub(client::frontends::FrontendArgs),
    /// Show jobs as with qstat of PBS or Grid Engine.
    Qstat(client::frontends::FrontendArgs),
    /// Cancel jobs as with qdel of PBS or Grid Engine.
    Qdel(client::frontends::FrontendArgs),
    Trace(trace::TraceArgs),
    Generate(client::generate::GenerateArgs),
}

/// Parses a command line that starts with the program's name. Prints help or an error and exits if
/// there is no command to run.
pub(crate) fn parse(words: Vec<OsString>) -> Cli {
    let words = without_help_of_help(words);
    let matches = command().try_get_matches_from(&words);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| with_similar_names(error, &words).exit())
}

/// Returns the command line as users see it.
pub(crate) fn command() -> ClapCommand {
    let mut command = Cli::command()
        .mut_subcommand("worker", |worker| {
            // The options of `live::address` are shared, but a worker names its service with
            // `--connect`.
            worker.mut_args(|arg| match arg.get_help().map(ToString::to_string) {
                Some(help) => arg.help(help.replace("With --url:", "With --connect https://:")),
                None => arg,
            })
        })
        .mut_subcommand("quote", |quote| {
            // A quote describes a single task that may start at once, and runs nothing.
            quote.mut_args(|arg| match arg.get_id().as_str() {
                "array" | "after" | "notify" | "env" | "dir" | "output" => arg.hide(true),
                _ => arg,
            })
        });
    for (tool, usage) in [
        (FrontendTool::Qsub, "qsub [OPTIONS] [SCRIPT [ARGUMENTS]]"),
        (FrontendTool::Qstat, "qstat [OPTIONS] [ID]..."),
        (FrontendTool::Qdel, "qdel [OPTIONS] ID..."),
    ] {
        command = command.mut_subcommand(tool.name(), |command| {
            command
                .override_usage(usage)
                .after_help(frontends::options(tool))
        });
    }
    command
}

/// Removes `--help` after the command `help`, which prints the same text without the option.
fn without_help_of_help(mut words: Vec<OsString>) -> Vec<OsString> {
    // To describe all commands takes longer than most of them.
    if !words.iter().any(|word| word == "help") {
        return words;
    }
    let program = command();
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

/// Removes the parser's suggestions that differ from the typed word by more than a typo, also from
/// the usage.
fn with_similar_names(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    for (typed, tip) in [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (
            ContextKind::InvalidSubcommand,
            ContextKind::SuggestedSubcommand,
        ),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(typed)) = error.get(typed) else {
            continue;
        };
        let is_near = match error.get(tip) {
            Some(ContextValue::String(tip)) => is_similar(typed, tip),
            Some(ContextValue::Strings(tips)) => tips.iter().all(|tip| is_similar(typed, tip)),
            _ => true,
        };
        if !is_near {
            error.remove(tip);
            let usage = ContextValue::StyledStr(usage(words));
            error.insert(ContextKind::Usage, usage);
        }
    }
    error
}

/// Returns the usage of the command at the start of the arguments.
fn usage(words: &[OsString]) -> StyledStr {
    let mut program = command();
    program.build();
    let mut named = &mut program;
    for word in words.iter().skip(1) {
        if named.find_subcommand(word).is_none() {
            break;
        }
        named = named
            .find_subcommand_mut(word)
            .expect("it was found a moment ago");
    }
    named.render_usage()
}

/// Returns whether two words differ by at most one change in four letters. A change swaps two
/// neighbours, or inserts, removes or replaces a letter.
pub(crate) fn is_similar(typed: &str, known: &str) -> bool {
    let [typed, known] = [typed, known].map(|word| word.trim_start_matches('-'));
    let most = (typed.chars().count() / 4).max(1);
    strsim::osa_distance(typed, known) <= most
}

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people
    Table,
    /// One JSON object
    Json,
    /// One line per row
    Csv,
}

/// Parses a number that may be 0.
pub(crate) fn parse_integer<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 0")
}

/// Parses a count, which is at least 1.
pub(crate) fn parse_count<N: FromStr>(word: &str) -> Result<N, &'static str> {
    word.parse()
        .map_err(|_| "expected a whole number, at least 1")
}

#[cfg(test)]
mod tests {
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

    fn program() -> ClapCommand {
        let mut program = command();
        program.build();
        program
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
        walk(&program(), "tollgate", &mut |path, command| {
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
        walk(&program(), "tollgate", &mut |path, command| {
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
        walk(&program(), "tollgate", &mut |path, command| {
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
                _ => (vec!["--data", "--url"], vec!["--cluster"]),
            };
            let expected = [first, shared.to_vec(), last].concat();
            assert_eq!(options, expected, "{path} --help");
        });
        assert!(n_clients > 10, "{n_clients} commands");
    }

    #[test]
    fn quote_help_lists_no_option_for_running() {
        let program = program();
        let quote = program.find_subcommand("quote").expect("it is a command");
        let help = quote.clone().render_long_help().to_string();
        for option in ["--array", "--after", "--hold", "--output"] {
            assert!(!help.contains(option), "{option}");
        }
        assert!(help.contains("--reserve"));
    }

    #[test]
    fn worker_names_its_own_option_for_the_service() {
        let program = program();
        let worker = program.find_subcommand("worker").expect("it is a command");
        let help = worker.clone().render_long_help().to_string();
        assert!(help.contains("With --connect https://"), "{help}");
        assert!(!help.contains("--url"), "{help}");
    }

    #[test]
    fn tip_is_given_for_similar_names_only() {
        for (typed, known) in [
            ("--dedline", "--deadline"),
            ("--prcos", "--procs"),
            ("polices", "policies"),
            ("--mm", "--mem"),
        ] {
            assert!(is_similar(typed, known), "{typed} {known}");
        }
        for (typed, known) in [
            ("--out", "--computers"),
            ("--report", "--reboot"),
            ("--start", "--estimates"),
            ("--queue", "--quiet"),
        ] {
            assert!(!is_similar(typed, known), "{typed} {known}");
        }
    }

    #[test]
    fn help_of_help_is_help() {
        let read = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            without_help_of_help(words).join(" ".as_ref()).into_string()
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
