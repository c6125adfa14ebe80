//! `tollgate generate`: files for the integration of the program into a system.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use clap::{Command, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::completions;
use super::reference;
use super::schemas;
use tollgate_frontends::FrontendTool;
use tollgate_server::ServiceConfig;

use crate::connection::endpoint::DataDirArgs;
use crate::exit::CliFailure;
use crate::simulate::{study, trace};

/// The options of `tollgate generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    command: GenerateCommand,
}

/// The dialect of front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DialectArg {
    /// PBS and Torque
    Pbs,
    /// Grid Engine
    Sge,
    /// Slurm
    Slurm,
}

/// The subject of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaSubject {
    /// The file of an experiment, for `tollgate study run`
    Study,
    /// The output of `tollgate trace info --format json`
    TraceInfo,
}

#[derive(Debug, Subcommand)]
enum GenerateCommand {
    /// Write a man page for every command.
    Man {
        /// Output directory; created if missing
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
    },
    /// Write the JSON schemas of all answers, and the OpenAPI document.
    ///
    /// One file for each command of a running service that takes `--format json`, and openapi.json.
    Schemas {
        /// Output directory; created if missing
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print the JSON schema of what other commands read or print.
    Schema {
        /// Schema to print
        #[arg(value_enum)]
        of: SchemaSubject,
    },
    /// Print a commented sample of the settings of a service.
    Config,
    /// Write the reference of commands, settings, exit codes, events and metrics.
    Reference {
        /// Output directory; created if missing
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
    },
    /// Create `qsub` or `sbatch` and their like in a directory for PATH.
    ///
    /// The tools are those of PBS and Grid Engine (qsub, qstat, qdel), or those of Slurm (sbatch, squeue, scancel,
    /// sacct, scontrol, sinfo, srun, salloc, sacctmgr, sshare, seff).
    Frontends {
        /// Output directory; created if missing
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
        /// System whose tools are created
        #[arg(long, value_enum, default_value_t = DialectArg::Pbs)]
        style: DialectArg,
    },
    /// Print completions for a shell.
    Completions {
        /// Shell to write completions for
        shell: Shell,
    },
    /// Print a systemd unit for the service.
    Systemd {
        #[command(flatten)]
        place: DataDirArgs,
    },
}

/// `tollgate generate`. `describe` returns the description of the command line, `commands_page` the help of
/// all commands in Markdown.
pub(crate) fn run(
    args: &GenerateArgs,
    describe: fn() -> Command,
    commands_page: fn() -> String,
) -> Result<(), CliFailure> {
    match &args.command {
        GenerateCommand::Man { out } => write_man_pages(describe(), out)
            .map_err(|error| CliFailure::write_failed(out.display().to_string(), error)),
        GenerateCommand::Schemas { out } => schemas::write(out)
            .map_err(|error| CliFailure::write_failed(out.display().to_string(), error)),
        GenerateCommand::Schema { of } => match of {
            SchemaSubject::Study => study::print_schema(),
            SchemaSubject::TraceInfo => trace::print_schema(),
        },
        GenerateCommand::Config => Ok(io::stdout()
            .lock()
            .write_all(ServiceConfig::sample().as_bytes())?),
        GenerateCommand::Reference { out } => reference::write(out, &commands_page())
            .map_err(|error| CliFailure::write_failed(out.display().to_string(), error)),
        GenerateCommand::Frontends { out, style } => write_frontends(out, *style),
        GenerateCommand::Completions { shell } => {
            let mut program = describe();
            program.build();
            let text = completions::script(*shell, &mut program);
            Ok(io::stdout().lock().write_all(text.as_bytes())?)
        }
        GenerateCommand::Systemd { place } => {
            let program = std::env::current_exe()
                .map_err(|error| CliFailure::read_failed("the program itself".to_owned(), error))?;
            let data = std::path::absolute(place.data_dir()?);
            let data = data.map_err(|error| CliFailure::invalid_flag("data", error.to_string()))?;
            let unit = systemd_unit(&quote_for_unit(&program)?, &quote_for_unit(&data)?);
            Ok(io::stdout().lock().write_all(unit.as_bytes())?)
        }
    }
}

fn write_man_pages(program: Command, out: &Path) -> io::Result<()> {
    fs::create_dir_all(out)?;
    // Help has no page of its own.
    let mut command = program.disable_help_subcommand(true);
    command.build();
    clap_mangen::generate_to(with_every_option(command), out)
}

/// Shows the options that `-h` leaves out, because a man page has enough space for them, and the front ends,
/// which are commands of their own.
fn with_every_option(command: Command) -> Command {
    let is_tool = FrontendTool::all().any(|tool| tool.name() == command.get_name());
    let is_hidden = command.is_hide_set() && !is_tool;
    let command = command
        .hide(is_hidden)
        .mut_args(|arg| arg.hide_short_help(false));
    command.mut_subcommands(with_every_option)
}

/// Writes the front ends. For PBS and Slurm they are links to the program, which recognises its name. For
/// Grid Engine they are scripts that set the style.
fn write_frontends(out: &Path, style: DialectArg) -> Result<(), CliFailure> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| CliFailure::read_failed("the program itself", error))?;
    let failed = |path: &Path, error| CliFailure::write_failed(path.display().to_string(), error);
    fs::create_dir_all(out).map_err(|error| failed(out, error))?;
    let tools = match style {
        DialectArg::Pbs | DialectArg::Sge => &FrontendTool::QUEUE[..],
        DialectArg::Slurm => &FrontendTool::SLURM,
    };
    for tool in tools {
        let path = out.join(tool.name());
        // Only an existing link is replaced.
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => drop(fs::remove_file(&path)),
            Ok(_) | Err(_) => {}
        }
        let made = match style {
            DialectArg::Pbs | DialectArg::Slurm => symlink(&program, &path),
            DialectArg::Sge => write_wrapper(&program, *tool, &path),
        };
        made.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn write_wrapper(program: &Path, tool: FrontendTool, path: &Path) -> io::Result<()> {
    let program = program.display().to_string().replace('\'', "'\\''");
    let name = tool.name();
    let text = format!("#!/bin/sh\nTOLLGATE_STYLE=sge exec '{program}' {name} \"$@\"\n");
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)?;
    file.write_all(text.as_bytes())
}

fn systemd_unit(program: &str, data: &str) -> String {
    format!(
        "[Unit]
Description=Tollgate: decides which jobs to promise to finish, and runs them

[Service]
Type=exec
ExecStart={program} serve --data {data}
# Only the service is ended: jobs go on, and the next service finds them again.
KillMode=process
# The service makes control groups for jobs below its own.
Delegate=yes
Restart=on-failure
RestartSec=1

[Install]
WantedBy=default.target
"
    )
}

/// Quotes a path for a systemd unit, in which `%` and `$` have a meaning.
fn quote_for_unit(path: &Path) -> Result<String, CliFailure> {
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    let text = text.ok_or_else(|| {
        let expected = "expected a name in UTF-8 without control characters";
        CliFailure::invalid_flag("data", format!("{expected}, got `{}`", path.display()))
    })?;
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '%' | '$' => quoted.extend([letter, letter]),
            '"' | '\\' => quoted.extend(['\\', letter]),
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped_in_a_unit() {
        let quoted = |path| quote_for_unit(Path::new(path));
        assert_eq!(quoted("/srv/a b").unwrap(), r#""/srv/a b""#);
        assert_eq!(quoted(r#"/50%/$x/"\"#).unwrap(), r#""/50%%/$$x/\"\\""#);
        assert!(quoted("/a\nExecStart=evil").is_err());
    }

    #[test]
    fn stopping_the_systemd_unit_leaves_jobs_running() {
        insta::assert_snapshot!(systemd_unit("\"/usr/bin/tollgate\"", "\"/srv/tollgate\""));
    }
}
