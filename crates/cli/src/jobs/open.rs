//! `tollgate open`: the service in a browser, served on this host to its user.
//!
//! | module | contents |
//! |---|---|
//! | `browser` | starts the user's browser |
//! | `user_host` | jobs that are typed into the window, and their output |
//! | `watch` | says when the service goes away, and when it is back |

mod browser;
mod user_host;
mod watch;

pub(crate) use user_host::{in_one_line, job_args};

use std::io::{self, BufRead, IsTerminal, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tollgate_client::ServiceForwarder;
use tollgate_client::types::WindowLink;
use tollgate_web::{
    WindowClient, WindowOrigins, WindowPrefix, WindowServer, WindowSessions, WindowSettings,
    WindowUser, router_below, serve_loopback, window_router,
};

use super::job_numbers::parse_job_id;
use super::output_tail::ThisHost;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::output::messages::Verbosity;

/// The only user of a window that `tollgate open` serves.
const OWNER: WindowUser = WindowUser(0);

/// The options of `tollgate open`.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenArgs {
    /// The job or task to show first, as in 7 or 7_3
    #[arg(value_name = "ID", value_parser = parse_shown_job)]
    id: Option<String>,
    /// Port of the window on this host [default: any that is free]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// Print the link; start no browser
    #[arg(long)]
    no_browser: bool,
    /// Show, but let nothing be submitted or changed
    #[arg(long)]
    read_only: bool,
    /// Path below which a reverse proxy shows the window
    #[arg(long, value_name = "PATH", value_parser = parse_prefix)]
    prefix: Option<WindowPrefix>,
    /// Origin of that proxy, as in https://hub.example
    #[arg(long, value_name = "URL", value_parser = parse_origin)]
    origin: Option<String>,
    /// Open the window that the service serves itself, and return
    #[arg(long, conflicts_with_all = ["port", "read_only", "prefix", "origin"])]
    web: bool,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// An error of the window.
#[derive(Debug, thiserror::Error)]
enum WindowError {
    /// The port cannot be used.
    #[error("port {port}: cannot be used: {error}")]
    Port { port: u16, error: io::Error },
    /// The program cannot serve.
    #[error("the window cannot be served: {0}")]
    Runtime(io::Error),
}

impl CliError for WindowError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Port { .. } => Some("leave out --port: any free port is taken".into()),
            Self::Runtime(_) => None,
        }
    }
}

/// Parses a job or one task: a page shows no range.
fn parse_shown_job(words: &str) -> Result<String, String> {
    match words.contains([',', '-', ':']) {
        true => Err(format!(
            "expected one job or task as in 7 or 7_3, got `{words}`"
        )),
        false => parse_job_id(words),
    }
}

fn parse_prefix(words: &str) -> Result<WindowPrefix, String> {
    WindowPrefix::parse(words).map_err(|error| error.to_string())
}

pub(crate) fn parse_origin(words: &str) -> Result<String, String> {
    let origin = words.trim_end_matches('/');
    let name = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-.:[]".contains(letter);
    match name {
        Some(name) if !name.is_empty() && name.chars().all(is_plain) => Ok(origin.to_owned()),
        Some(_) | None => Err(format!(
            "expected an origin as in https://hub.example, got `{words}`"
        )),
    }
}

/// The links of a window.
struct WindowLinks {
    sessions: WindowSessions,
    /// The address of the first page.
    page: String,
}

impl WindowLinks {
    /// Returns a link that opens the window once.
    fn next(&self) -> io::Result<String> {
        let ticket = self.sessions.new_ticket(OWNER)?;
        Ok(format!("{}#ticket={}", self.page, ticket.reveal()))
    }

    /// Prints another link for each line of standard input, until that ends.
    fn print_on_enter(&self) {
        for line in io::stdin().lock().lines() {
            let printed = line.and_then(|_| self.print());
            if printed.is_err() {
                return;
            }
        }
    }

    fn print(&self) -> io::Result<()> {
        let link = self.next()?;
        let mut out = io::stdout().lock();
        writeln!(out, "{link}")?;
        out.flush()
    }
}

/// Opens the window of the service, and prints another link to it.
fn open_served(args: &OpenArgs) -> Result<(), CliFailure> {
    let mut service = args.address.connect()?;
    let mut next = || -> Result<String, CliFailure> {
        let link: WindowLink = service.post("/v1/window", &())?;
        let page = page_below(&link.url, args.id.as_deref());
        Ok(format!("{page}#ticket={}", link.ticket))
    };
    let is_opened = !args.no_browser && browser::open(&next()?);
    let mut out = io::stdout().lock();
    writeln!(out, "{}", next()?)?;
    out.flush()?;
    if is_opened {
        Verbosity::Notes.note("the browser opens; the link is for another one");
    }
    Verbosity::Notes
        .note("a link works once, within a minute; the same command prints another one");
    Ok(())
}

/// `tollgate open`.
pub(crate) fn run(args: &OpenArgs) -> Result<(), CliFailure> {
    if args.web {
        return open_served(args);
    }
    // A service that does not answer is an error here, before there is a window.
    drop(args.address.connect()?);
    let target = args.address.target()?;
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(WindowError::Runtime)?;
    runtime.block_on(async {
        let port = args.port;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|error| WindowError::Port { port, error })?;
        let address = listener.local_addr().map_err(WindowError::Runtime)?;
        let port = address.port();
        let prefix = args.prefix.clone().unwrap_or_default();
        let sessions = WindowSessions::default();
        let router = window_router(WindowSettings {
            clients: Box::new(Arc::new(WindowClient {
                service: ServiceForwarder::new(target.clone()),
                host: Arc::new(ThisHost),
            })),
            sessions: sessions.clone(),
            origins: WindowOrigins::new(address, args.origin.as_deref()),
            read_only: args.read_only,
            server: WindowServer::Open,
        });
        let links = Arc::new(WindowLinks {
            sessions,
            page: first_page(args, port, &prefix),
        });
        tokio::spawn(serve_loopback(listener, router_below(prefix, router)));
        tokio::spawn(watch::watch(ServiceForwarder::new(target)));
        show(args, &links, port)?;
        wait_for_end().await.map_err(WindowError::Runtime)?;
        Ok::<_, CliFailure>(())
    })?;
    // The thread that reads standard input ends with the process.
    runtime.shutdown_background();
    Ok(())
}

/// Returns the address of the page that is shown first.
fn first_page(args: &OpenArgs, port: u16, prefix: &WindowPrefix) -> String {
    let own = format!("http://127.0.0.1:{port}");
    let origin = args.origin.as_deref().unwrap_or(&own);
    let window = format!("{origin}{}/", prefix.as_str());
    page_below(&window, args.id.as_deref())
}

/// Returns the address of the page of a job, or of the first page, of the window at an address.
fn page_below(window: &str, job: Option<&str>) -> String {
    match job {
        Some(id) => format!("{window}job?id={id}"),
        None => window.to_owned(),
    }
}

/// Opens the browser and prints the link, with what its reader may want to know.
fn show(args: &OpenArgs, links: &Arc<WindowLinks>, port: u16) -> Result<(), CliFailure> {
    let is_opened = !args.no_browser && browser::open(&links.next()?);
    links.print()?;
    let notes = Verbosity::Notes;
    match is_opened {
        true => notes.note("the browser opens; the link is for another one"),
        false if args.origin.is_none() => notes.note(format_args!(
            "from another host, first `ssh -L {port}:127.0.0.1:{port} HOST`, with this host for HOST; then open the link there"
        )),
        false => {}
    }
    match io::stdin().is_terminal() {
        true => {
            notes.note("a link works once, within a minute; Enter prints another one, Ctrl-C ends");
            let links = Arc::clone(links);
            thread::spawn(move || links.print_on_enter());
        }
        false => notes.note("the link works once, within a minute; SIGTERM or Ctrl-C ends"),
    }
    Ok(())
}

/// Waits until a signal ends the command.
async fn wait_for_end() -> io::Result<()> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut ended = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = ended.recv() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_tasks_have_no_page() {
        assert_eq!(parse_shown_job("7_3").as_deref(), Ok("7_3"));
        assert!(parse_shown_job("7_1-5").is_err() && parse_shown_job("7_1,2").is_err());
    }

    #[test]
    fn origin_without_a_path_is_accepted() {
        assert_eq!(
            parse_origin("https://hub.example/"),
            Ok("https://hub.example".to_owned())
        );
        assert_eq!(
            parse_origin("http://[::1]:80").as_deref(),
            Ok("http://[::1]:80")
        );
        for words in [
            "hub.example",
            "https://",
            "https://hub.example/x",
            "file:///etc",
        ] {
            assert!(parse_origin(words).is_err(), "{words}");
        }
    }
}
