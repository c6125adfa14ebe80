//! `tollgate top`: the overview of a service in a terminal.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use clap::ValueEnum;
use console::Term;
use tollgate_client::ServiceForwarder;
use tollgate_top::answers::TopAnswers;
use tollgate_top::state::{TopNews, TopState};
use tollgate_top::view::{ScreenColours, whole_text};
use tollgate_top::{TopError, TopSettings};

use super::output_tail::ThisHost;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::parse::time_zone;

/// The width of the text without a terminal.
const TEXT_WIDTH: u16 = 120;

/// The options of `tollgate top`.
#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    /// Print the overview as text, and end
    #[arg(long)]
    once: bool,
    /// List the jobs of this user first, by name or number
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Colour text
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColourChoice::Auto)]
    color: ColourChoice,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// In every case
    Always,
    /// In no case
    Never,
}

/// An error of the overview.
#[derive(Debug, thiserror::Error)]
enum TopCommandError {
    /// Standard output is a file or a pipe.
    #[error("standard output is not a terminal: a live overview needs one")]
    NoTerminal,
    /// The terminal cannot move its cursor.
    #[error("TERM={0}: this terminal cannot show a live overview")]
    PlainTerminal(String),
    /// The terminal cannot be used.
    #[error(transparent)]
    Overview(#[from] TopError),
}

impl CliError for TopCommandError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NoTerminal | Self::PlainTerminal(_) => ExitKind::Usage,
            Self::Overview(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::NoTerminal | Self::PlainTerminal(_) => {
                Some("`tollgate top --once` prints it as text".into())
            }
            Self::Overview(_) => None,
        }
    }
}

/// `tollgate top`.
pub(crate) fn run(args: &TopArgs) -> Result<(), CliFailure> {
    let is_terminal = io::stdout().is_terminal();
    if args.once {
        return print(args, is_terminal);
    }
    if !is_terminal {
        return Err(TopCommandError::NoTerminal.into());
    }
    let kind = env::var("TERM").unwrap_or_default();
    if kind.is_empty() || kind == "dumb" {
        return Err(TopCommandError::PlainTerminal(kind).into());
    }
    // A service that does not answer is an error here, before there is a screen.
    drop(args.address.connect()?);
    let settings = TopSettings {
        service: ServiceForwarder::new(args.address.target()?),
        reader: Arc::new(ThisHost),
        zone: time_zone::local(),
        user: args.user.clone(),
        colours: args.colours(is_terminal),
    };
    Ok(tollgate_top::run(settings).map_err(TopCommandError::from)?)
}

/// Prints the overview as text.
fn print(args: &TopArgs, is_terminal: bool) -> Result<(), CliFailure> {
    let mut client = args.address.connect()?;
    let answers = TopAnswers::fetch_with(&mut client, args.user.clone())?;
    let mut state = TopState::new(time_zone::local(), args.user.clone());
    state.on_news(TopNews::Answers(Box::new(answers)));
    let size = Term::stdout().size_checked().filter(|_| is_terminal);
    let width = size.map_or(TEXT_WIDTH, |(_, columns)| columns);
    let mut out = io::stdout().lock();
    let text = whole_text(&state, args.colours(is_terminal), width);
    Ok(out.write_all(text.as_bytes())?)
}

impl TopArgs {
    fn colours(&self, is_terminal: bool) -> ScreenColours {
        let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_shown = match self.color {
            ColourChoice::Auto => is_terminal && !is_refused,
            ColourChoice::Always => true,
            ColourChoice::Never => false,
        };
        match is_shown {
            true => ScreenColours::Shown,
            false => ScreenColours::None,
        }
    }
}
