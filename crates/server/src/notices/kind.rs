//! Kinds of notices.

use std::str::FromStr;

use tollgate_model::Probability;

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

/// The error for text that is not a kind of notice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("end, late, lost or at-risk:P with a probability as in at-risk:0.8")]
pub struct BadNoticeKind;

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
        for word in ["", "start", "at-risk", "at-risk:2", "at-risk:nan"] {
            assert_eq!(word.parse::<NoticeKind>(), Err(BadNoticeKind), "{word}");
        }
    }
}
