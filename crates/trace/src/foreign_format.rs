//! Formats of records that tollgate does not read, told by their beginning, so that the error names
//! them and what to use instead.

use std::fmt;

use memchr::memmem;

/// A format that is known, but not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// HTCondor's job event log in JSON.
    CondorEventsJson,
    /// HTCondor's job event log in XML.
    CondorEventsXml,
    /// HTCondor's job ads in XML.
    CondorAdsXml,
    /// Open Cluster Scheduler's `accounting.jsonl`.
    OpenClusterAccounting,
    /// The text that `qacct -j` prints.
    Qacct,
    /// The table that `sacct` prints without `-P`.
    SacctColumns,
    /// Text in UTF-16, as some shells of Windows write it.
    Utf16,
}

impl ForeignFormat {
    /// Returns the format that begins with `prefix`, if it is one of these.
    pub(crate) fn of(prefix: &[u8]) -> Option<Self> {
        if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
            return Some(Self::Utf16);
        }
        let text = prefix.trim_ascii_start();
        let has = |words: &[u8]| memmem::find(prefix, words).is_some();
        match text.first()? {
            b'{' | b'[' if has(b"\"EventTypeNumber\"") => Some(Self::CondorEventsJson),
            b'{' if has(b"\"job_number\"") && has(b"\"submission_time\"") => {
                Some(Self::OpenClusterAccounting)
            }
            b'<' if has(b"EventTypeNumber") => Some(Self::CondorEventsXml),
            b'<' if has(b"ClusterId") || has(b"<classads>") => Some(Self::CondorAdsXml),
            b'=' => has(b"\nqname ").then_some(Self::Qacct),
            _ => is_sacct_table(text).then_some(Self::SacctColumns),
        }
    }

    /// Returns what to use instead.
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::CondorEventsJson | Self::CondorEventsXml => {
                "HTCondor writes an event log that is read with EVENT_LOG_FORMAT_OPTIONS = ISO_DATE, \
                 and `condor_history -json` has the same jobs"
            }
            Self::CondorAdsXml => "export it anew with `condor_history -json`",
            Self::OpenClusterAccounting => {
                "set `old_accounting=true` in reporting_params (sge_conf): the scheduler then writes \
                 `accounting`, which is read"
            }
            Self::Qacct => "name the file that it reads: $SGE_ROOT/$SGE_CELL/common/accounting",
            Self::SacctColumns => {
                "export it anew with `TZ=UTC sacct -P`; docs/formats.md has the columns"
            }
            Self::Utf16 => "convert it first: `iconv -f UTF-16 -t UTF-8 FILE | tollgate .. -`",
        }
    }
}

/// Returns whether the first line names columns between blanks, and the second underlines them.
fn is_sacct_table(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let (names, rule) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    names.starts_with(b"JobID")
        && rule.starts_with(b"---")
        && rule.iter().all(|byte| b"- ".contains(byte))
}

/// Writes the format in words, to follow "found".
impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CondorEventsJson => "an event log of HTCondor in JSON",
            Self::CondorEventsXml => "an event log of HTCondor in XML",
            Self::CondorAdsXml => "job ads of HTCondor in XML",
            Self::OpenClusterAccounting => "the accounting of Open Cluster Scheduler in JSON",
            Self::Qacct => "the text of `qacct`",
            Self::SacctColumns => "the table that `sacct` prints without `-P`",
            Self::Utf16 => "text in UTF-16",
        })
    }
}
