//! Splitter for a stream of JSON: it finds the boundaries of the records.
//!
//! Records are the objects in an array: the array at the top, or the array at a known key of the
//! object at the top. Without such a key, objects at the top are records as well, one after
//! another. A damaged record affects the records after it only if its brackets do not balance.

use std::io::{self, BufRead};

use crate::finding::Finding;

/// Maximum size of a record in memory, in bytes: a job of ten thousand steps.
const MAX_RECORD: usize = 1 << 25;

/// Maximum length of a key, in bytes; longer keys are ignored.
const MAX_KEY: usize = 64;

/// Calls `visit` with the first line of each record of `reader` (from 1), and its bytes or the
/// reason why it has none. `list` is the key of the array in an object at the top, if there is one.
///
/// # Errors
/// The first error of the reader, with the number of the line at which reading stopped.
pub(crate) fn for_each_record(
    mut reader: impl BufRead,
    list: Option<&str>,
    mut visit: impl FnMut(u64, Result<&[u8], Finding>),
) -> Result<(), (u64, io::Error)> {
    let mut splitter = RecordSplitter::new(list);
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err((splitter.line, error)),
        };
        if chunk.is_empty() {
            break;
        }
        splitter.chunk(chunk, &mut visit);
        let used = chunk.len();
        reader.consume(used);
    }
    splitter.finish(visit);
    Ok(())
}

struct RecordSplitter<'a> {
    list: Option<&'a [u8]>,
    line: u64,
    /// The scopes around the current byte, from the outside in.
    open: Vec<JsonScope>,
    /// The bytes of the current record so far, and its first line; empty between records.
    record: Vec<u8>,
    begun: u64,
    text: StringState,
    /// The last string in the object at the top, which is a key if a colon follows.
    key: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonScope {
    /// The object at the top that holds the list, or an object that is not a record.
    Object,
    /// An array whose objects are records.
    List,
    /// An array whose objects are not records.
    Array,
    /// A record, or something within one.
    Record,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StringState {
    Outside,
    Within,
    /// After a backslash.
    Escaped,
}

impl<'a> RecordSplitter<'a> {
    fn new(list: Option<&'a str>) -> Self {
        Self {
            list: list.map(str::as_bytes),
            line: 1,
            open: Vec::new(),
            record: Vec::new(),
            begun: 1,
            text: StringState::Outside,
            key: Vec::new(),
        }
    }

    fn chunk(&mut self, chunk: &[u8], visit: &mut impl FnMut(u64, Result<&[u8], Finding>)) {
        // Start of the current record's part of the chunk.
        let mut from = 0;
        for (at, &byte) in chunk.iter().enumerate() {
            if byte == b'\n' {
                self.line += 1;
            }
            match self.text {
                StringState::Escaped => self.text = StringState::Within,
                StringState::Within => self.push_string_byte(byte),
                StringState::Outside => match byte {
                    b'"' => {
                        self.text = StringState::Within;
                        self.key.clear();
                    }
                    b'{' | b'[' => {
                        let began = self.opens_record(byte);
                        if began {
                            self.begun = self.line;
                            from = at;
                        }
                    }
                    b'}' | b']' => {
                        let ended = self.closes_record();
                        if ended {
                            self.buffer(&chunk[from..=at]);
                            self.emit_record(visit);
                        }
                    }
                    _ => {}
                },
            }
        }
        if self.in_record() {
            self.buffer(&chunk[from..]);
        }
    }

    fn push_string_byte(&mut self, byte: u8) {
        match byte {
            b'\\' => self.text = StringState::Escaped,
            b'"' => self.text = StringState::Outside,
            byte if !self.in_record() && self.key.len() < MAX_KEY => self.key.push(byte),
            _ => {}
        }
    }

    /// Pushes the scope of an opening bracket and returns whether a record begins there.
    fn opens_record(&mut self, bracket: u8) -> bool {
        let is_object = bracket == b'{';
        let open = match self.open.last() {
            Some(JsonScope::Record) => JsonScope::Record,
            Some(JsonScope::List) if is_object => JsonScope::Record,
            None if is_object && self.list.is_none() => JsonScope::Record,
            None if is_object => JsonScope::Object,
            None => JsonScope::List,
            Some(JsonScope::Object) if !is_object && self.at_list() => JsonScope::List,
            Some(JsonScope::Object | JsonScope::List | JsonScope::Array) if is_object => {
                JsonScope::Object
            }
            Some(JsonScope::Object | JsonScope::List | JsonScope::Array) => JsonScope::Array,
        };
        let first = open == JsonScope::Record && !self.in_record();
        self.open.push(open);
        first
    }

    /// Returns whether the array that begins here has the key of the list.
    fn at_list(&self) -> bool {
        self.open.len() == 1 && self.list == Some(&self.key)
    }

    /// Pops the scope of a closing bracket and returns whether the record ends there.
    fn closes_record(&mut self) -> bool {
        self.open.pop() == Some(JsonScope::Record) && !self.in_record()
    }

    fn in_record(&self) -> bool {
        self.open.last() == Some(&JsonScope::Record)
    }

    fn buffer(&mut self, more: &[u8]) {
        let room = (MAX_RECORD + 1).saturating_sub(self.record.len());
        self.record.extend_from_slice(&more[..more.len().min(room)]);
    }

    fn emit_record(&mut self, visit: &mut impl FnMut(u64, Result<&[u8], Finding>)) {
        if self.record.len() > MAX_RECORD {
            visit(self.begun, Err(Finding::LineTooLong));
        } else {
            visit(self.begun, Ok(&self.record));
        }
        self.record.clear();
    }

    /// Reports a record that is still open at the end as truncated.
    fn finish(self, mut visit: impl FnMut(u64, Result<&[u8], Finding>)) {
        if self.in_record() {
            visit(self.begun, Err(Finding::Malformed));
        } else if !self.open.is_empty() {
            visit(self.line, Err(Finding::Malformed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    const JOBS: Option<&str> = Some("jobs");

    fn records(
        text: &str,
        list: Option<&str>,
        buffer: usize,
    ) -> Vec<(u64, Result<String, Finding>)> {
        let mut seen = Vec::new();
        let reader = BufReader::with_capacity(buffer, text.as_bytes());
        for_each_record(reader, list, |line, record| {
            seen.push((
                line,
                record.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()),
            ));
        })
        .unwrap();
        seen
    }

    fn found(text: &str, list: Option<&str>) -> Vec<String> {
        let whole = records(text, list, 1 << 16);
        for buffer in 1..7 {
            assert_eq!(records(text, list, buffer), whole, "{buffer}");
        }
        whole
            .into_iter()
            .filter_map(|(_, record)| record.ok())
            .collect()
    }

    #[test]
    fn only_objects_in_the_list_are_records() {
        let text = "{\"meta\": {\"jobs\": [{\"a\": 0}]},\n \"other\": [{\"a\": 1}],\n \
                    \"jobs\": [\n {\"a\": \"}]\\\"\"},\n {\"b\": {\"jobs\": [{}]}}\n], \"c\": []}";
        assert_eq!(
            found(text, JOBS),
            ["{\"a\": \"}]\\\"\"}", "{\"b\": {\"jobs\": [{}]}}"]
        );
        assert_eq!(records(text, JOBS, 64)[0].0, 4);
        assert_eq!(
            found("[{\"a\": 1}, 2, [{}], {}]", JOBS),
            ["{\"a\": 1}", "{}"]
        );
        assert_eq!(found("{\"a\": [{}]}\n{}", None), ["{\"a\": [{}]}", "{}"]);
    }

    #[test]
    fn truncated_record_is_reported() {
        let text = "{\"jobs\": [{\"a\": 1},\n{\"a\": ";
        assert_eq!(records(text, JOBS, 64)[1], (2, Err(Finding::Malformed)));
        assert_eq!(
            records("{\"jobs\": [", JOBS, 64),
            [(1, Err(Finding::Malformed))]
        );
        assert_eq!(records("]]}{[", JOBS, 64), [(1, Err(Finding::Malformed))]);
    }
}
