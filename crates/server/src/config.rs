//! The service's configuration: a TOML file in which every key is optional.

mod engine;
mod listen;
mod local;
pub(crate) mod maintenance;
mod outputs;
mod promise;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SpanRelativeTo, Unit};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tollgate_batch_engine::BatchSystem;
use tollgate_client::certificate::{CertificateError, TlsCertificate};
use tollgate_client::limits::{MAX_SPAN_S, MIN_SPAN_S};
use tollgate_client::private_file::{self, FilePermissions, PrivateFileError};
use tollgate_client::resources::is_resource_name;
use tollgate_model::{MAX_DEVICES, MAX_RESOURCES, Market, Otherwise, Probability, Span};
use tollgate_policy::{PolicyError, PolicyRegistry, PolicySpec};
use tollgate_runner::guard::UserFloor;
use tollgate_runner::log::{LogSettings, UnknownLogSetting};
use tollgate_service::{AdmissionRules, NamedResources};
use tollgate_workers::lease::{self, LeaseTimings};

use self::local::LocalConfig;
use self::promise::PromiseConfig;
use crate::access::{AccessRules, ServiceLimits, UserScope};
use crate::accounts::Accounts;
use crate::net::Credential;
use crate::net::credentials::CredentialConfig;
use crate::notices::NoticeSettings;
use crate::os_users;
use crate::privileges::ACCOUNT;

pub use engine::EngineConfig;

pub use maintenance::MaintenanceRule;

pub use local::LocalNodes;

pub use outputs::OutputConfig;

pub use listen::{ListenConfig, TcpListenOptions};

/// The settings as they are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceConfig {
    /// Admission policy, as in `tollgate policies`, with its settings. Default: the policy that jobs of
    /// the data directory wait or run under, else `plan:share=auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Second policy, which decides about the same jobs on paper; its results are reported beside the
    /// real ones.
    pub shadow: Option<String>,
    /// Market: `none`, `commodity` or `bid`.
    pub market: String,
    /// Price of an hour of a core, in credits. Above 0.
    pub price_per_core_hour: f64,
    /// Run time assumed for a job of which nothing is known. Above 0.
    pub default_estimate_s: f64,
    /// Level of the forecast that replaces a missing estimate: the probability that the job ends
    /// within it. Between 0 and 1.
    pub estimate_level: f64,
    /// What the site says about promises.
    pub promise: PromiseConfig,
    /// The former name of `promise.least`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Maximum number of tasks that share a node (a core). At least 1.
    pub max_resident: u32,
    /// Users that the service serves: `own`, its own user, or `all`, which needs root.
    pub users: UserScope,
    /// Whether root may submit jobs where `users` is `all`.
    pub root_jobs: bool,
    /// Names of accounts below `limits.min_uid` that may submit jobs all the same where `users` is `all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system_users: Vec<String>,
    /// Account that the service runs as where `users` is `all`; only the runner stays root's. With
    /// `root`, everything runs as root.
    pub account: String,
    /// How much one user may have of the service.
    pub limits: ServiceLimits,
    /// The service's own host.
    pub local: LocalConfig,
    /// Batch system whose nodes run the jobs; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineConfig>,
    /// Workers on other hosts.
    pub workers: WorkerConfig,
    /// Outputs of tasks on other hosts that the service keeps.
    pub outputs: OutputConfig,
    /// How long records of jobs are kept.
    pub retention: RetentionConfig,
    /// Log settings.
    pub log: LogConfig,
    /// Times in which no job runs, by the local clock: `sat 08:00-12:00` every week, or
    /// `2026-12-24T18:00/2026-12-27T08:00` once. Promises are made around them. Only under `plan`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maintenance: Vec<String>,
    /// Licences of the site by name, with their number, 1 to 255: `licences = { matlab = 2 }`. Jobs take
    /// them with `--gres`. Only under `plan`.
    #[serde(skip_serializing_if = "NamedResources::is_empty")]
    pub licences: NamedResources,
    /// Notices to users; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<NoticeSettings>,
    /// Addresses to listen on besides the socket; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<ListenConfig>,
    /// Tokens that are valid over TCP, besides those that `tollgate token new` creates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<CredentialConfig>,
    /// Certificates of clients that may connect over TCP.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<CredentialConfig>,
    /// The folder that paths are relative to.
    #[serde(skip)]
    pub dir: PathBuf,
}

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
    /// Tokens and certificates of the configuration.
    pub credentials: Vec<Credential>,
    /// The cores that the service offers of its own host.
    pub local_nodes: LocalNodes,
    /// The batch system whose nodes run the jobs, if there is one.
    pub batch_system: Option<Arc<BatchSystem>>,
    /// The lease timings of workers.
    pub lease: LeaseTimings,
    /// Times in which no job runs.
    pub maintenance: Vec<MaintenanceRule>,
    /// Weights of users in the fair order, ascending by user id; 1 of all others.
    pub user_weights: Vec<(u32, f64)>,
    /// Licences of the site, with their number.
    pub licences: NamedResources,
    /// Devices of this host, with their number.
    pub local_devices: NamedResources,
    /// What becomes of a job that cannot be promised, if its user does not say and the policy runs such jobs.
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

/// The policy of a service whose settings name none.
pub const DEFAULT_POLICY: &str = "plan:share=auto";

/// Settings for workers on other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerConfig {
    /// Seconds without a message after which a worker and its jobs are lost. At least 2,
    /// at most an hour.
    pub grace_s: f64,
}

/// How long records of jobs are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// Time after its end after which a job is removed, as in `90d`. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<String>,
}

impl RetentionConfig {
    fn keep_jobs(&self) -> Result<Option<Span>, ConfigError> {
        let Some(words) = &self.jobs else {
            return Ok(None);
        };
        let days = SpanRelativeTo::days_are_24_hours();
        let read = words.parse::<jiff::Span>();
        let secs = read.and_then(|span| span.total((Unit::Second, days))).ok();
        let secs = secs.filter(|secs| (MIN_SPAN_S..=MAX_SPAN_S).contains(secs));
        let secs = secs.ok_or(ConfigError::Range {
            key: "retention.jobs",
            expected: "a span as in 90d, 12w or 48h, at most a hundred years",
            found: words.clone(),
        })?;
        Ok(Some(Span::from_secs_f64(secs)))
    }
}

/// Log settings of the service and of the runner that it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// The format of the lines on standard error: `text` or `json`.
    pub format: String,
    /// Minimum level of written events: `error`, `warn`, `info` or `debug`.
    pub level: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        let LogSettings { format, level } = LogSettings::default();
        Self {
            format: format.to_string(),
            level: level.to_string(),
        }
    }
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            grace_s: LeaseTimings::default().grace.as_secs_f64(),
        }
    }
}

impl WorkerConfig {
    fn timings(self) -> Result<LeaseTimings, ConfigError> {
        let allowed = lease::MIN_GRACE.as_secs_f64()..=lease::MAX_GRACE.as_secs_f64();
        if allowed.contains(&self.grace_s) {
            let grace = Duration::from_secs_f64(self.grace_s);
            return Ok(LeaseTimings { grace });
        }
        Err(ConfigError::Range {
            key: "workers.grace_s",
            expected: "seconds, at least 2 and at most 3600",
            found: self.grace_s.to_string(),
        })
    }
}

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            policy: None,
            shadow: None,
            market: Market::None.name().to_owned(),
            price_per_core_hour: 1.0,
            default_estimate_s: 600.0,
            estimate_level: 0.9,
            promise: PromiseConfig::default(),
            confidence: None,
            max_resident: 8,
            users: UserScope::Own,
            root_jobs: false,
            system_users: Vec::new(),
            account: ACCOUNT.to_owned(),
            limits: ServiceLimits::default(),
            local: LocalConfig::default(),
            engine: None,
            workers: WorkerConfig::default(),
            outputs: OutputConfig::default(),
            retention: RetentionConfig::default(),
            log: LogConfig::default(),
            maintenance: Vec::new(),
            licences: NamedResources::new(),
            notices: None,
            listen: None,
            tokens: Vec::new(),
            certificates: Vec::new(),
            dir: PathBuf::new(),
        }
    }
}

/// An error of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not valid TOML for the configuration.
    #[error("{}: {error}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The parse error with its location.
        error: Box<toml::de::Error>,
    },
    /// Other users may write to the file or its directory.
    #[error(transparent)]
    Open(#[from] PrivateFileError),
    /// An entry for a token or certificate is invalid.
    #[error("{list}: {place}: {what}")]
    Credential {
        /// `tokens` or `certificates`.
        list: &'static str,
        /// Position of the entry, from 1.
        place: usize,
        /// Description of the problem.
        what: String,
    },
    /// The policy does not exist or its parameters are invalid.
    #[error("{key}: {error}")]
    Policy {
        /// Key of the setting.
        key: &'static str,
        /// Error of the policy.
        error: PolicyError,
    },
    /// The setting names several policies.
    #[error("{key}: expected one policy, got `{found}`")]
    Policies {
        /// Key of the setting.
        key: &'static str,
        /// The value found.
        found: String,
    },
    /// The policy needs budgets, but the market has none.
    #[error("{key}: `{policy}` weighs budgets, and in market `{market}` there are none")]
    WrongMarket {
        /// Key of the setting.
        key: &'static str,
        /// The policy.
        policy: String,
        /// The market.
        market: Market,
    },
    /// The policy is another program.
    #[error(
        "{key}: `{policy}` is no policy for a service: a decision must not wait for another \
         program, and cannot be repeated after a crash"
    )]
    ExternalPolicy {
        /// Key of the setting.
        key: &'static str,
        /// The policy.
        policy: String,
    },
    /// A setting is out of its range.
    #[error("{key}: expected {expected}, got {found}")]
    Range {
        /// Key of the setting.
        key: &'static str,
        /// The expected range.
        expected: &'static str,
        /// The value found.
        found: String,
    },
}

impl ServiceConfig {
    /// Reads a file that only this user and root may change, because the file decides about access.
    ///
    /// # Errors
    /// If the file cannot be read, others may change it, or a setting is invalid.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error| ConfigError::Read {
            path: path.to_owned(),
            error,
        };
        let path = &std::path::absolute(path).map_err(failed)?;
        // Non-blocking, in case the path is a named pipe: a pipe is then rejected for its owner or
        // as invalid TOML.
        let mut file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        private_file::check_file(&file, path, FilePermissions::Public)?;
        let dir = path.parent().unwrap_or(path);
        private_file::check_parent_dir(dir)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let config: Self = toml::from_str(&text).map_err(|error| ConfigError::Parse {
            path: path.to_owned(),
            error: Box::new(error),
        })?;
        Ok(Self {
            dir: dir.to_owned(),
            ..config
        })
    }

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
            credentials: listen::keys(&self.tokens, &self.certificates, scope)?,
            local_nodes: match self.engine {
                Some(_) => LocalNodes::Count(0),
                None => self.local.nodes,
            },
            batch_system: None,
            local_devices: self.local_devices()?,
            lease: self.workers.timings()?,
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
        at_least_one("notices.command", notices.command.len() as u64)?;
        at_least_one("notices.per_minute", u64::from(notices.per_minute))?;
        at_least_one("notices.timeout_s", u64::from(notices.timeout_s))?;
        Ok(Some(notices.clone()))
    }

    /// Returns the log settings.
    ///
    /// # Errors
    /// The first invalid format or level.
    pub fn log(&self) -> Result<LogSettings, ConfigError> {
        Ok(LogSettings {
            format: parse_log_setting("log.format", &self.log.format)?,
            level: parse_log_setting("log.level", &self.log.level)?,
        })
    }

    /// Returns the settings that decisions depend on; the policies are those of `registry`.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn rules(&self, registry: &PolicyRegistry) -> Result<AdmissionRules, ConfigError> {
        let market = self.market.parse().map_err(|_| ConfigError::Range {
            key: "market",
            expected: "none, commodity or bid",
            found: self.market.clone(),
        })?;
        let shadow = self.shadow.as_deref();
        Ok(AdmissionRules {
            policy: {
                let words = self.policy.as_deref().unwrap_or(DEFAULT_POLICY);
                one_policy(registry, "policy", words, market)?
            },
            shadow: shadow
                .map(|words| one_policy(registry, "shadow", words, market))
                .transpose()?,
            registry: registry.clone(),
            market,
            price: positive("price_per_core_hour", self.price_per_core_hour)?,
            default_estimate: Span::from_secs_f64(positive(
                "default_estimate_s",
                self.default_estimate_s,
            )?),
            level: self.estimate_level()?,
            confidence: self.least_promise()?,
            max_resident: {
                at_least_one("max_resident", u64::from(self.max_resident))?;
                self.max_resident
            },
            start_delay: match &self.engine {
                Some(engine) => engine.start_delay()?,
                None => Span::ZERO,
            },
        })
    }

    /// Returns the access rules.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn access(&self) -> Result<AccessRules, ConfigError> {
        let limits = self.limits;
        at_least_one("limits.connections", u64::from(limits.connections))?;
        at_least_one("limits.workers", u64::from(limits.workers))?;
        at_least_one("limits.strangers", u64::from(limits.strangers))?;
        at_least_one("limits.streams", u64::from(limits.streams))?;
        at_least_one("limits.jobs", u64::from(limits.jobs))?;
        at_least_one("limits.tasks", u64::from(limits.tasks))?;
        at_least_one("limits.stored_bytes", limits.stored_bytes)?;
        at_least_one("limits.array", u64::from(limits.array))?;
        at_least_one("limits.task_processes", u64::from(limits.task_processes))?;
        at_least_one("limits.output_bytes", limits.output_bytes)?;
        at_least_one("limits.body_bytes", limits.body_bytes as u64)?;
        if !(1e-3..=3600.0).contains(&limits.request_s) {
            return Err(ConfigError::Range {
                key: "limits.request_s",
                expected: "seconds, at least 0.001 and at most 3600",
                found: limits.request_s.to_string(),
            });
        }
        Ok(AccessRules {
            floor: self.user_floor()?,
            scope: self.users,
            root_jobs: self.root_jobs,
            limits,
            // They are known once the data directory is open.
            accounts: Accounts::default(),
        })
    }

    /// Returns the lowest user that may submit jobs. May wait for the system's name service.
    ///
    /// # Errors
    /// If an exception is the name of no account.
    pub fn user_floor(&self) -> Result<UserFloor, ConfigError> {
        let number = |name: &String| {
            os_users::by_name(name).map_err(|error| ConfigError::Range {
                key: "system_users",
                expected: "names of accounts of this host",
                found: error.to_string(),
            })
        };
        let exceptions = self.system_users.iter().map(number);
        Ok(UserFloor {
            min_uid: self
                .limits
                .min_uid
                .unwrap_or_else(UserFloor::uid_min_of_host),
            exceptions: exceptions.collect::<Result<_, _>>()?,
        })
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

    fn least_promise(&self) -> Result<u32, ConfigError> {
        let least = self.least();
        if (0.0..=1.0).contains(&least) {
            return Ok((least * 1e6).round() as u32);
        }
        Err(ConfigError::Range {
            key: "promise.least",
            expected: "a probability, between 0 and 1",
            found: least.to_string(),
        })
    }

    /// Returns the minimum probability of a promise.
    fn least(&self) -> f64 {
        self.confidence.unwrap_or(self.promise.least)
    }

    fn estimate_level(&self) -> Result<Probability, ConfigError> {
        let level = Some(self.estimate_level).filter(|&level| level > 0.0 && level < 1.0);
        level.and_then(Probability::new).ok_or(ConfigError::Range {
            key: "estimate_level",
            expected: "a probability above 0 and below 1",
            found: self.estimate_level.to_string(),
        })
    }
}

fn one_policy(
    registry: &PolicyRegistry,
    key: &'static str,
    words: &str,
    market: Market,
) -> Result<PolicySpec, ConfigError> {
    let choices = registry.parse_list(words);
    let mut choices = choices.map_err(|error| ConfigError::Policy { key, error })?;
    let (Some(policy), true) = (choices.pop(), choices.is_empty()) else {
        let found = words.to_owned();
        return Err(ConfigError::Policies { key, found });
    };
    if policy.is_external() {
        let policy = policy.to_string();
        return Err(ConfigError::ExternalPolicy { key, policy });
    }
    if policy.runs_in(market) {
        return Ok(policy);
    }
    Err(ConfigError::WrongMarket {
        key,
        policy: policy.to_string(),
        market,
    })
}

fn parse_log_setting<T: FromStr<Err = UnknownLogSetting>>(
    key: &'static str,
    word: &str,
) -> Result<T, ConfigError> {
    word.parse()
        .map_err(|UnknownLogSetting(expected)| ConfigError::Range {
            key,
            expected,
            found: word.to_owned(),
        })
}

fn positive(key: &'static str, number: f64) -> Result<f64, ConfigError> {
    if number.is_finite() && number >= 1e-6 {
        return Ok(number);
    }
    Err(ConfigError::Range {
        key,
        expected: "a number above 0",
        found: number.to_string(),
    })
}

/// Returns devices or licences with names and numbers that are allowed.
fn named_resources(
    key: &'static str,
    named: &NamedResources,
) -> Result<NamedResources, ConfigError> {
    let is_wrong = |(name, count): &(&String, &u8)| **count == 0 || !is_resource_name(name);
    if named.len() > MAX_RESOURCES {
        return Err(ConfigError::Range {
            key,
            expected: "at most 8 names",
            found: named.len().to_string(),
        });
    }
    match named.iter().find(is_wrong) {
        None => Ok(named.clone()),
        Some((name, count)) => Err(ConfigError::Range {
            key,
            expected: "names as in gpu or gpu:a100, and numbers of at least 1",
            found: format!("{name} = {count}"),
        }),
    }
}

fn at_least_one(key: &'static str, number: u64) -> Result<(), ConfigError> {
    if number > 0 {
        return Ok(());
    }
    Err(ConfigError::Range {
        key,
        expected: "at least 1",
        found: number.to_string(),
    })
}
