//! The frames between agents, and between an agent and its operator: one JSON object a line.

use std::io::{self, BufRead, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tollgate_federation::Envelope;

use crate::status::AgentStatus;

/// The longest legal line in bytes. A list of a thousand sites is shorter.
const MAX_LINE: u64 = 1 << 20;

/// A frame to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFrame {
    /// A message of the protocol, from another agent. There is no answer.
    Message(Envelope),
    /// The operator asks for the agent's state.
    Status,
    /// The operator sends the list of the next epoch.
    Members {
        /// The list, as the text of its file.
        text: String,
    },
    /// The operator ends the agent. Its pilots stay.
    Stop,
    /// The operator ends the site's pilots, then the agent.
    End,
}

/// The answer to a frame of the operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentAnswer {
    /// The state of the agent.
    Status(Box<AgentStatus>),
    /// The frame was carried out.
    Done,
    /// The frame was refused.
    Refused {
        /// Why.
        problem: String,
    },
}

impl AgentFrame {
    /// Returns the line of the frame.
    pub(crate) fn text(&self) -> Vec<u8> {
        line(self)
    }
}

/// Returns the line of a frame or an answer.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(value).expect("an own type is representable in JSON");
    text.push(b'\n');
    text
}

/// Parses a line. None if it is no frame.
#[cfg(feature = "fuzz")]
pub(crate) fn parse(line: &[u8]) -> Option<AgentFrame> {
    serde_json::from_slice(line).ok()
}

/// Reads the next line. None at the end of the input.
///
/// # Errors
/// An error if the input fails, or a line is too long or not understood.
pub(crate) fn read<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let length = input.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if length == 0 {
        return Ok(None);
    }
    if !line.ends_with(b"\n") {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let value = serde_json::from_slice(&line);
    value.map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use tollgate_federation::{Ballot, SiteId, SiteMessage};

    use super::*;

    #[test]
    fn frames_are_lines_of_json() {
        let ballot = Ballot::NONE.next(SiteId(2));
        let frames = [
            AgentFrame::Message(Envelope {
                epoch: 7,
                from: SiteId(2),
                message: SiteMessage::Request { ballot },
            }),
            AgentFrame::Status,
            AgentFrame::Members {
                text: "session = \"fit\"\n".to_owned(),
            },
            AgentFrame::Stop,
            AgentFrame::End,
        ];
        let lines: Vec<u8> = frames.iter().flat_map(AgentFrame::text).collect();
        insta::assert_snapshot!(String::from_utf8_lossy(&lines));
        let mut input = lines.as_slice();
        for frame in frames {
            assert_eq!(read(&mut input).expect("a frame"), Some(frame));
        }
        assert_eq!(read::<AgentFrame>(&mut input).expect("the end"), None);
        assert!(read::<AgentFrame>(&mut &b"{}\n"[..]).is_err());
        assert!(read::<AgentFrame>(&mut &b"\"stop\""[..]).is_err());
    }
}
