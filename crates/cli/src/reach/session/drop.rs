//! `tollgate session drop`: a site that is gone for good is written off.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};

use tollgate_agents::{AgentDirectory, AgentMembership, AgentOperator, MemberSite};
use tollgate_federation::SiteId;
use tollgate_federation::durable::{DurableState, WriteOff};

use super::error::SessionError;
use super::exit::end_process;
use super::folder::SessionFolder;
use super::moving::SessionAgency;
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

/// Write off a site of a session whose pilots move.
///
/// The pilots of the site are given up; the other sites go on without it. A site that was written off
/// does not come back.
#[derive(Debug, clap::Args)]
pub(super) struct SessionDropArgs {
    /// Name of the site
    site: String,
    /// Name of the session [default: this one, or the only one]
    name: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// `tollgate session drop`.
pub(super) fn run(args: &SessionDropArgs) -> Result<(), CliFailure> {
    let folder = SessionFolder::find(args.name.as_deref())?;
    let Some(agency) = SessionAgency::find(&folder) else {
        return Err(SessionError::Still(folder.name().to_owned()).into());
    };
    let _lock = folder.lock()?;
    let (members, operator) = (agency.members()?, agency.operator()?);
    let refused = |problem: String| SessionError::Undroppable {
        site: args.site.clone(),
        problem,
    };
    let Some((lost, _)) = members.find(&args.site) else {
        return Err(refused("not a site of the session, or written off before".to_owned()).into());
    };
    let terms = members.terms().map_err(refused)?;
    let states = states(&members, &agency, &operator, lost)?;
    let account = WriteOff::new(&terms.membership, lost, members.pilots(), &states);
    let account = account.map_err(|error| refused(error.to_string()))?;
    let pilots = pluralise(account.written_off as usize, "pilot");
    let question = format!(
        "site {}: {pilots} will be given up; {} stay at the other sites",
        args.site, account.kept
    );
    if !args.yes && !confirm(&question)? {
        return Err(refused("kept; --yes writes it off without a question".to_owned()).into());
    }
    let next = members.without(&args.site, account.written_off);
    let next = next.ok_or_else(|| refused("it is the last site".to_owned()))?;
    // From here on, agents that start have the next epoch.
    agency.write_members(&next)?;
    if let Some(pid) = agency.process(&args.site) {
        end_process(&folder, pid, "the agent of the site")?;
    }
    for (_, site) in next.live() {
        if let Err(error) = operator.send_members(site, &next) {
            Verbosity::Notes.note(format_args!(
                "site {}: it learns of the change from `tollgate session attach`: {error}",
                site.name
            ));
        }
    }
    writeln!(
        io::stdout(),
        "site {}: WRITTEN OFF: {pilots} given up; {} stay at {}",
        args.site,
        account.kept,
        pluralise(next.live().count(), "other site")
    )?;
    Verbosity::Notes.note(
        "pilots that still wait or run there end by themselves; `tollgate session exit` cancels those that it reaches",
    );
    Ok(())
}

/// Returns the state of every other site: that of its agent, or of its journal if the agent of this
/// host does not run.
fn states(
    members: &AgentMembership,
    agency: &SessionAgency,
    operator: &AgentOperator,
    lost: SiteId,
) -> Result<BTreeMap<SiteId, DurableState>, CliFailure> {
    let state = |site: &MemberSite| {
        let asked = operator.status(site).map(|status| status.state);
        asked.or_else(|error| {
            let dir = agency.agent_dir(&site.name);
            match AgentDirectory::holder(&dir) {
                None => AgentDirectory::read_state(&dir).map_err(|_| error),
                Some(_) => Err(error),
            }
        })
    };
    let others = members.live().filter(|(id, _)| *id != lost);
    let states = others.map(|(id, site)| Ok((id, state(site)?)));
    states.collect()
}

fn confirm(question: &str) -> Result<bool, CliFailure> {
    if !io::stdin().is_terminal() {
        Verbosity::Notes.note(question);
        return Ok(false);
    }
    let mut out = io::stdout();
    write!(out, "{question}. Write it off? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| CliFailure::read_failed("the terminal".to_owned(), error))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
