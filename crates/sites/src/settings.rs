//! `sites.toml`: the sites of a user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_batch::{EngineKind, PassedArguments};
use tollgate_model::{Bytes, Span};

use tollgate_provisioning::PilotShape;

use crate::error::SiteError;
use crate::shape_setting::ShapeSetting;

/// The maximum number of pilots of a site, unless the user sets another.
const DEFAULT_AT_MOST: u32 = 100;
/// The time limit of a pilot, unless the user sets another, in seconds.
const DEFAULT_TIME_S: u64 = 3600;
/// The time without jobs after which a pilot leaves, in seconds.
const DEFAULT_IDLE_S: u64 = 300;
/// The longest time between two looks at the queue, unless the user sets another, in seconds.
const DEFAULT_QUERY_PAUSE_S: u64 = 60;
/// The maximum number of pilots that are submitted within an hour, unless the user sets another: two for each
/// of the default maximum. It stops what no other rule has thought of.
const DEFAULT_HOURLY: u32 = 200;
/// The part of a pilot's time, in per cent, that it may be without a task, unless the user sets another.
const DEFAULT_IDLE_PERCENT: u8 = 10;
/// The maximum length of a site's name. Names of jobs contain it.
const MAX_NAME: usize = 32;
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
    /// only in a file that is read by [`SitesFile::read_with_keys`](crate::SitesFile::read_with_keys).
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
    /// The number of cores of the largest node, for pilots of whole nodes. None if no shape is a whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_cores: Option<u32>,
    /// The time limit of a pilot in seconds.
    #[serde(default = "default_time")]
    pub time_s: u64,
    /// The shapes among which the demand chooses. Empty if there is one, of [`Self::cores`] and [`Self::time_s`]. Else
    /// the time is that of whole nodes, and the number of cores the one that [`Self::memory_mib`] is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<ShapeSetting>,
    /// The time without jobs after which a pilot leaves, in seconds.
    #[serde(default = "default_idle")]
    pub idle_s: u64,
    /// The part of a pilot's time, in per cent, that it may be without a task before it is released; at most 100.
    #[serde(default = "default_idle_percent")]
    pub idle_percent: u8,
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
    #[serde(rename = "ask_s", default = "default_query_pause")]
    pub query_s: u64,
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

const fn default_idle_percent() -> u8 {
    DEFAULT_IDLE_PERCENT
}

const fn default_at_most() -> u32 {
    DEFAULT_AT_MOST
}

const fn default_query_pause() -> u64 {
    DEFAULT_QUERY_PAUSE_S
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
            node_cores: None,
            time_s: DEFAULT_TIME_S,
            shapes: Vec::new(),
            idle_s: DEFAULT_IDLE_S,
            idle_percent: DEFAULT_IDLE_PERCENT,
            at_most: DEFAULT_AT_MOST,
            submit_at_most: DEFAULT_HOURLY,
            core_hours: None,
            query_s: DEFAULT_QUERY_PAUSE_S,
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
        Span::from_secs(i64::try_from(self.query_s).unwrap_or(i64::MAX))
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

    /// Returns the memory of a core of a pilot, if it is known.
    pub fn memory_of_core(&self) -> Option<Bytes> {
        let mebibytes = self.memory_mib.or(self.node_memory_mib)?;
        let bytes = mebibytes.saturating_mul(1 << 20);
        Some(Bytes::new(bytes / u64::from(self.cores.max(1))))
    }

    /// Returns the memory of a pilot. None leaves it to the engine.
    pub fn memory(&self) -> Option<Bytes> {
        let kibibytes = self.memory_mib?.saturating_mul(1024);
        Some(Bytes::from_kibibytes(kibibytes))
    }

    /// Returns whether the one shape of pilots is all cores of a node, so that such a pilot takes all the memory, too.
    pub(crate) fn takes_whole_nodes(&self) -> bool {
        self.shapes.is_empty() && self.node_memory_mib.is_some()
    }

    /// Returns the shapes of pilots; at least one.
    pub fn kinds(&self) -> Vec<PilotForm> {
        if self.shapes.is_empty() {
            return vec![PilotForm {
                shape: PilotShape {
                    cores: self.cores,
                    time: self.time(),
                },
                memory_mib: self.memory_mib,
                is_whole: false,
            }];
        }
        let forms = self.shapes.iter().map(|&shape| self.form(shape));
        forms.collect()
    }

    fn form(&self, shape: ShapeSetting) -> PilotForm {
        match shape {
            ShapeSetting::Part { cores, time_s } => PilotForm {
                shape: PilotShape {
                    cores,
                    time: Span::from_secs(i64::try_from(time_s).unwrap_or(i64::MAX)),
                },
                // The user gives the memory of the first shape; that of the others is in proportion.
                memory_mib: self.memory_mib.map(|memory| {
                    let share = memory.saturating_mul(u64::from(cores));
                    share.div_ceil(u64::from(self.cores.max(1)))
                }),
                is_whole: false,
            },
            ShapeSetting::WholeNode => PilotForm {
                shape: PilotShape {
                    cores: self.node_cores.unwrap_or(1),
                    time: self.time(),
                },
                memory_mib: None,
                is_whole: true,
            },
        }
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
        if self.idle_percent > 100 {
            return wrong("idle_percent", "at most 100", &self.idle_percent);
        }
        if self.shapes.contains(&ShapeSetting::WholeNode)
            && self.node_cores.is_none_or(|it| it == 0)
        {
            return wrong("shapes", "node_cores for `whole`", &"none");
        }
        for kind in self.kinds() {
            if !(60..=MAX_TIME_S).contains(&(kind.shape.time.as_micros() as u64 / 1_000_000)) {
                return wrong("shapes", "times of a minute to a year", &kind.shape);
            }
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

/// The resources that a pilot of a site gets from the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilotForm {
    /// Its cores and its time limit.
    pub shape: PilotShape,
    /// Its memory in MiB. None leaves it to the engine, or is all of a whole node.
    pub memory_mib: Option<u64>,
    /// Whether it takes a whole node, which no other job shares.
    pub is_whole: bool,
}

/// Returns whether a shell takes a text as the name of a variable.
fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts_well = !name.starts_with(|letter: char| letter.is_ascii_digit());
    !name.is_empty() && starts_well && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> SiteSettings {
        SiteSettings::new("slurm", EngineKind::Slurm, "7f3a", "tollgate")
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
                    shapes: vec![ShapeSetting::WholeNode],
                    ..site()
                },
                "shapes",
            ),
            (
                SiteSettings {
                    shapes: vec!["1x59s".parse().expect("a shape")],
                    ..site()
                },
                "shapes",
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
