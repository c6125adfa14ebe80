//! Lines of a byte stream, without a copy per line.

use std::io::{self, BufRead};

use memchr::{memchr, memrchr};

/// Maximum length of a line, in bytes. Node lists at the end of real records reach tens of
/// thousands of bytes; a longer line is not a record and must not be held in memory.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// One line, without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextLine<'a> {
    /// The bytes of the line, including a carriage return at the end.
    Text(&'a [u8]),
    /// A line longer than any record, without its bytes.
    TooLong,
    /// The text behind the zero bytes of a line, which a file system leaves where a machine crashed. The text
    /// before the zero bytes was cut off, and the beginning of this text may be missing as well.
    BehindZeros(&'a [u8]),
}

/// Calls `visit` with the number (from 1) and the bytes of every line of `reader`.
///
/// # Errors
/// The first error of the reader, with the number of the line at which reading stopped.
pub(crate) fn for_each_line(
    mut reader: impl BufRead,
    mut visit: impl FnMut(u64, TextLine<'_>),
) -> Result<(), (u64, io::Error)> {
    let mut number = 1;
    let mut head = PartialLine::default();
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err((number, error)),
        };
        if chunk.is_empty() {
            break;
        }
        let mut rest = chunk;
        while let Some(end) = memchr(b'\n', rest) {
            head.with_tail(&rest[..end], |line| visit(number, line));
            number += 1;
            rest = &rest[end + 1..];
        }
        head.push(rest);
        let used = chunk.len();
        reader.consume(used);
    }
    if !head.bytes.is_empty() {
        head.with_tail(&[], |line| visit(number, line));
    }
    Ok(())
}

/// The beginning of a line whose end is not in the buffer yet; at most one byte longer than the
/// longest line.
#[derive(Default)]
struct PartialLine {
    bytes: Vec<u8>,
}

impl PartialLine {
    fn push(&mut self, more: &[u8]) {
        let room = (MAX_LINE + 1).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&more[..more.len().min(room)]);
    }

    /// Passes on the whole line that ends with `tail`, and starts the next.
    fn with_tail(&mut self, tail: &[u8], visit: impl FnOnce(TextLine<'_>)) {
        if self.bytes.is_empty() && tail.len() <= MAX_LINE {
            return visit_text(tail, visit);
        }
        self.push(tail);
        if self.bytes.len() > MAX_LINE {
            visit(TextLine::TooLong);
        } else {
            visit_text(&self.bytes, visit);
        }
        self.bytes.clear();
    }
}

fn visit_text(text: &[u8], visit: impl FnOnce(TextLine<'_>)) {
    match memrchr(0, text) {
        None => visit(TextLine::Text(text)),
        Some(last) => visit(TextLine::BehindZeros(&text[last + 1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn lines(text: &[u8], buffer: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut seen = Vec::new();
        let reader = BufReader::with_capacity(buffer, text);
        for_each_line(reader, |number, line| {
            seen.push(match line {
                TextLine::Text(text) => (number, Some(text.to_vec())),
                TextLine::TooLong => (number, None),
                TextLine::BehindZeros(text) => (number, Some([b"behind ", text].concat())),
            });
        })
        .unwrap();
        seen
    }

    #[test]
    fn lines_do_not_depend_on_the_buffer() {
        let text = b"one\n\nthree is longer\r\nfour";
        let whole = lines(text, 1 << 16);
        assert_eq!(whole.len(), 4);
        assert_eq!(whole[1], (2, Some(Vec::new())));
        assert_eq!(whole[3], (4, Some(b"four".to_vec())));
        for buffer in 1..8 {
            assert_eq!(lines(text, buffer), whole);
        }
    }

    #[test]
    fn text_behind_zero_bytes_is_no_line() {
        let expected = [
            (1, Some(b"one".to_vec())),
            (2, Some(b"behind two".to_vec())),
            (3, Some(b"behind ".to_vec())),
        ];
        for buffer in [1, 2, 5, 64] {
            assert_eq!(lines(b"one\nto\0\0x\0two\n\0", buffer), expected);
        }
    }

    #[test]
    fn endless_line_is_not_buffered() {
        let mut text = vec![b'x'; MAX_LINE + 1];
        text.extend_from_slice(b"\nshort\n");
        for buffer in [1 << 12, 1 << 22] {
            assert_eq!(
                lines(&text, buffer),
                [(1, None), (2, Some(b"short".to_vec()))]
            );
        }
    }
}
