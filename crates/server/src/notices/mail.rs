//! Notices as mail.

use super::JobNotice;

/// Maximum length of an encoded word of a header (RFC 2047, section 2).
const MAX_WORD: usize = 75;

/// Returns whether this is one address of mail, or the name of an account, that no header or command line takes
/// for anything else.
pub(super) fn is_address(text: &str) -> bool {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || "@._+=%~!#$&*/?^-".contains(letter);
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(is_plain)
        && text.matches('@').count() <= 1
        && text.split('@').all(|part| !part.is_empty())
}

/// Returns the message, with `date` in the form of RFC 5322.
pub(super) fn message(from: &str, to: &str, date: &str, notice: &JobNotice) -> Vec<u8> {
    let text = &notice.text;
    let left_out = match notice.left_out {
        0 => String::new(),
        n => format!("{n} earlier notices were left out.\r\n"),
    };
    let headers = [
        format!("From: {from}"),
        format!("To: {to}"),
        format!("Subject: {}", header(text)),
        format!("Date: {date}"),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        "Content-Transfer-Encoding: 8bit".to_owned(),
        // So that no holiday is answered to the service.
        "Auto-Submitted: auto-generated".to_owned(),
    ];
    let body = format!("{text}\r\n\r\n{left_out}at {}\r\n", notice.at);
    format!("{}\r\n\r\n{body}", headers.join("\r\n")).into_bytes()
}

/// Returns the text of a header: as it is, if every reader understands it, or in encoded words.
fn header(text: &str) -> String {
    let is_plain = |letter: char| letter == ' ' || letter.is_ascii_graphic();
    if text.len() <= MAX_WORD && text.chars().all(is_plain) && !text.contains("=?") {
        return text.to_owned();
    }
    let (begin, end) = ("=?utf-8?Q?", "?=");
    let mut words = vec![String::new()];
    let mut letter_bytes = [0; 4];
    for letter in text.chars() {
        let encoded = match letter {
            ' ' => "_".to_owned(),
            'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_string(),
            _ => {
                let bytes = letter.encode_utf8(&mut letter_bytes).bytes();
                bytes.map(|byte| format!("={byte:02X}")).collect()
            }
        };
        let last = words.last().map_or(0, String::len);
        if begin.len() + last + encoded.len() + end.len() > MAX_WORD {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&encoded);
        }
    }
    let words = words.iter().map(|word| format!("{begin}{word}{end}"));
    words.collect::<Vec<_>>().join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_address_is_an_address() {
        for text in ["ada", "ada@hpc.example", "a.b+c@d"] {
            assert!(is_address(text), "{text}");
        }
        for text in [
            "",
            "-f",
            "a b",
            "a,b",
            "a@b@c",
            "@b",
            "a@",
            "a\r\nBcc: b",
            "<a@b>",
            "a;b",
        ] {
            assert!(!is_address(text), "{text}");
        }
    }

    #[test]
    fn header_is_plain_or_encoded_in_short_lines() {
        assert_eq!(header("job 1 is finished"), "job 1 is finished");
        assert_eq!(header("é"), "=?utf-8?Q?=C3=A9?=");
        assert_eq!(header("a\r\nBcc: b"), "=?utf-8?Q?a=0D=0ABcc=3A_b?=");
        let long = header(&"job ü ".repeat(40));
        assert!(long.lines().all(|line| line.len() <= 76), "{long}");
        assert!(long.lines().count() > 3 && long.lines().skip(1).all(|line| line.starts_with(' ')));
    }
}
