//! One event of a job event log.

use tollgate_model::Instant;

use crate::finding::Finding;
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;

/// The numbers of the events that are read (`ULogEventNumber` of HTCondor).
pub(super) const SUBMITTED: u16 = 0;
pub(super) const EXECUTES: u16 = 1;
pub(super) const CHECKPOINTED: u16 = 3;
pub(super) const EVICTED: u16 = 4;
pub(super) const TERMINATED: u16 = 5;
pub(super) const IMAGE_SIZE: u16 = 6;
pub(super) const SHADOW_EXCEPTION: u16 = 7;
pub(super) const ABORTED: u16 = 9;
pub(super) const SUSPENDED: u16 = 10;
pub(super) const UNSUSPENDED: u16 = 11;
pub(super) const HELD: u16 = 12;
pub(super) const RECONNECT_FAILED: u16 = 24;

/// The year in which dates without a year begin; it has a 29th of February.
const FIRST_YEAR: i64 = 2000;

/// A date whose month is earlier than the previous one by more than this many months is in the next
/// year.
const MONTHS_BACK: i64 = 6;

/// The cluster and process of a job. Events of the nodes of a parallel job count as events of the
/// job.
pub(super) type CondorJobId = (u64, u64);

/// An event.
pub(super) struct CondorEvent<'a> {
    pub(super) code: u16,
    pub(super) id: CondorJobId,
    pub(super) time: Instant,
    /// The text after the time, and the lines after it.
    pub(super) body: &'a [u8],
}

impl<'a> CondorEvent<'a> {
    /// Reads `NNN (cluster.process.subprocess) date time text`, and the lines after it.
    pub(super) fn parse(text: &'a [u8], calendar: &mut EventCalendar) -> Result<Self, Finding> {
        if !super::begins_event(text) {
            return Err(Finding::Malformed);
        }
        let (code, rest) = text.split_at(3);
        let code = std::str::from_utf8(code).ok();
        let code = code.and_then(|code| code.parse().ok());
        let close = memchr::memchr(b')', rest).ok_or(Finding::Malformed)?;
        let id = id(&rest[2..close])?;
        let (time, body) = calendar.instant(rest[close + 1..].trim_ascii_start())?;
        Ok(Self {
            code: code.ok_or(Finding::Malformed)?,
            id,
            time,
            body,
        })
    }

    /// Returns the lines of the event; the first is the text after the time.
    pub(super) fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        self.body
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii)
    }
}

fn id(text: &[u8]) -> Result<CondorJobId, Finding> {
    let mut parts = text.split(|&byte| byte == b'.');
    let cluster = parse_field::job_number(parts.next().unwrap_or_default())?;
    let process = parse_field::job_number(parts.next().unwrap_or(b"0"))?;
    Ok((cluster, process))
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

/// A converter from dates to instants, which tracks the year of dates without a year.
#[derive(Default)]
pub(super) struct EventCalendar {
    years: i64,
    month: i64,
    notes: Vec<Finding>,
    noted: bool,
}

impl EventCalendar {
    /// Returns the assumptions that were made, each once.
    pub(super) fn take_notes(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.notes)
    }

    /// Parses the time at the beginning of `text`: `03/20 21:04:58`, `2024-03-20 21:04:58`, perhaps with a
    /// fraction and a zone, or both in one word with a `T`. Returns it and the text behind it.
    fn instant<'a>(&mut self, text: &'a [u8]) -> Result<(Instant, &'a [u8]), Finding> {
        let wrong = Finding::NotATime(RecordField::Event);
        let (date, behind) = word(text);
        let (clock, body) = match date.contains(&b'T') {
            true => (&[][..], behind),
            false => word(behind),
        };
        let short = memchr::memchr(b'/', date);
        let whole = match short {
            Some(slash) => {
                let number = |digits: &[u8]| -> Option<i64> {
                    std::str::from_utf8(digits).ok()?.parse().ok()
                };
                let month = number(&date[..slash]).ok_or(wrong)?;
                let day = number(&date[slash + 1..]).ok_or(wrong)?;
                let year = self.year(month);
                [format!("{year}-{month:02}-{day:02} ").as_bytes(), clock].concat()
            }
            None if clock.is_empty() => date.to_vec(),
            None => [date, clock].join(&b' '),
        };
        let (instant, zone) = parse_time::instant(&whole, RecordField::Event)?;
        if let Some(finding) = zone.finding().filter(|_| !self.noted) {
            self.noted = true;
            self.notes.push(finding);
            if short.is_some() {
                self.notes.push(Finding::AssumedYear);
            }
        }
        Ok((instant, body))
    }

    fn year(&mut self, month: i64) -> i64 {
        if month + MONTHS_BACK < self.month {
            self.years += 1;
        }
        if (1..=12).contains(&month) {
            self.month = month;
        }
        FIRST_YEAR + self.years
    }
}
