//! The settings that a service starts with, checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tollgate_batch_engine::BatchSystem;
use tollgate_client::certificate::{CertificateError, TlsCertificate};
use tollgate_model::{MAX_DEVICES, Otherwise, Span};
use tollgate_service::NamedResources;
use tollgate_workers::lease::LeaseTimings;

use super::ServiceConfig;
use super::error::ConfigError;
use super::listen::{self, TcpListenOptions};
use super::local::LocalNodes;
use super::maintenance::MaintenanceRule;
use super::outputs::OutputConfig;
use super::ranges::{at_least_one, named_resources};
use crate::access::AccessRules;
use crate::exporters::HostExporter;
use crate::net::Credential;
use crate::notices::NoticeSettings;
use crate::os_users;
use crate::window::WindowSetup;

/// The access rules and addresses of a service.
#[derive(Debug, Default)]
pub struct ServeOptions {
    /// Whether the settings name no policy. Then unfinished jobs go on under the policy that they were
    /// submitted to.
    pub keeps_policy: bool,
    /// Whether the host's clock is taken if the service's is ahead of it.
    pub accepts_clock: bool,
    /// Access rules and limits.
    pub access: AccessRules,
    /// TCP address besides the Unix socket.
    pub listen: Option<TcpListenOptions>,
    /// The window, if the service serves one. The program that makes its pages sets it.
    pub window: Option<WindowSetup>,
    /// Tokens and certificates of the configuration.
    pub credentials: Vec<Credential>,
    /// The cores that the service offers of its own host.
    pub local_nodes: LocalNodes,
    /// The batch system whose nodes run the jobs, if there is one.
    pub batch_system: Option<Arc<BatchSystem>>,
    /// The lease timings of workers.
    pub lease: LeaseTimings,
    /// The time between two looks at the load of hosts that is not of jobs; None if it is not measured.
    pub load_interval: Option<Duration>,
    /// The node exporters of hosts.
    pub exporters: Vec<HostExporter>,
    /// Times in which no job runs.
    pub maintenance: Vec<MaintenanceRule>,
    /// Weights of users in the fair order, ascending by user id; 1 of all others.
    pub user_weights: Vec<(u32, f64)>,
    /// Licences of the site, with their number.
    pub licences: NamedResources,
    /// Devices of this host, with their number.
    pub local_devices: NamedResources,
    /// The treatment of a job that cannot be promised, if its user sets none and the policy runs such jobs.
    pub otherwise: Otherwise,
    /// Notices to users, if there are any.
    pub notices: Option<NoticeSettings>,
    /// Outputs of tasks on other hosts that the service keeps.
    pub outputs: OutputConfig,
    /// Time after its end after which a job is removed; None for never.
    pub keep_jobs: Option<Span>,
    /// The configured certificate, if it was read already: root can read the file, but the service
    /// account may not be able to.
    pub certificate: Option<TlsCertificate>,
}

impl ServeOptions {
    /// Reads the configured certificate and its key, if any.
    ///
    /// # Errors
    /// If the files cannot be used.
    pub fn read_certificate(&mut self) -> Result<(), CertificateError> {
        let files = self
            .listen
            .as_ref()
            .and_then(|listen| listen.files.as_ref());
        self.certificate = files.map(TlsCertificate::read).transpose()?;
        Ok(())
    }
}

impl ServiceConfig {
    /// Returns the access rules and addresses.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn serve_options(&self) -> Result<ServeOptions, ConfigError> {
        let access = self.access()?;
        let scope = access.scope;
        let listen = self.listen.as_ref();
        Ok(ServeOptions {
            keeps_policy: self.policy.is_none(),
            accepts_clock: false,
            access,
            listen: listen.map(|listen| listen.resolve(&self.dir)).transpose()?,
            window: None,
            credentials: listen::keys(&self.tokens, &self.certificates, scope)?,
            local_nodes: match self.engine {
                Some(_) => LocalNodes::Count(0),
                None => self.local.nodes,
            },
            batch_system: None,
            local_devices: self.local_devices()?,
            lease: self.workers.timings()?,
            load_interval: self.monitoring.load_interval()?,
            exporters: self.monitoring.exporters()?,
            maintenance: self.maintenance()?,
            user_weights: self.user_weights()?,
            licences: named_resources("licences", &self.licences)?,
            otherwise: self.promise.otherwise.into(),
            notices: self.notices()?,
            outputs: self.outputs.checked()?,
            keep_jobs: self.retention.keep_jobs()?,
            certificate: None,
        })
    }

    fn maintenance(&self) -> Result<Vec<MaintenanceRule>, ConfigError> {
        let rules = self.maintenance.iter().map(|words| {
            MaintenanceRule::parse(words).ok_or_else(|| ConfigError::Range {
                key: "maintenance",
                expected: "`sat 08:00-12:00` or `2026-12-24T18:00/2026-12-27T08:00`",
                found: words.clone(),
            })
        });
        rules.collect()
    }

    fn local_devices(&self) -> Result<NamedResources, ConfigError> {
        let devices = named_resources("local.devices", &self.local.devices)?;
        match devices.iter().find(|(_, count)| **count > MAX_DEVICES) {
            None => Ok(devices),
            Some((name, count)) => Err(ConfigError::Range {
                key: "local.devices",
                expected: "at most 64 of each",
                found: format!("{name} = {count}"),
            }),
        }
    }

    fn notices(&self) -> Result<Option<NoticeSettings>, ConfigError> {
        let Some(notices) = &self.notices else {
            return Ok(None);
        };
        notices.check()?;
        at_least_one("notices.per_minute", u64::from(notices.per_minute))?;
        at_least_one("notices.timeout_s", u64::from(notices.timeout_s))?;
        Ok(Some(notices.clone()))
    }

    /// Returns the weights of users in the fair order. May wait for the system's name service.
    fn user_weights(&self) -> Result<Vec<(u32, f64)>, ConfigError> {
        let range = |expected, found| ConfigError::Range {
            key: "promise.weights",
            expected,
            found,
        };
        let mut weights = BTreeMap::new();
        for (name, &weight) in &self.promise.weights {
            let user = match name.parse() {
                Ok(user) => user,
                Err(_) => os_users::by_name(name).map_err(|error| {
                    range(
                        "names or numbers of accounts of this host",
                        error.to_string(),
                    )
                })?,
            };
            if !(weight.is_finite() && weight > 0.0) {
                return Err(range("weights above 0", weight.to_string()));
            }
            weights.insert(user, weight);
        }
        Ok(weights.into_iter().collect())
    }
}
