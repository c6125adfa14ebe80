//! `tollgate token`: who may reach the service over the network.

use std::io::{self, Write};

use clap::{Subcommand, ValueEnum};
use comfy_table::Table;
use tollgate_service::Role;
use tollgate_service::api::types::{NewToken, Token, TokenRequest, Tokens};

use super::address::Address;
use super::list::STYLE;
use super::{print, words};
use crate::args::Format;
use crate::exit::{Failure, NoCsv};
use crate::voice::Voice;

/// Make, list and take back tokens, by which a service is reached over the network.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a token and print it, this once: the service keeps only what it is known by.
    New {
        /// Whom it stands for, by name or number [default: whoever asks]
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// It can only take work, and nothing else
        #[arg(long)]
        worker: bool,
        /// For how long it stands for somebody: 90d, 12h [default: until it is revoked]
        #[arg(long, value_name = "SPAN", value_parser = words::span)]
        expires: Option<f64>,
        #[command(flatten)]
        address: Address,
        /// How the answer is written
        #[arg(long, value_enum, default_value_t = Shown::Word)]
        format: Shown,
    },
    /// List the tokens and certificates that are let in: one's own, or, for root and the service's
    /// own user, all.
    List {
        #[command(flatten)]
        address: Address,
        /// How the list is written
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Take a token back: from now on it stands for nobody.
    Revoke {
        /// Which one, as `tollgate token list` calls it
        id: String,
        #[command(flatten)]
        address: Address,
    },
}

/// How a new token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// The token alone, to be written to a file.
    Word,
    /// One object.
    Json,
}

/// `tollgate token`.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.what {
        What::New {
            user,
            worker,
            expires,
            address,
            format,
        } => {
            let request = TokenRequest {
                user: user.clone(),
                kind: match worker {
                    true => Role::Worker,
                    false => Role::User,
                },
                expires_s: *expires,
            };
            make(address, &request, *format)
        }
        What::List { address, format } => list(address, *format),
        What::Revoke { id, address } => {
            let _: Tokens = address.connect()?.post(&revoke_path(id)?, &())?;
            Ok(())
        }
    }
}

fn make(address: &Address, request: &TokenRequest, format: Shown) -> Result<(), Failure> {
    let made: NewToken = address.connect()?.post("/v1/tokens", request)?;
    let mut out = io::stdout().lock();
    match format {
        Shown::Json => print::json(&mut out, &made)?,
        Shown::Word => {
            writeln!(out, "{}", made.token)?;
            let Token { id, user_id, .. } = &made.about;
            Voice::Notes.note(format_args!(
                "token {id} stands for user {user_id}; it is not shown again"
            ));
        }
    }
    Ok(())
}

fn list(address: &Address, format: Format) -> Result<(), Failure> {
    let listed: Tokens = address.connect()?.get("/v1/tokens")?;
    let mut out = io::stdout().lock();
    match format {
        Format::Json => print::json(&mut out, &listed)?,
        Format::Csv => return Err(NoCsv.into()),
        Format::Table => {
            let now = print::now();
            let local = |at: &Option<String>| {
                at.as_ref()
                    .map_or_else(String::new, |at| print::local(at, &now))
            };
            let mut table = Table::new();
            table.load_style(STYLE);
            table.set_header(["id", "proof", "user", "kind", "made", "expires"]);
            for token in &listed.tokens {
                table.add_row([
                    token.id.clone(),
                    token.proof.clone(),
                    token.user_id.to_string(),
                    kind(token.kind).to_owned(),
                    local(&token.made_at),
                    local(&token.expires_at),
                ]);
            }
            for line in table.lines() {
                writeln!(out, "{}", line.trim_end())?;
            }
        }
    }
    Ok(())
}

fn kind(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Worker => "worker",
    }
}

fn revoke_path(id: &str) -> Result<String, Failure> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(format!("/v1/tokens/{id}/revoke"));
    }
    let message = format!("expected an id as `tollgate token list` shows it, got `{id}`");
    Err(Failure::flag("id", message))
}
