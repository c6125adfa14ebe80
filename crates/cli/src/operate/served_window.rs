//! The window that a service serves to its users.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use jiff::Zoned;
use tollgate_client::types::{JobDetails, JobRequest, WindowLink};
use tollgate_client::{ServiceForwarder, ServiceTarget};
use tollgate_frontends::SubmitPlace;
use tollgate_host::UserAccount;
use tollgate_overview::output::{OutputReader, OutputTail, RunHost};
use tollgate_server::config::WebConfig;
use tollgate_server::window::{ServiceWindow, UserServices, WindowSetup};
use tollgate_server::{ConfigError, ServiceConfig};
use tollgate_store::data_dir;
use tollgate_web::{
    TICKET_TIME, TypedJob, UserHost, WindowClient, WindowClients, WindowOrigins, WindowPrefix,
    WindowServer, WindowSessions, WindowSettings, WindowUser, router_below, window_router,
};

use crate::jobs::open::{in_one_line, job_args, parse_origin};

/// The search path of jobs that are typed into the window: the service does not know that of the user.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The umask of these jobs.
const UMASK: u32 = 0o022;

/// Returns the window of the settings, for a service in the data directory `place`. None if they name none.
///
/// # Errors
/// The first setting that cannot be used.
pub(super) fn setup(
    config: &ServiceConfig,
    place: &Path,
) -> Result<Option<WindowSetup>, ConfigError> {
    let Some(web) = &config.web else {
        return Ok(None);
    };
    let address = web.loopback_address()?;
    let prefix = prefix(web)?;
    let origin = web.origin.as_deref().map(|words| {
        parse_origin(words).map_err(|_| ConfigError::Range {
            key: "web.origin",
            expected: "an origin as in https://hub.example",
            found: words.to_owned(),
        })
    });
    let (origin, read_only) = (origin.transpose()?, web.read_only);
    let kept = data_dir::window_sessions(place);
    Ok(Some(WindowSetup {
        address,
        make: Box::new(move |bound| {
            let own = format!("http://{bound}");
            Arc::new(ServedWindow {
                url: format!("{}{}/", origin.as_deref().unwrap_or(&own), prefix.as_str()),
                origins: WindowOrigins::new(bound, origin.as_deref()),
                sessions: sessions_in(kept),
                prefix,
                read_only,
            })
        }),
    }))
}

/// Returns the sessions of an earlier service, which go on. Without them, users need another link.
fn sessions_in(file: PathBuf) -> WindowSessions {
    WindowSessions::kept_in(file).unwrap_or_else(|error| {
        tracing::warn!(%error, "the sessions of the window cannot be read: its users need other links");
        WindowSessions::default()
    })
}

fn prefix(web: &WebConfig) -> Result<WindowPrefix, ConfigError> {
    let Some(words) = &web.prefix else {
        return Ok(WindowPrefix::default());
    };
    WindowPrefix::parse(words).map_err(|_| ConfigError::Range {
        key: "web.prefix",
        expected: "a path as in /tollgate",
        found: words.clone(),
    })
}

/// The window of a service, at the address where it is bound.
struct ServedWindow {
    /// The address of the first page.
    url: String,
    prefix: WindowPrefix,
    origins: WindowOrigins,
    sessions: WindowSessions,
    read_only: bool,
}

impl ServiceWindow for ServedWindow {
    fn new_link(&self, user: u32) -> io::Result<WindowLink> {
        let ticket = self.sessions.new_ticket(WindowUser(user))?;
        Ok(WindowLink {
            url: self.url.clone(),
            ticket: ticket.reveal().to_owned(),
            expires_s: TICKET_TIME.as_secs_f64(),
        })
    }

    fn router(&self, services: Arc<dyn UserServices>) -> Router {
        let router = window_router(WindowSettings {
            clients: Box::new(ServiceUsers {
                services,
                clients: Mutex::default(),
            }),
            sessions: self.sessions.clone(),
            origins: self.origins.clone(),
            read_only: self.read_only,
            server: WindowServer::Service,
        });
        router_below(self.prefix.clone(), router)
    }

    fn user_of(&self, session: &str) -> Option<u32> {
        let session = self.sessions.find(session)?;
        Some(session.user.0)
    }

    fn users(&self) -> Vec<u32> {
        self.sessions.users().iter().map(|user| user.0).collect()
    }

    fn end_user(&self, user: u32) {
        self.sessions.end_user(WindowUser(user));
    }
}

/// The users of a service, as its window has them.
struct ServiceUsers {
    services: Arc<dyn UserServices>,
    clients: Mutex<BTreeMap<WindowUser, Arc<WindowClient>>>,
}

impl WindowClients for ServiceUsers {
    fn client_of(&self, user: WindowUser) -> Arc<WindowClient> {
        let mut clients = self.clients.lock().expect("no holder of the lock panics");
        let client = clients.entry(user).or_insert_with(|| {
            let service = ServiceTarget::InProcess(self.services.within(user.0));
            Arc::new(WindowClient {
                service: ServiceForwarder::new(service),
                host: Arc::new(HostOfService {
                    uid: self.services.uid_of(user.0),
                }),
            })
        });
        Arc::clone(client)
    }
}

/// The host of the service, as a user of the window has it. The service reads no file for the user.
struct HostOfService {
    /// The number of the user's account.
    uid: u32,
}

impl HostOfService {
    fn account(&self) -> Option<UserAccount> {
        UserAccount::by_uid(self.uid).ok().flatten()
    }
}

impl UserHost for HostOfService {
    fn job_request(&self, typed: &TypedJob, now: Zoned) -> Result<JobRequest, String> {
        let account = self
            .account()
            .ok_or("the host does not know your account")?;
        if !typed.dir.trim().is_empty() && !Path::new(typed.dir.trim()).is_absolute() {
            return Err(format!(
                "Directory: expected a whole path as in /home, got `{}`",
                typed.dir
            ));
        }
        let place = place_of(&account, now);
        let request = job_args(typed)?.build(None, place);
        request.map_err(|failure| in_one_line(&failure))
    }

    fn dir(&self) -> Option<String> {
        self.account()?.home.into_os_string().into_string().ok()
    }
}

impl OutputReader for HostOfService {
    fn output_tail(&self, _: &JobDetails, _: u64, _: RunHost) -> Option<OutputTail> {
        None
    }
}

/// Returns the place where a user types a job into the window: the variables of an account, and its home.
fn place_of(account: &UserAccount, now: Zoned) -> SubmitPlace {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let variables = [
        ("HOME", text(&account.home)),
        ("LOGNAME", account.name.clone()),
        ("PATH", SEARCH_PATH.to_owned()),
        ("SHELL", text(&account.shell)),
        ("USER", account.name.clone()),
    ];
    SubmitPlace {
        variables: variables
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        dir: Ok(account.home.clone()),
        umask: UMASK,
        user_id: account.uid,
        group_id: account.gid,
        ..SubmitPlace::here(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mia() -> UserAccount {
        UserAccount {
            name: "mia".to_owned(),
            uid: 1_007,
            gid: 100,
            home: PathBuf::from("/home/mia"),
            shell: PathBuf::from("/bin/sh"),
        }
    }

    #[test]
    fn typed_job_has_nothing_of_the_service() {
        let typed = TypedJob {
            command: "./run.sh --fast".to_owned(),
            estimate: "20m".to_owned(),
            ..TypedJob::default()
        };
        let place = place_of(&mia(), Zoned::now());
        let request = job_args(&typed).unwrap().build(None, place).unwrap();
        assert_eq!((request.dir.as_str(), request.umask), ("/home/mia", 0o022));
        assert_eq!((request.command.len(), request.script), (2, None));
        let set = request
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        assert_eq!(
            set.collect::<Vec<_>>(),
            [
                "HOME=/home/mia",
                "LOGNAME=mia",
                "PATH=/usr/local/bin:/usr/bin:/bin",
                "SHELL=/bin/sh",
                "USER=mia"
            ]
        );
    }

    #[test]
    fn setting_of_the_window_that_cannot_be_used_is_named() {
        let with = |web| {
            let config = ServiceConfig {
                web: Some(web),
                ..ServiceConfig::default()
            };
            setup(&config, Path::new("/no/such/folder")).map(|setup| setup.is_some())
        };
        let sound = WebConfig {
            address: Some("127.0.0.1:0".to_owned()),
            prefix: Some("/tollgate".to_owned()),
            origin: Some("https://hub.example".to_owned()),
            read_only: true,
        };
        assert!(with(sound.clone()).unwrap());
        let wrong = [
            (
                "web.address",
                WebConfig {
                    address: None,
                    ..sound.clone()
                },
            ),
            (
                "web.prefix",
                WebConfig {
                    prefix: Some("tollgate".to_owned()),
                    ..sound.clone()
                },
            ),
            (
                "web.origin",
                WebConfig {
                    origin: Some("hub.example".to_owned()),
                    ..sound
                },
            ),
        ];
        for (key, web) in wrong {
            let message = with(web).unwrap_err().to_string();
            assert!(message.starts_with(key), "{message}");
        }
        assert!(
            setup(&ServiceConfig::default(), Path::new("/no"))
                .unwrap()
                .is_none()
        );
    }
}
