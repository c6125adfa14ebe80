//! The commands as a page of the reference: each with its help.

use std::fmt::Write;

use clap::Command;
use tollgate_frontends::FrontendTool;

use super::groups::GROUPS;
use super::internal::INTERNAL_PROCESSES;
use super::whole_command;

/// The width of the help, in columns: that of a terminal of this width or more.
const WIDTH: usize = 100;

/// Returns the page in Markdown: the commands in their groups, then those that `tollgate --help` does not
/// list.
pub(super) fn commands_page() -> String {
    let program = whole_command().term_width(WIDTH);
    let mut page = "# Commands\n".to_owned();
    for (group, names) in GROUPS {
        heading(&mut page, group);
        for command in names
            .iter()
            .filter_map(|name| program.find_subcommand(name))
        {
            write_command(&mut page, command);
        }
    }
    heading(&mut page, "Front ends");
    page.push_str("\nThese commands take the options of PBS, Grid Engine and Slurm.\n");
    for tool in FrontendTool::all() {
        if let Some(command) = program.find_subcommand(tool.name()) {
            write_command(&mut page, command);
        }
    }
    heading(&mut page, "Internal processes");
    page.push_str(
        "\nThe program starts these processes of itself. Their arguments are no interface.\n\n\
         | argument | process |\n|---|---|\n",
    );
    for process in INTERNAL_PROCESSES {
        // Writing to a string does not fail.
        let _ = writeln!(page, "| `{}` | {} |", process.arg, process.about);
    }
    page
}

fn heading(page: &mut String, words: &str) {
    page.push_str(&format!("\n## {words}\n"));
}

/// Writes the help of a command, then that of each command below it.
fn write_command(page: &mut String, command: &Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut shown = command.clone().term_width(WIDTH);
    let help = shown.render_long_help().to_string();
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let help = help.join("\n");
    let _ = write!(page, "\n### {name}\n\n```text\n{help}\n```\n");
    let below = command.get_subcommands();
    for inner in below.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        write_command(page, inner);
    }
}
