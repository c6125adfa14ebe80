//! The lines of a record that an exporter wrapped: a line continues the record before it only where
//! the text proves that. Any other line is stray, so that junk never changes a record.

use super::attributes::PbsAttributes;
use crate::record_reader::JoinedLines;

/// The beginning of a record, with `0` for any digit.
const DATE: &[u8] = b"00/00/0000 00:00:00;";

/// The names, or the beginnings of names up to a point, of attributes.
const ATTRIBUTES: [&[u8]; 27] = [
    b"Exit_status",
    b"Resource_List.",
    b"account",
    b"accounting_id",
    b"array_id",
    b"array_index",
    b"array_indices",
    b"ctime",
    b"depend",
    b"end",
    b"etime",
    b"exec_host",
    b"exec_vnode",
    b"group",
    b"jobname",
    b"owner",
    b"project",
    b"qtime",
    b"queue",
    b"requestor",
    b"resources_used.",
    b"run_count",
    b"session",
    b"start",
    b"total_execution_slots",
    b"unique_node_count",
    b"user",
];

/// Returns whether `line` begins with the date and time of a record.
pub(crate) fn begins_record(line: &[u8]) -> bool {
    line.len() >= DATE.len()
        && line.iter().zip(DATE).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
}

/// A joiner of wrapped lines, which learns the width at which the file is wrapped.
#[derive(Default)]
pub(super) struct LineJoiner {
    width: Option<usize>,
}

impl LineJoiner {
    /// Joins the `lines` of a record, of which the first begins it.
    pub(super) fn join(&mut self, lines: &[&[u8]]) -> JoinedLines {
        if self.is_full_width(lines) {
            return JoinedLines {
                text: lines.concat(),
                count: lines.len(),
            };
        }
        let mut text = lines[0].to_vec();
        let mut count = 1;
        while let Some(proof) = proof(&text, &lines[count..]) {
            let (separator, n) = match proof {
                Proof::Attribute => (&b" "[..], 1),
                Proof::CutWord => (&b""[..], 1),
                Proof::OpenQuote(n) => (&b"\n"[..], n),
            };
            for line in &lines[count..count + n] {
                text.extend_from_slice(separator);
                text.extend_from_slice(line);
            }
            count += n;
        }
        JoinedLines { text, count }
    }

    /// Returns whether every line but the last is as wide as the first: three lines or more prove the
    /// width by themselves, two by the records before.
    fn is_full_width(&mut self, lines: &[&[u8]]) -> bool {
        let Some((last, whole)) = lines.split_last() else {
            return false;
        };
        let width = whole[0].len();
        let is_wrapped = whole.iter().all(|line| line.len() == width)
            && last.len() <= width
            && lines[1..].iter().all(|line| !holds_record(line))
            && (whole.len() > 1 || self.width == Some(width));
        if is_wrapped {
            self.width = Some(width);
        }
        is_wrapped
    }
}

/// Why a line continues a record.
enum Proof {
    /// The line begins with an attribute that the record does not have yet.
    Attribute,
    /// The record ends within a word, which the line completes.
    CutWord,
    /// A quoted value of the record is closed within this number of lines.
    OpenQuote(usize),
}

fn proof(record: &[u8], lines: &[&[u8]]) -> Option<Proof> {
    let line = *lines.first()?;
    if holds_record(line) || line.trim_ascii().is_empty() {
        return None;
    }
    if let Some(mark) = open_quote(record) {
        let closes = lines.iter().position(|line| line.contains(&mark))?;
        let sound = lines[..=closes].iter().all(|line| !holds_record(line));
        return sound.then_some(Proof::OpenQuote(closes + 1));
    }
    let attributes = record
        .splitn(4, |&byte| byte == b';')
        .nth(3)
        .unwrap_or_default();
    let known = PbsAttributes::split(attributes);
    let is_new = |word: &[u8]| attribute_name(word).is_some_and(|name| !known.has(name));
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let first = words.next()?;
    if is_new(first) {
        return Some(Proof::Attribute);
    }
    let mut others = words.peekable();
    let has_others = others.peek().is_some();
    if has_others {
        return others.all(is_new).then_some(Proof::CutWord);
    }
    let last = record.rsplit(u8::is_ascii_whitespace).next()?;
    let whole = [last, first].concat();
    let is_cut_name = !last.contains(&b'=') && !last.contains(&b';') && is_new(&whole);
    let is_cut_list = matches!(last.last(), Some(b'+' | b'/'));
    (is_cut_name || is_cut_list).then_some(Proof::CutWord)
}

/// Returns whether a record begins somewhere in `line`.
fn holds_record(line: &[u8]) -> bool {
    line.windows(DATE.len()).any(begins_record)
}

/// Returns the known name of the attribute at the beginning of a word.
fn attribute_name(word: &[u8]) -> Option<&[u8]> {
    let at = memchr::memchr(b'=', word)?;
    let name = &word[..at];
    let is_known = |known: &&[u8]| match known.last() {
        Some(b'.') => name.starts_with(known),
        _ => name == *known,
    };
    ATTRIBUTES.iter().any(is_known).then_some(name)
}

/// Returns the mark of a quoted value that is open at the end of a record.
fn open_quote(record: &[u8]) -> Option<u8> {
    [b'"', b'\''].into_iter().find(|&mark| {
        let opens = memchr::memmem::rfind(record, &[b'=', mark]);
        opens.is_some_and(|at| !record[at + 2..].contains(&mark))
    })
}
