//! `sites.toml`: the sites of a user.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_batch::{EngineKind, PassedArguments};
use tollgate_model::{Bytes, Span};

use crate::error::SiteError;
use crate::journal::replace_file;

/// The maximum number of pilots of a site, unless the user sets another.
const DEFAULT_AT_MOST: u32 = 100;
/// The time limit of a pilot, unless the user sets another, in seconds.
const DEFAULT_TIME_S: u64 = 3600;
/// The time without jobs after which a pilot leaves, in seconds.
const DEFAULT_IDLE_S: u64 = 300;
/// The longest time between two looks at the queue, unless the user sets another, in seconds.
const DEFAULT_ASK_S: u64 = 60;
/// The maximum number of pilots that are submitted within an hour, unless the user sets another: two for each
/// of the default maximum. It stops what no other rule has thought of.
const DEFAULT_HOURLY: u32 = 200;
/// The maximum length of a site's name. Names of jobs contain it.
const MAX_NAME: usize = 32;
/// The file of the sites.
pub const SITES_FILE: &str = "sites.toml";
/// The variable with the directory that has the file of the sites and what is known of them, in place
/// of the user's directories.
pub const SITES_VARIABLE: &str = "TOLLGATE_SITES";
/// The longest time limit of a pilot: a year.
const MAX_TIME_S: u64 = 366 * 86_400;

/// A site: an account at a batch system, and the kind of pilots that are submitted there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteSettings {
    /// The name of the site: small letters, digits and `-`, at most 32.
    pub name: String,
    /// The engine.
    pub engine: EngineKind,
    /// Letters that tell the pilots of this site from those of a site of the same name elsewhere. Empty
    /// only in a file that is read by [`SitesFile::read_with_keys`].
    #[serde(default)]
    pub key: String,
    /// The host on which the engine's commands run, for `ssh`. None for this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The number of pilots that `tollgate site scale` takes if it is given none, and that
    /// `tollgate site keep --base` keeps without work, too.
    #[serde(default = "default_pilots")]
    pub pilots: u32,
    /// The number of cores of a pilot; at least 1.
    #[serde(default = "default_cores")]
    pub cores: u32,
    /// The memory of a pilot in MiB. None leaves it to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// The memory of the largest node, in MiB, if pilots take whole nodes: without [`Self::memory_mib`], a pilot takes all
    /// memory of its node, and offers no more than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_memory_mib: Option<u64>,
    /// The time limit of a pilot in seconds.
    #[serde(default = "default_time")]
    pub time_s: u64,
    /// The time without jobs after which a pilot leaves, in seconds.
    #[serde(default = "default_idle")]
    pub idle_s: u64,
    /// The maximum number of pilots that wait or run.
    #[serde(default = "default_at_most")]
    pub at_most: u32,
    /// The maximum number of pilots that are submitted within an hour.
    #[serde(default = "default_hourly")]
    pub submit_at_most: u32,
    /// The maximum of core hours that all pilots of the site may use together. None if there is no maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_hours: Option<u64>,
    /// The longest time between two looks at the queue when nothing happens, in seconds.
    #[serde(default = "default_ask")]
    pub ask_s: u64,
    /// The maximum number of pilots that wait. None if there is no maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_at_most: Option<u32>,
    /// Address under which the site's nodes reach the service. None takes the address at which the
    /// service listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<String>,
    /// Address of the site's agent, `HOST:PORT`, if the user runs it at the site's own host. None if the
    /// session runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tollgate program on the site's nodes.
    #[serde(default = "default_program")]
    pub program: String,
    /// Directory on the nodes in which each pilot makes one of its own. None takes `TMPDIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// Lines of shell that run before the pilot, as `module load`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Environment variables of the pilot and its tasks, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Further arguments of the engine's submit command, passed on as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Further arguments of `tollgate worker`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worker_args: Vec<String>,
}

const fn default_pilots() -> u32 {
    1
}

const fn default_cores() -> u32 {
    1
}

const fn default_time() -> u64 {
    DEFAULT_TIME_S
}

fn default_program() -> String {
    "tollgate".to_owned()
}

const fn default_idle() -> u64 {
    DEFAULT_IDLE_S
}

const fn default_at_most() -> u32 {
    DEFAULT_AT_MOST
}

const fn default_ask() -> u64 {
    DEFAULT_ASK_S
}

const fn default_hourly() -> u32 {
    DEFAULT_HOURLY
}

impl SiteSettings {
    /// Returns a site with one core, an hour, and the defaults of everything else.
    pub fn new(name: &str, engine: EngineKind, key: &str, program: &str) -> Self {
        Self {
            name: name.to_owned(),
            engine,
            key: key.to_owned(),
            via: None,
            pilots: 1,
            cores: 1,
            memory_mib: None,
            node_memory_mib: None,
            time_s: DEFAULT_TIME_S,
            idle_s: DEFAULT_IDLE_S,
            at_most: DEFAULT_AT_MOST,
            submit_at_most: DEFAULT_HOURLY,
            core_hours: None,
            ask_s: DEFAULT_ASK_S,
            queue_at_most: None,
            connect: None,
            agent: None,
            program: program.to_owned(),
            dir: None,
            setup: Vec::new(),
            env: BTreeMap::new(),
            args: Vec::new(),
            worker_args: Vec::new(),
        }
    }

    /// Returns the longest time between two looks at the queue when nothing happens.
    pub fn longest_pause(&self) -> Span {
        Span::from_secs(i64::try_from(self.ask_s).unwrap_or(i64::MAX))
    }

    /// Returns what the further arguments of the submit command mean.
    ///
    /// # Errors
    /// The first argument that is not passed on.
    pub fn arguments(&self) -> Result<PassedArguments, SiteError> {
        let read = PassedArguments::read(self.engine, &self.args);
        read.map_err(SiteError::Argument)
    }

    /// Returns the time limit of a pilot.
    pub fn time(&self) -> Span {
        Span::from_secs(i64::try_from(self.time_s).unwrap_or(i64::MAX))
    }

    /// Returns the memory of a pilot. None leaves it to the engine.
    pub fn memory(&self) -> Option<Bytes> {
        let kibibytes = self.memory_mib?.saturating_mul(1024);
        Some(Bytes::from_kibibytes(kibibytes))
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// An error that names the illegal setting.
    pub fn check(&self) -> Result<(), SiteError> {
        let is_plain = |text: &str| {
            let mut letters = text.bytes();
            letters.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        let wrong = |key, expected, found: &dyn std::fmt::Display| {
            Err(SiteError::Setting {
                key,
                expected,
                found: found.to_string(),
            })
        };
        let starts_well = self
            .name
            .starts_with(|letter: char| letter.is_ascii_lowercase());
        if !starts_well || !is_plain(&self.name) || self.name.len() > MAX_NAME {
            return wrong(
                "name",
                "a small letter, then small letters, digits and `-`, at most 32",
                &self.name,
            );
        }
        if !is_plain(&self.key) || !(1..=MAX_NAME).contains(&self.key.len()) {
            return wrong("key", "small letters and digits, at most 32", &self.key);
        }
        if self.cores == 0 {
            return wrong("cores", "at least 1", &self.cores);
        }
        if !(60..=MAX_TIME_S).contains(&self.time_s) {
            return wrong("time_s", "a minute to a year", &self.time_s);
        }
        if self.memory_mib == Some(0) {
            return wrong("memory_mib", "at least 1", &0);
        }
        if self.submit_at_most == 0 {
            return wrong("submit_at_most", "at least 1", &0);
        }
        if let Some(name) = self.env.keys().find(|name| !is_variable(name)) {
            return wrong("env", "names of letters, digits and `_`", name);
        }
        self.arguments()?;
        if self.idle_s == 0 {
            return wrong("idle_s", "at least 1", &self.idle_s);
        }
        if let Some(host) = &self.via
            && (host.is_empty() || host.starts_with('-'))
        {
            // A host that starts with `-` would be an option of ssh.
            return wrong("via", "a host as ssh takes it", host);
        }
        if let Some(agent) = &self.agent
            && !agent.contains(':')
        {
            return wrong("agent", "HOST:PORT", agent);
        }
        let lines = [&self.program].into_iter();
        let lines = lines.chain(&self.via).chain(&self.connect).chain(&self.dir);
        let lines = lines.chain(&self.agent);
        let lines = lines.chain(&self.setup).chain(self.env.values());
        for text in lines.chain(&self.args).chain(&self.worker_args) {
            // A line of a script that is read as an option must never be a user's.
            if text.chars().any(char::is_control) {
                return wrong("arguments", "no control character", &text.escape_debug());
            }
        }
        Ok(())
    }
}

/// Returns whether a shell takes a text as the name of a variable.
fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts_well = !name.starts_with(|letter: char| letter.is_ascii_digit());
    !name.is_empty() && starts_well && name.bytes().all(is_letter)
}

/// The sites of a user, as `sites.toml` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SitesFile {
    /// The sites, in the order of the file.
    #[serde(default, rename = "site", skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteSettings>,
}

impl SitesFile {
    /// Returns the user's file: `$TOLLGATE_SITES/sites.toml`, else
    /// `$XDG_CONFIG_HOME/tollgate/sites.toml`, else `~/.config/tollgate/sites.toml`.
    ///
    /// # Errors
    /// An error if no variable names a directory.
    pub fn path() -> Result<PathBuf, SiteError> {
        match path_in(SITES_VARIABLE) {
            Some(dir) => Ok(dir.join(SITES_FILE)),
            None => Ok(user_dir("XDG_CONFIG_HOME", ".config")?
                .join("tollgate")
                .join(SITES_FILE)),
        }
    }

    /// Reads a file. Returns no sites if there is no file.
    ///
    /// # Errors
    /// An error if the file cannot be read or a setting is illegal.
    pub fn read(path: &Path) -> Result<Self, SiteError> {
        let file = Self::parse(path)?;
        file.check(path)?;
        Ok(file)
    }

    /// Reads a file, and gives each site a key that `draw` returns, in place of its own if it has one.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_keys(
        path: &Path,
        mut draw: impl FnMut() -> String,
    ) -> Result<Self, SiteError> {
        let mut file = Self::parse(path)?;
        for site in &mut file.sites {
            site.key = draw();
        }
        file.check(path)?;
        Ok(file)
    }

    fn parse(path: &Path) -> Result<Self, SiteError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(SiteError::File {
                    path: path.to_owned(),
                    action: "cannot be read",
                    error,
                });
            }
        };
        toml::from_str(&text).map_err(|error| settings_error(path, error.to_string()))
    }

    pub(crate) fn check(&self, path: &Path) -> Result<(), SiteError> {
        for (at, site) in self.sites.iter().enumerate() {
            let name = &site.name;
            let wrong = |error| settings_error(path, format!("site `{name}`: {error}"));
            site.check().map_err(wrong)?;
            if self.sites[..at].iter().any(|other| other.name == *name) {
                let message = format!("two sites are called `{name}`");
                return Err(settings_error(path, message));
            }
        }
        Ok(())
    }

    /// Writes the file in place of the old one.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SiteError> {
        let text = toml::to_string(self);
        let text = text.map_err(|error| settings_error(path, error.to_string()))?;
        replace_file(path, text.as_bytes())
    }

    /// Adds a site.
    ///
    /// # Errors
    /// An error if a setting is illegal or a site has the same name.
    pub fn add(&mut self, site: SiteSettings) -> Result<(), SiteError> {
        site.check()?;
        if self.sites.iter().any(|other| other.name == site.name) {
            return Err(SiteError::Exists(site.name));
        }
        self.sites.push(site);
        Ok(())
    }

    /// Returns the site with a name.
    ///
    /// # Errors
    /// An error if no site has this name.
    pub fn site(&self, name: &str) -> Result<&SiteSettings, SiteError> {
        let site = self.sites.iter().find(|site| site.name == name);
        site.ok_or_else(|| SiteError::Unknown(name.to_owned()))
    }
}

fn settings_error(path: &Path, message: String) -> SiteError {
    SiteError::Settings {
        path: path.to_owned(),
        message,
    }
}

/// Returns the directory of what tollgate knows of sites: `$TOLLGATE_SITES`, else
/// `$XDG_STATE_HOME/tollgate-sites`, else `~/.local/state/tollgate-sites`.
///
/// # Errors
/// An error if no variable names a directory.
pub fn state_dir() -> Result<PathBuf, SiteError> {
    match path_in(SITES_VARIABLE) {
        Some(dir) => Ok(dir),
        None => Ok(user_dir("XDG_STATE_HOME", ".local/state")?.join("tollgate-sites")),
    }
}

/// Returns a user's directory: that of a variable of the XDG base directories, else one below the home
/// directory.
///
/// # Errors
/// An error if no variable names a directory.
pub fn user_dir(variable: &str, below_home: &str) -> Result<PathBuf, SiteError> {
    let home = || path_in("HOME").map(|home| home.join(below_home));
    path_in(variable).or_else(home).ok_or(SiteError::NoHome)
}

fn path_in(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> SiteSettings {
        SiteSettings::new("slurm", EngineKind::Slurm, "7f3a", "tollgate")
    }

    #[test]
    fn file_survives_a_round_trip() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("below/sites.toml");
        assert_eq!(
            SitesFile::read(&path).expect("no file"),
            SitesFile::default()
        );
        let mut file = SitesFile::default();
        let settings = SiteSettings {
            via: Some("login1".to_owned()),
            memory_mib: Some(4096),
            args: vec!["-p".to_owned(), "it's \"main\"".to_owned()],
            ..site()
        };
        file.add(settings).expect("a legal site");
        file.write(&path).expect("a writable file");
        assert_eq!(SitesFile::read(&path).expect("a legal file"), file);
        assert!(matches!(file.add(site()), Err(SiteError::Exists(_))));
    }

    #[test]
    fn file_by_hand_needs_a_name_and_an_engine() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sites.toml");
        fs::write(&path, "[[site]]\nname = \"north\"\nengine = \"sge\"\n").expect("a file");
        let read = SitesFile::read_with_keys(&path, || "7f3a".to_owned());
        let expected = SiteSettings::new("north", EngineKind::Sge, "7f3a", "tollgate");
        assert_eq!(read.expect("a legal file").sites, [expected]);
        let error = SitesFile::read(&path).expect_err("there is no key");
        assert!(error.to_string().contains("key"), "{error}");
    }

    #[test]
    fn illegal_settings_are_named() {
        for (wrong, key) in [
            (
                SiteSettings {
                    name: "A".to_owned(),
                    ..site()
                },
                "name",
            ),
            (
                SiteSettings {
                    name: "-a".to_owned(),
                    ..site()
                },
                "name",
            ),
            (SiteSettings { cores: 0, ..site() }, "cores"),
            (
                SiteSettings {
                    time_s: 59,
                    ..site()
                },
                "time_s",
            ),
            (
                SiteSettings {
                    via: Some("-oProxyCommand=x".to_owned()),
                    ..site()
                },
                "via",
            ),
            (
                SiteSettings {
                    program: "a\n#SBATCH -p x".to_owned(),
                    ..site()
                },
                "arguments",
            ),
        ] {
            let error = wrong.check().expect_err(key);
            assert!(error.to_string().starts_with(key), "{error}");
        }
        assert!(site().check().is_ok());
    }
}
