//! Kinds of notices, and requests for them.

use std::str::FromStr;

use tollgate_model::Probability;

use super::settings::is_target_name;

/// The kind of event of a job about which its user gets a notice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoticeKind {
    /// It is over, in whichever way.
    End,
    /// Its deadline has passed before its end.
    Late,
    /// It is lost.
    Lost,
    /// The chance of its promise has fallen below this. An array is one promise.
    AtRisk(Probability),
}

/// A kind of notice that a user wants, and by which target.
#[derive(Clone, Debug, PartialEq)]
pub struct NoticeRequest {
    /// The kind.
    pub kind: NoticeKind,
    /// The name of the target; None for the default one.
    pub target: Option<String>,
}

/// The error for text that is not a kind of notice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "end, late, lost or at-risk:P with a probability as in at-risk:0.8, and `:NAME` for one of the site's targets"
)]
pub struct BadNoticeKind;

impl FromStr for NoticeRequest {
    type Err = BadNoticeKind;

    fn from_str(word: &str) -> Result<Self, BadNoticeKind> {
        // A name begins with a letter, and so is no probability.
        let (kind, target) = match word.rsplit_once(':') {
            Some((kind, name)) if is_target_name(name) => (kind, Some(name.to_owned())),
            Some(_) | None => (word, None),
        };
        let kind = kind.parse()?;
        Ok(Self { kind, target })
    }
}

impl FromStr for NoticeKind {
    type Err = BadNoticeKind;

    fn from_str(word: &str) -> Result<Self, BadNoticeKind> {
        match word {
            "end" => Ok(Self::End),
            "late" => Ok(Self::Late),
            "lost" => Ok(Self::Lost),
            _ => {
                let below = word.strip_prefix("at-risk:").ok_or(BadNoticeKind)?;
                let below = below.parse().ok().and_then(Probability::new);
                below.map(Self::AtRisk).ok_or(BadNoticeKind)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_notices_are_parsed() {
        assert_eq!("end".parse(), Ok(NoticeKind::End));
        let risk = Probability::new(0.8).map(NoticeKind::AtRisk);
        assert_eq!("at-risk:0.8".parse().ok(), risk);
        let by_chat = NoticeRequest {
            kind: NoticeKind::End,
            target: Some("chat".to_owned()),
        };
        assert_eq!("end:chat".parse(), Ok(by_chat));
        let requested: NoticeRequest = "at-risk:0.8:mail-2".parse().expect("a target");
        assert_eq!(Some(requested.kind), risk);
        assert_eq!(requested.target.as_deref(), Some("mail-2"));
        for word in ["end:", "end:Chat", "at-risk:mail", "end:a:b", "end:0.8"] {
            assert_eq!(word.parse::<NoticeRequest>(), Err(BadNoticeKind), "{word}");
        }
        for word in ["", "start", "at-risk", "at-risk:2", "at-risk:nan"] {
            assert_eq!(word.parse::<NoticeKind>(), Err(BadNoticeKind), "{word}");
        }
    }
}
