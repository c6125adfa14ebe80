//! The groups in which `tollgate --help` lists the commands.

use clap::Command;
use clap::builder::Styles;
use console::Term;

/// The groups, each with its commands in the order of the list.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Jobs",
        &[
            "submit", "quote", "jobs", "explain", "top", "open", "wait", "logs", "alter", "cancel",
            "hold", "release", "requeue", "signal", "spread",
        ],
    ),
    (
        "Run a service",
        &[
            "serve", "demo", "worker", "status", "nodes", "drain", "resume",
        ],
    ),
    (
        "Operate a service",
        &[
            "calibration",
            "ledger",
            "usage",
            "export",
            "learn",
            "grant",
            "token",
            "prune",
            "backup",
            "restore",
            "check",
            "generate",
        ],
    ),
    (
        "Sites, sessions and clusters",
        &["site", "session", "cluster"],
    ),
    ("Beside the scheduler of a cluster", &["eta", "beside"]),
    (
        "Simulate and forecast",
        &["replay", "campus", "policies", "study", "forecast", "trace"],
    ),
];

/// The maximum width of a line, as of the rest of the help.
const MAX_WIDTH: usize = 100;

/// Lists the commands in groups in the program's help. A hidden command is in none.
pub(super) fn grouped(command: Command) -> Command {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let terminal = Term::stdout().size_checked();
    let line = terminal.map_or(MAX_WIDTH, |(_, columns)| MAX_WIDTH.min(columns.into()));
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        template.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(|found| found.get_about());
            let about = about.map_or_else(String::new, ToString::to_string);
            let about = wrapped(&about, width + 4, line);
            template.push_str(&format!("  {literal}{name:width$}{literal:#}  {about}\n"));
        }
    }
    template.push_str(&format!(
        "\n{header}Options:{header:#}\n{{options}}\n\n`tollgate help COMMAND` describes a command.\n"
    ));
    command.help_template(template)
}

/// Breaks a text that begins at column `indent` into lines of at most `width` columns.
fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::whole_command;

    #[test]
    fn long_description_goes_on_below_its_beginning() {
        assert_eq!(wrapped("Run a job", 4, 20), "Run a job");
        assert_eq!(wrapped("Run a job now", 4, 13), "Run a job\n    now");
        assert_eq!(wrapped("unbreakable", 4, 6), "unbreakable");
    }

    #[test]
    fn every_command_that_is_not_hidden_is_in_one_group() {
        let program = whole_command();
        let shown = program
            .get_subcommands()
            .filter(|found| !found.is_hide_set() && found.get_name() != "help");
        let shown: BTreeSet<&str> = shown.map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        assert_eq!(grouped.len(), shown.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<&str>>(), shown);
    }
}
