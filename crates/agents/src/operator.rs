//! The operator of a session: asks its agents, sends them lists, and ends them.

use std::io::{self, BufReader, Write};
use std::time::Duration;

use tollgate_client::certificate::{CertificateFiles, TlsCertificate};

use crate::AgentError;
use crate::frame::{self, AgentAnswer, AgentFrame};
use crate::link::connect;
use crate::membership::{AgentMembership, MemberSite};
use crate::status::AgentStatus;
use crate::tls::peer_config;

/// How long the pilots of a site may take to end.
const END_LIMIT: Duration = Duration::from_secs(90);

/// The holder of the operator's key of a session.
#[derive(Debug)]
pub struct AgentOperator {
    own: TlsCertificate,
}

impl AgentOperator {
    /// Reads the operator's key.
    ///
    /// # Errors
    /// An error if the files cannot be used.
    pub fn open(files: &CertificateFiles) -> Result<Self, AgentError> {
        let own = TlsCertificate::read(files)?;
        Ok(Self { own })
    }

    /// Asks the agent of a site for its state.
    ///
    /// # Errors
    /// An error if it does not answer.
    pub fn status(&self, site: &MemberSite) -> Result<AgentStatus, AgentError> {
        match self.request(site, &AgentFrame::Status)? {
            AgentAnswer::Status(status) => Ok(*status),
            AgentAnswer::Done => Err(silent(site, "it answered without its state".to_owned())),
            AgentAnswer::Refused { problem } => Err(silent(site, problem)),
        }
    }

    /// Sends the list of the next epoch to the agent of a site.
    ///
    /// # Errors
    /// An error if the agent does not answer, or refuses.
    pub fn send_members(
        &self,
        site: &MemberSite,
        members: &AgentMembership,
    ) -> Result<(), AgentError> {
        let text = members.text();
        self.order(site, &AgentFrame::Members { text })
    }

    /// Ends the agent of a site. Its pilots stay.
    ///
    /// # Errors
    /// An error if the agent does not answer.
    pub fn stop(&self, site: &MemberSite) -> Result<(), AgentError> {
        self.order(site, &AgentFrame::Stop)
    }

    /// Ends the pilots of a site, then its agent.
    ///
    /// # Errors
    /// An error if the agent does not answer, or pilots may be left.
    pub fn end(&self, site: &MemberSite) -> Result<(), AgentError> {
        self.order(site, &AgentFrame::End)
    }

    fn order(&self, site: &MemberSite, request: &AgentFrame) -> Result<(), AgentError> {
        match self.request(site, request)? {
            AgentAnswer::Done | AgentAnswer::Status(_) => Ok(()),
            AgentAnswer::Refused { problem } => Err(silent(site, problem)),
        }
    }

    fn request(&self, site: &MemberSite, request: &AgentFrame) -> Result<AgentAnswer, AgentError> {
        let Some(key) = site.key() else {
            return Err(silent(site, "its key is not known".to_owned()));
        };
        let config = peer_config(&self.own, key)?;
        let exchange = || -> io::Result<AgentAnswer> {
            let mut stream = BufReader::new(connect(site, &config)?);
            if *request == AgentFrame::End {
                let limit = Some(END_LIMIT);
                stream.get_ref().sock.set_read_timeout(limit)?;
            }
            stream.get_mut().write_all(&request.text())?;
            stream.get_mut().flush()?;
            frame::read(&mut stream)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        exchange().map_err(|error| silent(site, error.to_string()))
    }
}

fn silent(site: &MemberSite, problem: String) -> AgentError {
    AgentError::Silent {
        site: site.name.clone(),
        address: site.address.clone(),
        problem,
    }
}
