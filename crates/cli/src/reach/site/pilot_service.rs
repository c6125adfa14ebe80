//! The service that pilots join, and its tokens.

use std::path::PathBuf;

use tollgate_client::types::{
    AccessRole, ExpectedPilot, ExpectedPilots, MovedEnds, NewToken, ReleasedWorkers, TokenList,
    TokenRequest, WorkerEnds, WorkerRelease,
};
use tollgate_client::{ApiClient, ClientError};
use tollgate_inside::PersonalScheduler;
use tollgate_model::{Bytes, Span};
use tollgate_provisioning::{PilotArrival, SiteDemand};
use tollgate_sites::{
    PilotService, PilotToken, PilotWork, ScaleOutcome, ServiceAddress, SiteControl, SiteError,
    SiteSettings, TokenIssuer,
};

use super::service_work::ServiceWork;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;

/// The HTTP status for a token that is not known.
const NOT_FOUND: u16 = 404;
/// The lifetime of a pilot's token in seconds: longer than pilots wait in any queue.
const TOKEN_LIFETIME_S: f64 = 30.0 * 86_400.0;

/// The service at an address, or a scheduler inside the pilots.
#[derive(Clone, Debug)]
pub(super) struct JoinedService {
    /// The address of the service.
    pub(super) address: ServiceAddressArgs,
    /// The directory of the scheduler, if pilots join one instead of the service.
    pub(super) inside: Option<PathBuf>,
    /// The time between two rounds.
    pub(super) every: Span,
    /// Whether pilots are submitted as work needs them.
    pub(super) follows_work: bool,
}

/// How often a round may come late before the service counts on its pilots no longer.
const ROUNDS_MISSED: i64 = 4;
/// The least time for which a statement counts: a round asks engines that may answer late.
const LEAST_VALIDITY: Span = Span::from_secs(120);

impl JoinedService {
    /// Calls `submit` with the address that pilots of a site join, and with their tokens.
    pub(super) fn with_tokens(
        &self,
        site: &mut SiteControl,
        submit: impl FnOnce(
            &mut SiteControl,
            &ServiceAddress,
            &mut dyn TokenIssuer,
        ) -> Result<ScaleOutcome, SiteError>,
    ) -> Result<ScaleOutcome, CliFailure> {
        match &self.inside {
            Some(dir) => {
                let service = ServiceAddress::execution_daemons();
                let mut tickets = SchedulerTickets(PersonalScheduler::open(dir)?);
                Ok(submit(site, &service, &mut tickets)?)
            }
            None => {
                let connect = site.settings().connect.clone();
                let service = self.address.for_workers(connect.as_deref())?;
                let mut tokens = ServiceTokens::new(&self.address);
                Ok(submit(site, &service, &mut tokens)?)
            }
        }
    }

    /// Asks for the workers of a site. None if the service does not answer: nothing is known of pilots that have
    /// joined it.
    pub(super) fn workers(&self, site: &SiteSettings) -> Option<ServiceWork> {
        match &self.inside {
            Some(_) => self.work(std::slice::from_ref(site)).ok(),
            None => ServiceWork::query_nodes(&mut self.address.connect().ok()?).ok(),
        }
    }
}

impl PilotService for JoinedService {
    type Work = ServiceWork;
    type Error = CliFailure;

    fn work(&self, sites: &[SiteSettings]) -> Result<ServiceWork, CliFailure> {
        match &self.inside {
            Some(dir) => Ok(ServiceWork::inside(&PersonalScheduler::open(dir)?, sites)?),
            None => Ok(ServiceWork::query(&mut self.address.connect()?)?),
        }
    }

    fn report_moved_ends(&self, work: &ServiceWork, site: &SiteControl) {
        report_moved_ends(work, site, &self.address);
    }

    fn expect_pilots(&self, work: &ServiceWork, site: &SiteControl) {
        if self.inside.is_none() {
            self.state_expected(work, site);
        }
    }

    fn takes_shapes(&self) -> bool {
        // A scheduler inside the pilots knows the size of its nodes beforehand.
        self.inside.is_none()
    }

    fn release(&self, workers: &[String]) -> Result<(), CliFailure> {
        // Only the scheduler inside the pilots knows what they run.
        if self.inside.is_some() {
            return Ok(());
        }
        let request = WorkerRelease {
            workers: workers.to_vec(),
        };
        let mut client = self.address.connect()?;
        match client.post::<ReleasedWorkers>("/v1/worker-releases", &request) {
            // A service of before does not know the path. Its pilots leave after `--idle`.
            Ok(_) => Ok(()),
            Err(ClientError::Refused { status, .. }) if status.as_u16() == NOT_FOUND => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn follow(
        &self,
        site: &mut SiteControl,
        demand: &SiteDemand,
    ) -> Result<ScaleOutcome, CliFailure> {
        self.with_tokens(site, |site, service, tokens| {
            site.follow(demand, service, tokens)
        })
    }
}

/// Tells the service at an address the ends of pilots that the engine has moved since they registered. A
/// service that does not take them learns them by the next look.
pub(super) fn report_moved_ends(
    work: &ServiceWork,
    site: &SiteControl,
    address: &ServiceAddressArgs,
) {
    let ends = work.moved_ends(site.running_ends());
    if !ends.is_empty()
        && let Ok(mut client) = address.connect()
    {
        let _ = client.post::<MovedEnds>("/v1/worker-ends", &WorkerEnds { ends });
    }
}

impl JoinedService {
    /// States to the service which pilots are expected at a site.
    fn state_expected(&self, work: &ServiceWork, site: &SiteControl) {
        let delay = self.follows_work.then_some(self.every);
        let pilots = site.expected_pilots(&|name| work.worker(name), delay);
        let memory = site.settings().memory_of_core();
        let name = &site.settings().name;
        let validity = Span::from_micros(self.every.as_micros().saturating_mul(ROUNDS_MISSED));
        let statement = ExpectedPilots {
            site: name.clone(),
            valid_for_s: validity.max(LEAST_VALIDITY).as_secs_f64(),
            pilots: pilots
                .iter()
                .map(|pilot| expected_pilot(pilot, memory))
                .collect(),
            running: site.joined_workers().collect(),
            preempted_per_h: site.hazard().counted_per_hour(),
        };
        let is_preempted = statement.preempted_per_h > 0.0;
        let is_news = work.expects(name) || !statement.pilots.is_empty() || is_preempted;
        if is_news && let Ok(mut client) = self.address.connect() {
            let _ = client.post::<ExpectedPilots>("/v1/expected-pilots", &statement);
        }
    }
}

fn expected_pilot(pilot: &PilotArrival, memory: Option<Bytes>) -> ExpectedPilot {
    ExpectedPilot {
        worker: pilot.worker.clone(),
        cores: pilot.cores,
        memory_per_core_bytes: memory.map(Bytes::as_u64),
        stays_s: pilot.stays.as_secs_f64(),
        starts_in_s: pilot
            .starts
            .iter()
            .map(|start| start.as_secs_f64())
            .collect(),
    }
}

/// A scheduler inside the pilots as a source of their tickets.
struct SchedulerTickets(PersonalScheduler);

impl TokenIssuer for SchedulerTickets {
    fn issue(&mut self) -> Result<PilotToken, String> {
        let ticket = self.0.ticket().map_err(|error| error.to_string())?;
        Ok(PilotToken {
            text: ticket.text(),
            id: None,
        })
    }

    fn revoke(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// The service as a source of tokens for pilots. Connects when the first token is wanted.
pub(super) struct ServiceTokens<'a> {
    address: &'a ServiceAddressArgs,
    client: Option<ApiClient>,
}

impl<'a> ServiceTokens<'a> {
    pub(super) const fn new(address: &'a ServiceAddressArgs) -> Self {
        Self {
            address,
            client: None,
        }
    }

    fn client(&mut self) -> Result<&mut ApiClient, CliFailure> {
        match &mut self.client {
            Some(client) => Ok(client),
            none => Ok(none.insert(self.address.connect()?)),
        }
    }

    fn request(&mut self) -> Result<NewToken, CliFailure> {
        let request = TokenRequest {
            user: None,
            kind: AccessRole::Worker,
            expires_s: Some(TOKEN_LIFETIME_S),
            uses: Some(1),
        };
        Ok(self.client()?.post("/v1/tokens", &request)?)
    }
}

impl TokenIssuer for ServiceTokens<'_> {
    fn issue(&mut self) -> Result<PilotToken, String> {
        let made = self.request().map_err(|failure| failure.to_string())?;
        Ok(PilotToken {
            text: made.token,
            id: Some(made.about.id),
        })
    }

    fn revoke(&mut self, id: &str) -> Result<(), String> {
        let client = self.client().map_err(|failure| failure.to_string())?;
        match client.post::<TokenList>(&format!("/v1/tokens/{id}/revoke"), &()) {
            Ok(_) => Ok(()),
            Err(ClientError::Refused { status, .. }) if status.as_u16() == NOT_FOUND => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}
