//! The service's configuration: a TOML file in which every key is optional.
//!
//! | module | contents |
//! |---|---|
//! | `listen`, `maintenance`, `engine`, `desktops`, `local`, `outputs`, `promise`, `workers`, `monitoring`, `retention`, `unpredictable`, `web`, `log` | the sections of the file |
//! | `rules`, `access`, `serve_options` | the settings, checked |
//! | `catalogue` | the settings with their documentation |
//! | `sample` | a sample of the file |
//! | `ranges` | ranges that several settings share |
//! | `error` | errors |

mod access;
mod catalogue;
mod desktops;
mod engine;
mod error;
mod listen;
mod local;
mod log;
pub(crate) mod maintenance;
mod monitoring;
mod outputs;
mod promise;
mod ranges;
mod retention;
mod rules;
mod sample;
mod serve_options;
mod unpredictable;
mod web;
mod workers;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tollgate_client::private_file::{self, FilePermissions};
use tollgate_model::Market;
use tollgate_service::NamedResources;

use self::desktops::DesktopConfig;
use self::local::LocalConfig;
use self::log::LogConfig;
use self::monitoring::MonitoringConfig;
use self::promise::PromiseConfig;
use self::retention::RetentionConfig;
use self::unpredictable::UnpredictableConfig;
use self::workers::WorkerConfig;
use crate::access::{ServiceLimits, UserScope};
use crate::net::credentials::CredentialConfig;
use crate::notices::NoticeSettings;
use crate::privileges::ACCOUNT;

pub use catalogue::{SectionForm, Setting, SettingSection};
pub use engine::EngineConfig;
pub use error::ConfigError;
pub use listen::{ListenConfig, TcpListenOptions};
pub use local::LocalNodes;
pub use maintenance::MaintenanceRule;
pub use outputs::OutputConfig;
pub use rules::DEFAULT_POLICY;
pub use serve_options::ServeOptions;
pub use web::WebConfig;

/// The settings as they are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceConfig {
    /// Admission policy with its parameters, as `tollgate policies` lists them. Default: the policy of the
    /// unfinished jobs in the data directory; without any, `plan:share=auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"plan:share=0.5")]
    pub policy: Option<String>,
    /// Second policy, which decides about the same jobs on paper. `tollgate status` compares its results
    /// with the real ones. Default: none.
    #[schemars(example = &"edf-bf")]
    pub shadow: Option<String>,
    /// Market: `none`, `commodity` or `bid`.
    pub market: String,
    /// Price of an hour of a core, in credits. Above 0.
    pub price_per_core_hour: f64,
    /// Run time that is assumed for a job of which nothing is known, in seconds. Above 0.
    pub default_estimate_s: f64,
    /// Level of the forecast that replaces a missing estimate: the probability that the job ends
    /// within it. Above 0 and below 1.
    pub estimate_level: f64,
    /// Promises of deadlines.
    pub promise: PromiseConfig,
    /// The former name of `promise.least`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("deprecated" = true))]
    pub confidence: Option<f64>,
    /// Maximum number of tasks that share a node (a core). At least 1.
    pub max_resident: u32,
    /// Users that the service serves: `own`, its own user, or `all`, which needs root.
    pub users: UserScope,
    /// Whether root may submit jobs where `users` is `all`.
    pub root_jobs: bool,
    /// Names of accounts below `limits.min_uid` that may submit jobs all the same where `users` is `all`.
    /// Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["daemon"])]
    pub system_users: Vec<String>,
    /// Account that the service runs as where `users` is `all`; only the runner stays root's. With
    /// `root`, everything runs as root.
    pub account: String,
    /// Limits of each user.
    pub limits: ServiceLimits,
    /// The service's own host.
    pub local: LocalConfig,
    /// Batch system whose nodes run the jobs. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineConfig>,
    /// Workers on other hosts.
    pub workers: WorkerConfig,
    /// Load of hosts that is not of jobs.
    pub monitoring: MonitoringConfig,
    /// Workers on computers that people work at.
    pub desktops: DesktopConfig,
    /// Jobs whose run time cannot be predicted.
    pub unpredictable: UnpredictableConfig,
    /// Outputs of tasks on other hosts that the service keeps.
    pub outputs: OutputConfig,
    /// Removal of the records of old jobs.
    pub retention: RetentionConfig,
    /// The log of the service, and of the runner that it starts.
    pub log: LogConfig,
    /// Times in which no job runs, by the local clock: `sat 08:00-12:00` every week, or
    /// `2026-12-24T18:00/2026-12-27T08:00` once. Promises are made around them. Only under `plan`. Default:
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["sat 08:00-12:00", "2026-12-24T18:00/2026-12-27T08:00"])]
    pub maintenance: Vec<String>,
    /// Licences of the site by name, with their number, 1 to 255. Jobs take them with `--gres`. Only under
    /// `plan`. Default: none.
    #[serde(skip_serializing_if = "NamedResources::is_empty")]
    #[schemars(example = NamedResources::from([("matlab".to_owned(), 2)]))]
    pub licences: NamedResources,
    /// Notices to users. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<NoticeSettings>,
    /// TCP address to listen on besides the socket. Connections are always with TLS. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<ListenConfig>,
    /// The window for browsers on this host, without TLS. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebConfig>,
    /// Tokens that are valid over TCP, besides those that `tollgate token new` creates. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<CredentialConfig>,
    /// Certificates of clients that may connect over TCP. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<CredentialConfig>,
    /// The folder that paths are relative to.
    #[serde(skip)]
    pub dir: PathBuf,
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
            monitoring: MonitoringConfig::default(),
            desktops: DesktopConfig::default(),
            unpredictable: UnpredictableConfig::default(),
            outputs: OutputConfig::default(),
            retention: RetentionConfig::default(),
            log: LogConfig::default(),
            maintenance: Vec::new(),
            licences: NamedResources::new(),
            notices: None,
            listen: None,
            web: None,
            tokens: Vec::new(),
            certificates: Vec::new(),
            dir: PathBuf::new(),
        }
    }
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
}
