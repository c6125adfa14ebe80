//! The address of the service: flags, environment and defaults.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use tollgate_client::Fingerprint;
use tollgate_client::clusters_file::ServiceEndpoint;
use tollgate_client::endpoint::{
    AUTHORITIES_VARIABLE, CERTIFICATE_VARIABLE, ConnectOptions, DATA_VARIABLE,
    FINGERPRINT_VARIABLE, TOKEN_VARIABLE, URL_VARIABLE,
};
use tollgate_client::types::JobRequest;
use tollgate_client::{ApiClient, ReconnectPolicy, RemoteService, ServiceTarget};
use tollgate_server::BoundAddress;
use tollgate_sites::{PilotBody, ServiceAddress};
use tollgate_store::data_dir;

use super::error::ClientCommandError;
use super::reconnect::{self, ClientPurpose};
use crate::exit::CliFailure;
use crate::parse;

/// The heading under which `--help` lists the options that find a service.
pub(crate) const CONNECTION_HEADING: &str = "Connection";

/// The data directory of a service.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DataDirArgs {
    /// Data directory of the service [default: TOLLGATE_DATA, else ~/.local/state/tollgate]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// The address of a service: its data directory on this host, its URL on another one, or its name
/// among the user's clusters.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ServiceAddressArgs {
    #[command(flatten)]
    pub(crate) direct: DirectAddressArgs,
    /// Name of the cluster, as `tollgate cluster list` shows it
    #[arg(
        long, value_name = "NAME", conflicts_with_all = ["data", "url"],
        help_heading = CONNECTION_HEADING,
    )]
    cluster: Option<String>,
    /// Try again for this long after a lost connection [default: 60s]
    ///
    /// A command that waits for the end of a job tries again without limit. Nothing is submitted or changed
    /// twice. If the service does not answer in time, the exit code is 75.
    #[arg(
        long, value_name = "SPAN", value_parser = parse::parse_span, hide_short_help = true,
        help_heading = CONNECTION_HEADING,
    )]
    reconnect: Option<f64>,
}

/// The address of a service without a name: its data directory on this host, or its URL on another one.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DirectAddressArgs {
    /// Data directory of the service [default: TOLLGATE_DATA, else ~/.local/state/tollgate]
    #[arg(long, value_name = "DIR", help_heading = CONNECTION_HEADING)]
    data: Option<PathBuf>,
    /// URL of a service on another host, https://HOST:PORT [default: TOLLGATE_URL]
    #[arg(long, value_name = "URL", conflicts_with = "data", help_heading = CONNECTION_HEADING)]
    url: Option<String>,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// The credentials that client and service of a TLS connection show each other.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct CredentialArgs {
    /// With --url: file with the token [default: TOLLGATE_TOKEN_FILE]
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = CONNECTION_HEADING)]
    token_file: Option<PathBuf>,
    /// With --url: file with the client's certificate and private key [default:
    /// TOLLGATE_CERTIFICATE]
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = CONNECTION_HEADING)]
    certificate: Option<PathBuf>,
    /// With --url: file with the certificates to trust [default: TOLLGATE_CA]
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = CONNECTION_HEADING)]
    ca: Option<PathBuf>,
    /// With --url: key that `tollgate serve` prints, instead of --ca [default:
    /// TOLLGATE_FINGERPRINT]
    #[arg(long, value_name = "sha256:..", hide_short_help = true, help_heading = CONNECTION_HEADING)]
    fingerprint: Option<Fingerprint>,
}

fn non_empty_var(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

impl DataDirArgs {
    /// Returns the data directory: the flag, or else the environment, or else the user's default.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, CliFailure> {
        resolve_data_dir(self.data.as_ref())
    }
}

/// Returns the data directory: the flag, or else the environment, or else the user's default.
fn resolve_data_dir(flag: Option<&PathBuf>) -> Result<PathBuf, CliFailure> {
    let folder = flag
        .cloned()
        .or_else(|| non_empty_var(DATA_VARIABLE).map(PathBuf::from))
        .or_else(|| {
            non_empty_var("XDG_STATE_HOME").map(|state| PathBuf::from(state).join("tollgate"))
        })
        .or_else(|| {
            non_empty_var("HOME").map(|home| PathBuf::from(home).join(".local/state/tollgate"))
        });
    folder.ok_or(ClientCommandError::NoData.into())
}

/// Connects to a service. A lost connection is an error.
pub(crate) fn connect_to(endpoint: &ServiceEndpoint) -> Result<ApiClient, CliFailure> {
    connect_with(endpoint, ReconnectPolicy::NEVER)
}

fn connect_with(
    endpoint: &ServiceEndpoint,
    reconnect: ReconnectPolicy,
) -> Result<ApiClient, CliFailure> {
    Ok(ApiClient::open(target(endpoint)?, reconnect)?)
}

fn target(endpoint: &ServiceEndpoint) -> Result<ServiceTarget, CliFailure> {
    Ok(match endpoint {
        ServiceEndpoint::Local(data) => ServiceTarget::Socket(data_dir::socket(data)),
        ServiceEndpoint::Remote(options) => ServiceTarget::Remote(RemoteService::new(options)?),
    })
}

impl ServiceAddressArgs {
    /// Returns the address of the service in a data directory.
    pub(crate) fn in_data_dir(data: PathBuf) -> Self {
        Self {
            direct: DirectAddressArgs {
                data: Some(data),
                ..DirectAddressArgs::default()
            },
            cluster: None,
            reconnect: None,
        }
    }

    /// Returns the address of the cluster that a job is named with, as in `north:17`; this address if it
    /// is named with none.
    pub(crate) fn at_cluster(&self, name: Option<&str>) -> Result<Self, CliFailure> {
        let Some(name) = name else {
            return Ok(self.clone());
        };
        let is_other = self.cluster.as_deref().is_some_and(|other| other != name);
        if is_other || self.direct.data.is_some() || self.direct.url.is_some() {
            let job = format!("{name}:..");
            return Err(ClientCommandError::TwoAddresses { job }.into());
        }
        Ok(Self {
            cluster: Some(name.to_owned()),
            reconnect: self.reconnect,
            ..Self::default()
        })
    }

    /// Returns whether neither a flag nor the environment names a service.
    pub(crate) fn is_default(&self) -> Result<bool, CliFailure> {
        let is_named = self.cluster.is_some()
            || self.direct.data.is_some()
            || non_empty_var(DATA_VARIABLE).is_some();
        Ok(!is_named && self.direct.url()?.is_none())
    }

    /// Connects to the service, for requests that are answered at once.
    pub(crate) fn connect(&self) -> Result<ApiClient, CliFailure> {
        self.connect_for(ClientPurpose::Answer)
    }

    /// Connects to the service.
    pub(crate) fn connect_for(&self, purpose: ClientPurpose) -> Result<ApiClient, CliFailure> {
        let target = self.target()?;
        Ok(ApiClient::open(target, self.reconnect_policy(purpose))?)
    }

    /// Returns where the service listens.
    pub(crate) fn target(&self) -> Result<ServiceTarget, CliFailure> {
        let endpoint = self.endpoint()?;
        if self.cluster.is_some() || matches!(endpoint, ServiceEndpoint::Local(_)) {
            self.direct.credentials.refuse()?;
        }
        target(&endpoint)
    }

    /// Returns what a command does after it lost its connection.
    pub(crate) fn reconnect_policy(&self, purpose: ClientPurpose) -> ReconnectPolicy {
        reconnect::policy(self.reconnect, purpose)
    }

    /// Returns where the service is.
    fn endpoint(&self) -> Result<ServiceEndpoint, CliFailure> {
        match &self.cluster {
            Some(name) => Ok(super::clusters::open()?.cluster(name)?.endpoint()),
            None => self.direct.endpoint(),
        }
    }

    /// Returns the address under which workers elsewhere reach the service. It is `connect` if it is given,
    /// else the URL, else the address at which the service of this host listens, else its socket.
    pub(crate) fn for_workers(&self, connect: Option<&str>) -> Result<ServiceAddress, CliFailure> {
        let (url, data, given) = match self.endpoint()? {
            ServiceEndpoint::Remote(options) => (Some(options.url), None, options.fingerprint),
            // A fingerprint may go with an address for workers that is not that of the clients.
            ServiceEndpoint::Local(data) => {
                let given = self.direct.credentials.fingerprint()?;
                (None, Some(data), given)
            }
        };
        let own = match &data {
            None => None,
            Some(data) => BoundAddress::read(data).map_err(|error| {
                let file = data_dir::network_address(data);
                CliFailure::read_failed(file.display().to_string(), error)
            })?,
        };
        let named = connect.map(str::to_owned).or(url);
        let connect = match (named, &own, data) {
            (Some(url), _, _) => url,
            (None, Some(own), _) => own.url(),
            (None, None, data) => {
                let socket = data_dir::socket(&data.unwrap_or_default());
                let socket = std::path::absolute(&socket).unwrap_or(socket);
                format!("unix:{}", socket.display())
            }
        };
        let is_socket = connect.starts_with("unix:");
        let print = given.map(|print| print.to_string());
        let print = print.or_else(|| own.map(|own| own.fingerprint.to_string()));
        Ok(ServiceAddress {
            connect,
            fingerprint: print.filter(|_| !is_socket),
            needs_token: !is_socket,
            body: PilotBody::Worker,
        })
    }

    /// Adds to a job the path of the file with the user's token, unless the job has one: jobs of the job may
    /// need it. The token itself does not leave its file.
    pub(crate) fn add_token_file(&self, job: &mut JobRequest) -> Result<(), CliFailure> {
        let ServiceEndpoint::Remote(ConnectOptions {
            token: Some(file), ..
        }) = self.endpoint()?
        else {
            return Ok(());
        };
        let file = std::path::absolute(&file).unwrap_or(file);
        if let Ok(file) = file.into_os_string().into_string() {
            let name = TOKEN_VARIABLE.to_owned();
            job.env.entry(name).or_insert(file);
        }
        Ok(())
    }

    /// Returns whether the service may be on another host.
    pub(crate) fn is_remote(&self) -> Result<bool, CliFailure> {
        match &self.cluster {
            Some(_) => Ok(matches!(self.endpoint()?, ServiceEndpoint::Remote(_))),
            None => Ok(self.direct.url()?.is_some()),
        }
    }
}

impl DirectAddressArgs {
    /// Returns where the service is.
    pub(crate) fn endpoint(&self) -> Result<ServiceEndpoint, CliFailure> {
        Ok(match self.url()? {
            Some(url) => ServiceEndpoint::Remote(self.credentials.options(url)?),
            None => ServiceEndpoint::Local(resolve_data_dir(self.data.as_ref())?),
        })
    }

    /// Returns the URL of the service. A flag overrides the environment, and a data directory given
    /// by a flag overrides a URL of the environment.
    fn url(&self) -> Result<Option<String>, CliFailure> {
        match (&self.url, &self.data) {
            (Some(url), _) => Ok(Some(url.clone())),
            (None, Some(_)) => Ok(None),
            (None, None) => text_var(URL_VARIABLE),
        }
    }
}

impl CredentialArgs {
    /// Fails if a flag is given for which a connection without a URL has no use. A fingerprint may be that of
    /// an address for workers.
    fn refuse(&self) -> Result<(), CliFailure> {
        let given = [
            ("token-file", &self.token_file),
            ("certificate", &self.certificate),
            ("ca", &self.ca),
        ];
        match given.into_iter().find(|(_, file)| file.is_some()) {
            Some((flag, _)) => {
                let message = "is for a service that a URL names; expected --url beside it";
                Err(CliFailure::invalid_flag(flag, message))
            }
            None => Ok(()),
        }
    }

    /// Returns all that is needed to connect to the service at a URL.
    pub(crate) fn connect_info(&self, url: String) -> Result<RemoteService, CliFailure> {
        Ok(RemoteService::new(&self.options(url)?)?)
    }

    /// Returns the settings of the connection to the service at a URL.
    fn options(&self, url: String) -> Result<ConnectOptions, CliFailure> {
        let file = |flag: &Option<PathBuf>, name| {
            flag.clone()
                .or_else(|| non_empty_var(name).map(PathBuf::from))
        };
        let fingerprint = self.fingerprint()?;
        Ok(ConnectOptions {
            url,
            token: file(&self.token_file, TOKEN_VARIABLE),
            certificate: file(&self.certificate, CERTIFICATE_VARIABLE),
            authorities: file(&self.ca, AUTHORITIES_VARIABLE),
            fingerprint,
        })
    }

    /// Returns the key that the service must have. None if certificate authorities vouch for it.
    fn fingerprint(&self) -> Result<Option<Fingerprint>, CliFailure> {
        match (self.fingerprint, text_var(FINGERPRINT_VARIABLE)?) {
            (Some(print), _) => Ok(Some(print)),
            // An explicit certificate authority overrides a fingerprint of the environment.
            (None, _) if self.ca.is_some() => Ok(None),
            (None, Some(words)) => {
                let read = words.parse();
                let read = read
                    .map_err(|error| CliFailure::invalid_flag("fingerprint", format!("{error}")));
                Ok(Some(read?))
            }
            (None, None) => Ok(None),
        }
    }
}

pub(crate) fn text_var(name: &'static str) -> Result<Option<String>, CliFailure> {
    let words = non_empty_var(name).map(OsString::into_string);
    words
        .transpose()
        .map_err(|_| ClientCommandError::NonUtf8Variable { variable: name }.into())
}
