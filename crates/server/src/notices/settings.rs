//! The settings of notices, and their checks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mail::is_address;
use super::placeholders::{self, UnknownPlaceholder};

/// The name of the target that `command` describes.
const COMMAND: &str = "command";

/// Notices to users. Users choose one of the targets by its name, and nothing else about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeSettings {
    /// The program and its arguments. It gets the notice as JSON on standard input, and as
    /// `TOLLGATE_NOTICE`, `TOLLGATE_JOB`, `TOLLGATE_USER` and `TOLLGATE_TEXT` in its environment. Short for a
    /// target with the name `command`, the default one. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["/usr/local/bin/notify", "--chat"])]
    pub command: Vec<String>,
    /// Ways of notices by names of lower-case letters, digits and `-`: a program, mail through `sendmail` or the server in
    /// `smtp`, or a POST request with JSON. In `to` and in the texts of `body`, `{notice}`, `{job}`, `{user}`, `{name}`,
    /// `{at}` and `{text}` are replaced by fields of the notice. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = NoticeTarget::examples())]
    pub targets: BTreeMap<String, NoticeTarget>,
    /// The target of notices for which users name none. Default: the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"mail")]
    pub default: Option<String>,
    /// Maximum number of notices that one user gets in a minute by one target. At least 1.
    #[serde(default = "per_minute")]
    pub per_minute: u32,
    /// Maximum time that one notice takes, in seconds. At least 1.
    #[serde(default = "timeout_s")]
    pub timeout_s: u32,
}

fn per_minute() -> u32 {
    10
}

fn timeout_s() -> u32 {
    30
}

/// The way of notices to users.
///
/// In texts, `{notice}`, `{job}`, `{user}`, `{name}`, `{at}` and `{text}` are replaced by fields of the notice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NoticeTarget {
    /// A program.
    Command {
        /// The program and its arguments, as in `[notices]`.
        #[schemars(length(min = 1))]
        command: Vec<String>,
    },
    /// Mail, handed to the sendmail of this host or to a mail server.
    Mail {
        /// Address of the sender.
        from: String,
        /// Address of the user, as in `{user}@hpc.example`.
        to: String,
        /// Mail server, as in `smtp://mail.hpc.example`. Default: the program `sendmail`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        smtp: Option<String>,
    },
    /// JSON by a POST request. Redirects are not followed.
    Post {
        /// Where to, by `http` or `https`.
        url: String,
        /// The request, as in `{ text = "{user}: {text}" }`. Default: the notice as a command gets it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<serde_json::Value>,
        /// Further headers by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

/// The error for settings of notices that do not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNoticeSettings {
    /// There is no target.
    #[error("notices: expected `command` or one of `targets`")]
    NoTarget,
    /// Several targets, and no default one.
    #[error("notices: expected `default`, one of {0}")]
    NoDefault(String),
    /// The default target does not exist.
    #[error("notices.default: expected one of {0}, got `{1}`")]
    UnknownDefault(String, String),
    /// Users cannot type the name.
    #[error(
        "notices.targets: expected names of at most 32 letters a to z, digits and `-`, the first a letter, got `{0}`"
    )]
    Name(String),
    /// A target lacks something.
    #[error("notices.targets.{target}: expected {expected}")]
    Target {
        /// Its name.
        target: String,
        /// The expected value.
        expected: String,
    },
}

impl NoticeSettings {
    /// Returns the targets by name.
    pub(crate) fn by_name(&self) -> BTreeMap<String, NoticeTarget> {
        let mut targets = self.targets.clone();
        if !self.command.is_empty() {
            let command = self.command.clone();
            targets.insert(COMMAND.to_owned(), NoticeTarget::Command { command });
        }
        targets
    }

    /// Returns the names of the targets.
    pub(crate) fn names(&self) -> Vec<String> {
        self.by_name().into_keys().collect()
    }

    /// Returns the target of notices for which users name none.
    pub(crate) fn default_target(&self) -> Result<String, BadNoticeSettings> {
        let targets = self.by_name();
        let names = || targets.keys().cloned().collect::<Vec<_>>().join(", ");
        match &self.default {
            Some(name) if targets.contains_key(name) => Ok(name.clone()),
            Some(name) => Err(BadNoticeSettings::UnknownDefault(names(), name.clone())),
            None if targets.contains_key(COMMAND) => Ok(COMMAND.to_owned()),
            None if targets.len() > 1 => Err(BadNoticeSettings::NoDefault(names())),
            None => targets
                .into_keys()
                .next()
                .ok_or(BadNoticeSettings::NoTarget),
        }
    }

    /// Checks all targets.
    pub(crate) fn check(&self) -> Result<(), BadNoticeSettings> {
        self.default_target()?;
        for (name, target) in self.by_name() {
            if !is_target_name(&name) {
                return Err(BadNoticeSettings::Name(name));
            }
            target
                .check()
                .map_err(|expected| BadNoticeSettings::Target {
                    target: name,
                    expected,
                })?;
        }
        Ok(())
    }
}

/// Returns whether users can name a target thus: at most 32 letters a to z, digits and `-`, the first a letter.
pub(crate) fn is_target_name(name: &str) -> bool {
    let is_known = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    name.len() <= 32
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(is_known)
}

impl NoticeTarget {
    /// Returns a target by name, for the documentation of the settings.
    fn examples() -> BTreeMap<String, Self> {
        let mail = Self::Mail {
            from: "tollgate@hpc.example".to_owned(),
            to: "{user}@hpc.example".to_owned(),
            smtp: None,
        };
        BTreeMap::from([("mail".to_owned(), mail)])
    }

    /// Checks the target; the error says what would be right.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Command { command } if command.is_empty() => Err("a program".to_owned()),
            Self::Command { .. } => Ok(()),
            Self::Mail { from, to, smtp } => {
                if !is_address(from) {
                    return Err(format!("an address in `from`, got `{from}`"));
                }
                let filled = placeholders::check(to, |_| "user");
                let to_user = filled.map_err(|error| format!("no other words in `to`: {error}"))?;
                if !is_address(&to_user) {
                    return Err(format!("an address in `to`, got `{to}`"));
                }
                let Some(server) = smtp else { return Ok(()) };
                if server.contains('@') {
                    return Err("a server in `smtp` that needs no password".to_owned());
                }
                has_scheme("smtp", server, &["smtp://", "smtps://"])
            }
            Self::Post { url, body, headers } => {
                has_scheme("url", url, &["http://", "https://"])?;
                let lines = headers.iter().flat_map(|(name, value)| [name, value]);
                if lines
                    .into_iter()
                    .any(|text| text.contains(char::is_control))
                {
                    return Err("no control characters in `headers`".to_owned());
                }
                let Some(body) = body else { return Ok(()) };
                let mut problem = None;
                placeholders::in_strings(body.clone(), &mut |text| {
                    match placeholders::check(text, |_| "") {
                        Ok(_) => {}
                        Err(UnknownPlaceholder(found)) => problem = Some(UnknownPlaceholder(found)),
                    }
                    String::new()
                });
                problem.map_or(Ok(()), |error| {
                    Err(format!("no other words in `body`: {error}"))
                })
            }
        }
    }
}

fn has_scheme(key: &str, url: &str, schemes: &[&str]) -> Result<(), String> {
    let is_plain = !url.contains(|letter: char| letter.is_control() || letter.is_whitespace());
    match is_plain && schemes.iter().any(|scheme| url.starts_with(scheme)) {
        true => Ok(()),
        false => Err(format!("{} in `{key}`, got `{url}`", schemes.join(" or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let settings: NoticeSettings = toml::from_str(text).expect("settings");
        settings.check().expect_err(text).to_string()
    }

    #[test]
    fn targets_are_named_and_checked() {
        for (text, expected) in [
            ("", "notices: expected `command` or one of `targets`"),
            (
                "[targets.a]\nby = \"command\"\ncommand = []",
                "notices.targets.a: expected a program",
            ),
            (
                "[targets.\"7 b\"]\nby = \"command\"\ncommand = [\"true\"]",
                "notices.targets: expected names of at most 32",
            ),
            (
                "command = [\"true\"]\ndefault = \"chat\"",
                "notices.default: expected one of command, got `chat`",
            ),
            (
                "[targets.chat]\nby = \"post\"\nurl = \"file:///etc/passwd\"",
                "notices.targets.chat: expected http:// or https:// in `url`, got `file:///etc/passwd`",
            ),
            (
                "[targets.chat]\nby = \"post\"\nurl = \"https://a\"\nbody = { text = [\"{word}\"] }",
                "notices.targets.chat: expected no other words in `body`: {word} stands for nothing",
            ),
            (
                "[targets.mail]\nby = \"mail\"\nfrom = \"a@b\"\nto = \"{user}, root\"",
                "notices.targets.mail: expected an address in `to`, got `{user}, root`",
            ),
            (
                "[targets.mail]\nby = \"mail\"\nfrom = \"a@b\"\nto = \"{user}\"\nsmtp = \"mail\"",
                "notices.targets.mail: expected smtp:// or smtps:// in `smtp`, got `mail`",
            ),
        ] {
            let found = error(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
        let two = "[targets.a]\nby = \"command\"\ncommand = [\"true\"]\n\
                   [targets.b]\nby = \"command\"\ncommand = [\"true\"]";
        assert_eq!(error(two), "notices: expected `default`, one of a, b");
        let settings: NoticeSettings = toml::from_str(&format!("default = \"b\"\n{two}")).unwrap();
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(settings.default_target().as_deref(), Ok("b"));
    }
}
