//! Lines of journals, each with a checksum: a line that a crash has torn, or that was damaged, is not taken for an entry.

/// Length of the checksum of a line, with the space behind it.
const CHECKSUM_LEN: usize = 9;

/// Returns a line of this text, which has no line break, with its checksum and its end.
pub fn checked_line(text: &[u8]) -> Vec<u8> {
    let mut line = format!("{:08x} ", crc32fast::hash(text)).into_bytes();
    line.extend(text);
    line.push(b'\n');
    line
}

/// Returns the text of a line, with or without its end; None if the checksum is not that of the text.
pub fn text_of_checked_line(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let (sum, text) = line.split_at_checked(CHECKSUM_LEN)?;
    let sum = std::str::from_utf8(sum).ok()?.strip_suffix(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (crc32fast::hash(text) == sum).then_some(text)
}

/// Returns the text of a line whose checksum is not looked at.
pub fn text_of_unchecked_line(line: &[u8]) -> &[u8] {
    line.get(CHECKSUM_LEN..).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_text_until_a_bit_of_it_changes() {
        let line = checked_line(b"{\"end\":7}");
        assert_eq!(text_of_checked_line(&line), Some(&b"{\"end\":7}"[..]));
        for bit in 0..8 * (line.len() - 1) {
            let mut damaged = line.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let text = text_of_checked_line(&damaged);
            // The case of a hexadecimal digit does not matter.
            assert!(
                text.is_none() || text == text_of_checked_line(&line),
                "bit {bit}"
            );
        }
        for torn in 0..line.len() - 1 {
            assert_eq!(text_of_checked_line(&line[..torn]), None, "{torn} bytes");
        }
    }
}
