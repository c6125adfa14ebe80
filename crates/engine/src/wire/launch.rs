//! The JSON form of a launch. Strings of the operating system need not be UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};
use tollgate_model::{AttemptId, NodeId};

use crate::{LaunchHost, LaunchLimits, LaunchScript, LaunchSpec, LaunchUser};

/// The fields of a [`LaunchSpec`].
#[derive(Serialize, Deserialize)]
pub(crate) struct LaunchOnWire {
    attempt: AttemptId,
    nodes: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<LaunchHost>,
    argv: Vec<WireString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<LaunchScript>,
    env: Vec<(WireString, WireString)>,
    dir: WireString,
    output: Option<WireString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<WireString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<WireString>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    append: bool,
    user: Option<LaunchUser>,
    umask: u32,
    limits: LaunchLimits,
    share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<AttemptId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_probe: bool,
}

/// A string as text if it is UTF-8, otherwise as bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WireString {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&OsStr> for WireString {
    fn from(word: &OsStr) -> Self {
        match word.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(word.as_bytes().to_owned()),
        }
    }
}

impl From<WireString> for OsString {
    fn from(word: WireString) -> Self {
        match word {
            WireString::Text(text) => text.into(),
            WireString::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

impl From<LaunchSpec> for LaunchOnWire {
    fn from(launch: LaunchSpec) -> Self {
        let pair = |(name, value): &(OsString, OsString)| {
            (name.as_os_str().into(), value.as_os_str().into())
        };
        Self {
            attempt: launch.attempt,
            nodes: launch.nodes.iter().map(|node| node.0).collect(),
            hosts: launch.hosts,
            argv: launch
                .argv
                .iter()
                .map(|word| word.as_os_str().into())
                .collect(),
            script: launch.script,
            env: launch.env.iter().map(pair).collect(),
            dir: launch.dir.as_os_str().into(),
            output: launch.output.as_ref().map(|path| path.as_os_str().into()),
            error: launch.error.as_ref().map(|path| path.as_os_str().into()),
            input: launch.input.as_ref().map(|path| path.as_os_str().into()),
            append: launch.append,
            user: launch.user,
            umask: launch.umask,
            limits: launch.limits,
            share: launch.share,
            after: launch.after,
            is_probe: launch.is_probe,
        }
    }
}

impl From<LaunchOnWire> for LaunchSpec {
    fn from(wire: LaunchOnWire) -> Self {
        Self {
            attempt: wire.attempt,
            nodes: wire.nodes.into_iter().map(NodeId).collect(),
            hosts: wire.hosts,
            argv: wire.argv.into_iter().map(Into::into).collect(),
            script: wire.script,
            env: wire
                .env
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            dir: OsString::from(wire.dir).into(),
            output: wire.output.map(|path| OsString::from(path).into()),
            error: wire.error.map(|path| OsString::from(path).into()),
            input: wire.input.map(|path| OsString::from(path).into()),
            append: wire.append,
            user: wire.user,
            umask: wire.umask,
            limits: wire.limits,
            share: wire.share,
            after: wire.after,
            is_probe: wire.is_probe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_utf8_survive_json() {
        let attempt = AttemptId {
            job: 1,
            task: 2,
            attempt: 3,
        };
        let odd = OsString::from_vec(vec![b'a', 0xff, b'"']);
        let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], [odd.clone()], "/ö");
        launch.env = vec![("A".into(), odd.clone())];
        launch.output = Some(odd.clone().into());
        launch.error = Some(odd.clone().into());
        launch.input = Some(odd.into());
        launch.append = true;
        launch.is_probe = true;
        let line = serde_json::to_vec(&launch).unwrap();
        assert_eq!(serde_json::from_slice::<LaunchSpec>(&line).unwrap(), launch);
    }
}
