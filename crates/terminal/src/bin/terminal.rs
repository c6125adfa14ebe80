//! A held command without a session, to try the crate by hand and in its tests:
//! `tollgate-terminal hold SOCKET COMMAND..`, `attach|read|take SOCKET`, `detach SOCKET`.

use std::env;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tollgate_terminal::{
    AttachEnd, AttachOptions, EndOfInput, HolderOptions, JOB_COMMAND_ARG, TTY_COMMAND_ARG,
    TerminalAccess, UserTerminal, attach, detach_all, exit_code, hold, run_job_command,
    run_tty_command,
};

type AnyError = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    if verb == TTY_COMMAND_ARG {
        return run_tty_command(words);
    }
    if verb == JOB_COMMAND_ARG {
        return run_job_command(words);
    }
    let socket = PathBuf::from(words.next().unwrap_or_default());
    let done = match verb.to_str() {
        Some("hold") => run_hold(socket, words.collect()),
        Some("attach") => run_attach(&socket, TerminalAccess::Write),
        Some("read") => run_attach(&socket, TerminalAccess::ReadOnly),
        Some("take") => run_attach(&socket, TerminalAccess::TakeOver),
        Some("detach") => run_detach(&socket),
        _ => Err("expected hold, attach, read, take or detach".into()),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn run_hold(socket: PathBuf, command: Vec<OsString>) -> Result<ExitCode, AnyError> {
    let options = HolderOptions {
        socket,
        command,
        environment: env::vars_os().collect(),
        dir: env::current_dir()?,
        program: env::current_exe()?,
        stall_timeout: HolderOptions::STALL_TIMEOUT,
    };
    let status = hold(&options, || println!("ready"))?;
    Ok(ExitCode::from(exit_code(status)))
}

fn run_attach(socket: &Path, access: TerminalAccess) -> Result<ExitCode, AnyError> {
    let options = AttachOptions {
        access,
        end_of_input: EndOfInput::Detach,
    };
    let stream = UnixStream::connect(socket)?;
    let end = attach(stream, &UserTerminal::standard()?, &options)?;
    eprintln!("{end:?}");
    Ok(match end {
        AttachEnd::Ended(code) => ExitCode::from(code),
        AttachEnd::Detached(_) | AttachEnd::Lost | AttachEnd::Signal(_) => ExitCode::SUCCESS,
    })
}

fn run_detach(socket: &Path) -> Result<ExitCode, AnyError> {
    println!("{}", detach_all(socket)?);
    Ok(ExitCode::SUCCESS)
}
