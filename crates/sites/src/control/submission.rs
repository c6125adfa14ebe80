//! One pilot: its token, its script, its submission.

use std::fs;
use std::path::PathBuf;

use tollgate_batch::EngineCommand;
use tollgate_model::Span;
use tollgate_provisioning::NewPilot;

use super::{HOUR, ServiceAddress, SiteControl, TokenIssuer};
use crate::error::SiteError;
use crate::journal::{has_passed, replace_file};
use crate::pilot::{PilotPhase, PilotRecord};
use crate::shell::ShellError;

/// The time after which a pilot that is gone has no use for its token: an engine that lost its state
/// for a moment may report the pilot again.
const GONE_FOR_GOOD: Span = Span::from_secs(600);
/// The directory for pilots in the home directory of another host.
const REMOTE_DIR: &str = ".tollgate-pilots";

impl SiteControl {
    /// Submits one pilot, and returns its number.
    pub(super) fn submit(
        &mut self,
        new: NewPilot,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<u32, SiteError> {
        let number = self.state.next_number;
        let (token_file, token) = match service.needs_token {
            false => (None, None),
            true => {
                let token = tokens.issue().map_err(SiteError::Token)?;
                (Some(self.place_token(number, &token.text)?), token.id)
            }
        };
        let form = self.form(new);
        let script = self.script(number, form, service, token_file.as_deref());
        let job = self.job(number, form, script);
        // From here on a crash leaves the name, by which the pilot is found.
        let mut pilot = PilotRecord::offered(number, job.name.clone(), (self.clock)());
        pilot.token = token;
        pilot.time = Some(form.shape.time).filter(|&time| time != self.settings.time());
        pilot.cores = Some(form.shape.cores).filter(|&cores| cores != self.settings.cores);
        pilot.kind = self.kind_of(new.kind);
        self.state.pilots.push(pilot);
        self.state.next_number = number.saturating_add(1);
        self.count_submission();
        self.journal.save(&mut self.state)?;
        let command = self.dialect.submit(&job);
        let submitted = self.run(&command).and_then(|answer| {
            let id = self.dialect.parse_submit(&answer);
            id.map_err(|fault| self.engine_error(&command, fault))
        });
        match submitted {
            Ok(id) => {
                self.journal
                    .log(format!("submitted pilot {number} as job {id}"))?;
                self.update(number, |pilot| {
                    pilot.id = Some(id);
                    pilot.phase = PilotPhase::Waits;
                })?;
                Ok(number)
            }
            Err(error) if is_certain(&error) => {
                self.journal
                    .log(format!("pilot {number} was not submitted: {error}"))?;
                self.update(number, |pilot| pilot.end("not submitted"))?;
                self.drop_token(number);
                Err(error)
            }
            Err(error) => {
                self.journal
                    .log(format!("pilot {number} may be submitted or not: {error}"))?;
                // An engine that took it on finds it by its name.
                let found = self.refresh();
                let pilot = self.state.pilot(number);
                let is_known = pilot.is_some_and(|pilot| pilot.id.is_some());
                match found {
                    Ok(()) if is_known => Ok(number),
                    Ok(()) | Err(_) => Err(error),
                }
            }
        }
    }

    /// Counts a submission towards those of the hour.
    fn count_submission(&mut self) {
        let now = (self.clock)();
        let since = now - HOUR;
        self.state.submissions.retain(|&at| at > since);
        self.state.submissions.push(now);
        self.state.looks.changed = Some(now);
    }

    fn update(
        &mut self,
        number: u32,
        change: impl FnOnce(&mut PilotRecord),
    ) -> Result<(), SiteError> {
        if let Some(pilot) = self.state.pilot(number) {
            change(pilot);
        }
        self.journal.save(&mut self.state)
    }

    pub(super) fn local_token(&self, number: u32) -> PathBuf {
        self.journal.dir().join(format!("{number}.token"))
    }

    /// Puts the token of a pilot where the pilot finds it. Returns the file as the nodes see it.
    fn place_token(&self, number: u32, token: &str) -> Result<String, SiteError> {
        let text = format!("{token}\n");
        if self.settings.via.is_some() {
            return self.place_remote_token(number, text);
        }
        let file = self.local_token(number);
        replace_file(&file, text.as_bytes())?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// Puts a token into the home directory on the other host.
    fn place_remote_token(&self, number: u32, text: String) -> Result<String, SiteError> {
        let name = format!(
            "{}-{}-{number}.token",
            self.settings.name, self.settings.key
        );
        let dir = self.in_remote_dir(&format!("cat > {name}"), text)?;
        Ok(format!("{dir}/{name}"))
    }

    /// Runs a line of shell in the directory for pilots on the other host, with a standard input, and
    /// returns the directory.
    pub(crate) fn in_remote_dir(&self, line: &str, input: String) -> Result<String, SiteError> {
        let script =
            format!("umask 077; cd && mkdir -p {REMOTE_DIR} && cd {REMOTE_DIR} && {line} && pwd");
        let command = EngineCommand {
            words: vec!["sh".to_owned(), "-c".to_owned(), script],
            input,
        };
        let answer = self.run(&command)?;
        let dir = answer.output.trim_end();
        if !answer.is_success() || !dir.starts_with('/') {
            let message = format!("{} {dir}", answer.errors.trim());
            return Err(SiteError::TokenDirectory(message));
        }
        Ok(dir.to_owned())
    }

    /// Revokes the tokens of pilots that are gone, and with each the key that its worker got. If the
    /// service does not answer, the next call does it.
    pub(super) fn revoke_tokens(&mut self, tokens: &mut dyn TokenIssuer) -> Result<(), SiteError> {
        let mut has_changed = false;
        let now = (self.clock)();
        for pilot in &mut self.state.pilots {
            let gone_at = pilot.gone_at.filter(|_| !pilot.is_live());
            let is_over = gone_at.is_some_and(|at| has_passed(GONE_FOR_GOOD, at, now));
            if !is_over {
                continue;
            }
            match pilot.token.as_deref().map(|id| tokens.revoke(id)) {
                None => {}
                Some(Ok(())) => {
                    pilot.token = None;
                    has_changed = true;
                }
                Some(Err(_)) => break,
            }
        }
        match has_changed {
            true => self.journal.save(&mut self.state),
            false => Ok(()),
        }
    }

    /// Removes the token of a pilot that is over. A token on another host stays; it is used up or
    /// expires.
    pub(super) fn drop_token(&self, number: u32) {
        let _ = fs::remove_file(self.local_token(number));
    }
}

/// Returns whether a submission that failed so was certainly not carried out.
fn is_certain(error: &SiteError) -> bool {
    match error {
        SiteError::Engine { fault, .. } => !fault.is_uncertain(),
        SiteError::Command { error, .. } => match error {
            ShellError::Start { .. } => true,
            ShellError::TimedOut { .. } | ShellError::System { .. } => false,
        },
        SiteError::Settings { .. }
        | SiteError::Unknown(_)
        | SiteError::NoSites
        | SiteError::Exists(_)
        | SiteError::Setting { .. }
        | SiteError::Argument(_)
        | SiteError::Busy(_)
        | SiteError::Kept(_)
        | SiteError::Occupied { .. }
        | SiteError::NoHome
        | SiteError::File { .. }
        | SiteError::Token(_)
        | SiteError::TokenDirectory(_) => false,
    }
}
