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

/// Create, list and revoke tokens for access over the network.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Create a token and print it once.
    ///
    /// The service stores only a hash of the token.
    New {
        /// User of the token, by name or number [default: the current user]
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Create a token that can only register a worker
        #[arg(long)]
        worker: bool,
        /// Lifetime, as in 90d or 12h [default: until revoked]
        #[arg(long, value_name = "SPAN", value_parser = words::span)]
        expires: Option<f64>,
        #[command(flatten)]
        address: Address,
        /// Output format
        #[arg(long, value_enum, default_value_t = Shown::Word)]
        format: Shown,
    },
    /// List the user's tokens and certificates.
    ///
    /// Root and the service's own user see those of all users.
    List {
        #[command(flatten)]
        address: Address,
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Revoke a token.
    Revoke {
        /// Id of the token, as `tollgate token list` shows it
        id: String,
        #[command(flatten)]
        address: Address,
    },
}

/// How a new token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// The token alone, for a file
    Word,
    /// One JSON object
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
