//! The command line: the commands, and the parts that their options share.
//!
//! | module | contents |
//! |---|---|
//! | `deferred` | the options of a command, described if it is called |
//! | `foreign_words` | pointers for words of other batch systems |
//! | `suggestions` | suggestions for a word that is typed wrongly |

mod deferred;
mod foreign_words;
mod suggestions;

use std::ffi::OsString;
use std::str::FromStr;

use clap::{Command as ClapCommand, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use self::deferred::Deferred;
pub(crate) use self::suggestions::is_similar;
use crate::client::frontends::{self, FrontendTool};
use crate::{campus, client, forecast, policies, replay, study, trace};

/// Decide which jobs a shared cluster promises to finish in time.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The commands, as `tollgate help` describes them.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Simulate policies on recorded jobs: promises, delays, rejections, earnings.
    Replay(Deferred<replay::ReplayArgs>),
    /// Simulate tasks on desktops with users: energy, evictions, tasks that never end.
    Campus(Deferred<campus::CampusArgs>),
    /// List the policies with their papers, markets and parameters.
    Policies(Deferred<policies::PoliciesArgs>),
    /// Forecast run times from records of finished jobs, with probabilities.
    ///
    /// Without options the answer lists every class of jobs, how it behaves, and the forecast for its next
    /// job.
    Forecast(Deferred<forecast::ForecastArgs>),
    /// Run a published experiment, or one of your own, from one file.
    Study(Deferred<study::StudyArgs>),
    /// Run the service: admit jobs, promise deadlines, and run them.
    Serve(Deferred<client::serve::ServeArgs>),
    /// Run a service of its own with six sample jobs.
    Demo(Deferred<client::demo::DemoArgs>),
    /// Submit a job.
    ///
    /// The answer is `accepted` with a promise, `waitlisted`, `unpromised`, `queued`, `deferred`, or
    /// `rejected` with the reasons (exit code 3, also if only some tasks of an array are).
    Submit(Deferred<client::submit::SubmitArgs>),
    /// Show the answer that `submit` would give; change nothing.
    Quote(Deferred<client::submit::QuoteArgs>),
    /// Show the service's policy, nodes, jobs and results so far.
    Status(Deferred<client::list::StatusArgs>),
    /// List unfinished jobs, latest first, or the tasks of an array.
    Jobs(Deferred<client::jobs::JobsArgs>),
    /// Explain why a job waits, and when it should start and end.
    ///
    /// `tollgate explain site NAME` explains why pilots are submitted at a site, or are not.
    Explain(Deferred<client::list::ExplainArgs>),
    /// Wait until a job is over, and exit with its status.
    ///
    /// The status is the exit code of the job, 128 + n after signal n, and 1 if the job or a task of it was
    /// rejected, cancelled or lost. Of several jobs, the greatest.
    Wait(Deferred<client::wait::WaitArgs>),
    /// Change a job that waits.
    ///
    /// The changed job is asked for as a new one. If the answer is worse, the job stays as it was, and the
    /// exit code is 3. Jobs that run and arrays cannot be changed.
    Alter(Deferred<client::alter::AlterArgs>),
    /// Cancel jobs: remove them from the queue, or kill them.
    Cancel(Deferred<client::act::JobActionArgs>),
    /// Hold queued jobs.
    Hold(Deferred<client::act::JobActionArgs>),
    /// Release held jobs.
    Release(Deferred<client::act::JobActionArgs>),
    /// Print the output of a job.
    Logs(Deferred<client::logs::LogsArgs>),
    /// List the nodes, what is enforced there, and what can escape.
    Nodes(Deferred<client::figures::ServiceQueryArgs>),
    /// Start no other job on the nodes of a host.
    Drain(Deferred<client::drain::DrainArgs>),
    /// Let jobs start again on nodes that were drained.
    Resume(Deferred<client::drain::DrainArgs>),
    /// Let a waiting job go beyond its user's share, as an operator.
    ///
    /// Under `plan` with a share, a job waits once the promises to its user take all of it. The exception and
    /// its reason are kept with the job, and `explain` shows them.
    Grant(Deferred<client::grant::GrantArgs>),
    /// Compare promised probabilities with how many promises were kept.
    Calibration(Deferred<client::figures::ServiceQueryArgs>),
    /// Show charges, penalties and earnings, by user and day.
    Ledger(Deferred<client::list::LedgerArgs>),
    /// Show jobs, core hours, waits, promises and charges as sums.
    ///
    /// A user sees the sums of the own jobs, root and the service's own user those of all. Days are in UTC.
    /// Sums stay when old jobs are removed.
    Usage(Deferred<client::usage::UsageArgs>),
    /// Write jobs, promises or the ledger to a file.
    Export(Deferred<client::export::ExportArgs>),
    /// Remove records of jobs that ended long ago.
    ///
    /// The ledger, usage, calibration and objectives stay, and so do jobs that unfinished jobs depend on.
    /// Only root and the service's own user may do this. The setting `retention.jobs` does the same
    /// regularly.
    Prune(Deferred<client::prune::PruneArgs>),
    /// Teach a running service from records of earlier jobs.
    ///
    /// The service then knows what jobs of these users and names need before the first of them is
    /// submitted. Only jobs that ended with success teach it. The same records again change nothing. Only
    /// root and the service's own user may do this.
    Learn(Deferred<client::learn::LearnArgs>),
    /// Back up the data of a service, running or not.
    Backup(Deferred<client::backup::BackupArgs>),
    /// Restore a backup to a data directory without a store.
    Restore(Deferred<client::backup::RestoreArgs>),
    /// Verify all data of a stopped service; change nothing.
    Check(Deferred<client::backup::StoreCheckArgs>),
    /// Create, list and revoke tokens for access over the network.
    Token(Deferred<client::token::TokenArgs>),
    /// Offer this host's cores to a service on another host.
    Worker(Deferred<client::worker::WorkerArgs>),
    /// Run pilots in the queues of batch systems.
    ///
    /// A site is an account at a batch system. A pilot is a job there that joins this service as a worker.
    Site(Deferred<client::site::SiteArgs>),
    /// Run the agent of a site, which moves pilots, until interrupted.
    ///
    /// `tollgate session start --move` runs one for each site. A site with an agent on its own host is
    /// added with `site add --agent`.
    Agent(Deferred<client::site::agent::AgentArgs>),
    /// Know services with gates of their own by name.
    ///
    /// `tollgate submit --to NAME,NAME` asks several of them and takes the best; every command takes
    /// `--cluster NAME`.
    Cluster(Deferred<client::cluster::ClusterArgs>),
    /// Work in a log-in session on a cluster of pilots.
    ///
    /// The cluster is a service of your own with pilots at your sites. The session outlives the terminal.
    Session(Deferred<client::session::SessionArgs>),
    /// Run a command on the hosts of the calling job.
    Spread(Deferred<client::spread::SpreadArgs>),
    /// Submit a job as with qsub of PBS or Grid Engine.
    #[command(override_usage = "qsub [OPTIONS] [SCRIPT [ARGUMENTS]]", after_help = frontends::options(FrontendTool::Qsub))]
    Qsub(Deferred<client::frontends::FrontendArgs>),
    /// Show jobs as with qstat of PBS or Grid Engine.
    #[command(override_usage = "qstat [OPTIONS] [ID]...", after_help = frontends::options(FrontendTool::Qstat))]
    Qstat(Deferred<client::frontends::FrontendArgs>),
    /// Cancel jobs as with qdel of PBS or Grid Engine.
    #[command(override_usage = "qdel [OPTIONS] ID...", after_help = frontends::options(FrontendTool::Qdel))]
    Qdel(Deferred<client::frontends::FrontendArgs>),
    /// Inspect, check, convert and anonymise records of jobs, or generate some.
    Trace(Deferred<trace::TraceArgs>),
    /// Write man pages, shell completions, schemas, a systemd unit, front ends.
    Generate(Deferred<client::generate::GenerateArgs>),
}

/// Parses a command line that starts with the program's name. Prints help or an error and exits if
/// there is no command to run.
pub(crate) fn parse(words: Vec<OsString>) -> Cli {
    let words = with_campus_command(without_help_of_help(words));
    let matches = Cli::command().try_get_matches_from(&words);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| suggestions::with_similar_names(error, &words).exit())
}

/// Returns the command line as users see it, with the options of all commands: for help, completions
/// and manual pages.
pub(crate) fn whole_command() -> ClapCommand {
    let mut command = Cli::command();
    command.build();
    command
}

/// Turns `replay --world campus` into `campus`, the name of that command since it has flags of its own.
fn with_campus_command(mut words: Vec<OsString>) -> Vec<OsString> {
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
fn without_help_of_help(mut words: Vec<OsString>) -> Vec<OsString> {
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
