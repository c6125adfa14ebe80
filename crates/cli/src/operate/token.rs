//! `tollgate token`: access to the service over the network.

use std::io::{self, Write};

use clap::{Subcommand, ValueEnum};
use tollgate_client::types::AccessRole;
use tollgate_client::types::{NewToken, TokenInfo, TokenList, TokenRequest};

use crate::args::{OutputFormat, parse_count};
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::output::table::{Column, write_list};
use crate::parse;

/// The options of `tollgate token`.
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
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
        #[arg(long, value_name = "SPAN", value_parser = parse::parse_span)]
        expires: Option<f64>,
        /// With --worker: number of workers that may use the token
        #[arg(long, value_name = "N", requires = "worker", value_parser = parse_count::<u32>)]
        uses: Option<u32>,
        #[command(flatten)]
        address: ServiceAddressArgs,
        /// Output format
        #[arg(long, value_enum, default_value_t = TokenFormat::Word)]
        format: TokenFormat,
    },
    /// List the user's tokens and certificates.
    ///
    /// Root and the service's own user see those of all users.
    List {
        #[command(flatten)]
        address: ServiceAddressArgs,
        /// Output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
        format: OutputFormat,
    },
    /// Revoke a token.
    Revoke {
        /// Id of the token, as `tollgate token list` shows it
        id: String,
        #[command(flatten)]
        address: ServiceAddressArgs,
    },
}

/// How a new token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TokenFormat {
    /// The token alone, for a file
    Word,
    /// One JSON object
    Json,
}

/// `tollgate token`.
pub(crate) fn run(args: &TokenArgs) -> Result<(), CliFailure> {
    match &args.command {
        TokenCommand::New {
            user,
            worker,
            expires,
            uses,
            address,
            format,
        } => {
            let request = TokenRequest {
                user: user.clone(),
                kind: match worker {
                    true => AccessRole::Worker,
                    false => AccessRole::User,
                },
                expires_s: *expires,
                uses: *uses,
            };
            create_token(address, &request, *format)
        }
        TokenCommand::List { address, format } => list_tokens(address, *format),
        TokenCommand::Revoke { id, address } => {
            let _: TokenList = address.connect()?.post(&revoke_path(id)?, &())?;
            Ok(())
        }
    }
}

fn create_token(
    address: &ServiceAddressArgs,
    request: &TokenRequest,
    format: TokenFormat,
) -> Result<(), CliFailure> {
    let made: NewToken = address.connect()?.post("/v1/tokens", request)?;
    let mut out = io::stdout().lock();
    match format {
        TokenFormat::Json => format::write_json(&mut out, &made)?,
        TokenFormat::Word => {
            writeln!(out, "{}", made.token)?;
            let TokenInfo { id, user_id, .. } = &made.about;
            Verbosity::Notes.note(format_args!(
                "token {id} stands for user {user_id}; it is not shown again"
            ));
        }
    }
    Ok(())
}

fn list_tokens(address: &ServiceAddressArgs, format: OutputFormat) -> Result<(), CliFailure> {
    let listed: TokenList = address.connect()?.get("/v1/tokens")?;
    let mut out = io::stdout().lock();
    match format {
        OutputFormat::Json => format::write_json(&mut out, &listed)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let now = format::now();
            let local = |at: &Option<String>| {
                at.as_ref()
                    .map_or_else(String::new, |at| format::format_local_time(at, &now))
            };
            let mut columns = vec![
                Column::new("id", |token: &TokenInfo| token.id.clone()),
                Column::new("proof", |token: &TokenInfo| token.proof.to_string()),
                Column::new("user", |token: &TokenInfo| token.user_id.to_string()),
                Column::new("kind", |token: &TokenInfo| token.kind.to_string()),
                Column::new("made", |token: &TokenInfo| local(&token.made_at)),
                Column::new("expires", |token: &TokenInfo| local(&token.expires_at)),
            ];
            if listed.tokens.iter().any(|token| uses(token).is_some()) {
                columns.push(Column::optional("uses", uses));
            }
            write_list(&mut out, &columns, &listed.tokens)?;
        }
    }
    Ok(())
}

/// Returns how many workers may still use a token, or the token that a worker used for its key.
fn uses(token: &TokenInfo) -> Option<String> {
    let left = token.uses_left.map(|left| format!("{left} left"));
    let issuer = token.issued_with.as_ref();
    left.or_else(|| issuer.map(|issuer| format!("key from {issuer}")))
}

fn revoke_path(id: &str) -> Result<String, CliFailure> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(format!("/v1/tokens/{id}/revoke"));
    }
    let message = format!("expected an id as `tollgate token list` shows it, got `{id}`");
    Err(CliFailure::invalid_flag("id", message))
}
