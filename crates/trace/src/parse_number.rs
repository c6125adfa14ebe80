//! Numbers as traces write them, read from bytes.

use std::borrow::Cow;

/// Why a field is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// Text, nothing at all, or not-a-number.
    NotANumber,
    /// A fraction where only whole numbers make sense.
    NotWhole,
    /// A whole number that is too large.
    TooLarge,
}

const MILLION: i64 = 1_000_000;

/// Maximum number of digits before the point for the plain sum; a longer number is parsed as `f64`,
/// since the sum would overflow in millionths.
const PLAIN_DIGITS: usize = 12;

/// Parses a decimal number as millionths, rounded to the nearest and saturating: seconds become
/// microseconds. A sign, a fraction and an exponent are allowed.
pub(crate) fn millionths(text: &[u8]) -> Result<i64, NumberError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let magnitude = match plain(digits) {
        Some(magnitude) => magnitude,
        None => return through_float(text),
    };
    Ok(if negative { -magnitude } else { magnitude })
}

/// Parses a whole number: `64`, or `64.00` as some traces write it. Negative numbers give `None`.
pub(crate) fn whole(text: &[u8]) -> Result<Option<u64>, NumberError> {
    if !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        return digits(text).map(Some).ok_or(NumberError::TooLarge);
    }
    match millionths(text)? {
        ..0 => Ok(None),
        EXACT.. => Err(NumberError::TooLarge),
        value if value % MILLION != 0 => Err(NumberError::NotWhole),
        value => Ok(Some((value / MILLION) as u64)),
    }
}

/// Returns a number such as `1,234,567.5` without its commas; any other text as it is.
pub(crate) fn without_thousands(cell: &[u8]) -> Cow<'_, [u8]> {
    if !cell.contains(&b',') {
        return Cow::Borrowed(cell);
    }
    let point = cell.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = cell.split_at(point.unwrap_or(cell.len()));
    let mut groups = whole.split(|&byte| byte == b',');
    let is_digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let first = groups.next().unwrap_or_default();
    let is_grouped = (1..=3).contains(&first.len())
        && is_digits(first)
        && groups.all(|group| group.len() == 3 && is_digits(group));
    if !is_grouped {
        return Cow::Borrowed(cell);
    }
    let digits = whole.iter().copied().filter(|&byte| byte != b',');
    Cow::Owned(digits.chain(fraction.iter().copied()).collect())
}

/// From this value on, millionths were parsed as `f64` and are not exact.
const EXACT: i64 = 1_000_000_000_000_000_000;

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |sum, &digit| {
        sum.checked_mul(10)?.checked_add(digit_value(digit))
    })
}

/// Parses unsigned `digits[.digits]` with few enough digits for exact integer arithmetic.
fn plain(text: &[u8]) -> Option<i64> {
    let (mut value, mut n_digits) = (0, 0);
    while let Some(digit) = text.get(n_digits).filter(|byte| byte.is_ascii_digit()) {
        if n_digits == PLAIN_DIGITS {
            return None;
        }
        value = value * 10 + digit_value(*digit) as i64;
        n_digits += 1;
    }
    match &text[n_digits..] {
        _ if n_digits == 0 => None,
        [] => Some(value * MILLION),
        [b'.', decimals @ ..] => Some(value * MILLION + fraction(decimals)?),
        _ => None,
    }
}

/// Returns the digits after the point as millionths; the seventh digit rounds.
fn fraction(digits: &[u8]) -> Option<i64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0'));
    let value = padded
        .take(6)
        .fold(0, |sum, digit| sum * 10 + digit_value(digit) as i64);
    let round_up = digits.get(6).is_some_and(|&digit| digit >= b'5');
    Some(value + i64::from(round_up))
}

fn digit_value(digit: u8) -> u64 {
    u64::from(digit - b'0')
}

fn through_float(text: &[u8]) -> Result<i64, NumberError> {
    let value: f64 = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NumberError::NotANumber)?;
    if value.is_nan() {
        return Err(NumberError::NotANumber);
    }
    Ok((value * MILLION as f64).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_to_the_millionth() {
        for (text, millionth) in [
            ("0", 0),
            ("-1", -1_000_000),
            ("+2", 2_000_000),
            ("40.25", 40_250_000),
            ("489.00", 489_000_000),
            ("7.", 7_000_000),
            (".5", 500_000),
            ("1e3", 1_000_000_000),
            ("0.0000005", 1),
            ("0.00000049", 0),
            ("999999999999", 999_999_999_999_000_000),
            ("1e300", i64::MAX),
            ("99999999999999999999999", i64::MAX),
            ("-inf", i64::MIN),
        ] {
            assert_eq!(millionths(text.as_bytes()), Ok(millionth), "{text}");
        }
    }

    #[test]
    fn text_is_not_a_number() {
        for text in [
            "", "-", "--1", "1-", "1.2.3", "abc", "12s", "NaN", ".", "0x10", "\u{fc}",
        ] {
            assert_eq!(
                millionths(text.as_bytes()),
                Err(NumberError::NotANumber),
                "{text}"
            );
        }
    }

    #[test]
    fn fractions_are_not_whole_numbers() {
        assert_eq!(whole(b"64"), Ok(Some(64)));
        assert_eq!(whole(b"64.00"), Ok(Some(64)));
        assert_eq!(whole(b"-1"), Ok(None));
        assert_eq!(
            whole(b"9999999999999999999"),
            Ok(Some(9_999_999_999_999_999_999))
        );
        assert_eq!(whole(b"18446744073709551615"), Ok(Some(u64::MAX)));
        assert_eq!(whole(b"18446744073709551616"), Err(NumberError::TooLarge));
        assert_eq!(whole(b"1e30"), Err(NumberError::TooLarge));
        assert_eq!(whole(b"-1e30"), Ok(None));
        assert_eq!(whole(b"1.5"), Err(NumberError::NotWhole));
        assert_eq!(whole(b""), Err(NumberError::NotANumber));
    }

    proptest! {
        #[test]
        fn written_spans_round_trip(micros in -4_000_000_000_000_000_000i64..4_000_000_000_000_000_000) {
            let text = tollgate_model::Span::from_micros(micros).to_string();
            let read = millionths(text.as_bytes()).unwrap();
            // Thirteen and more digits before the point are parsed as f64.
            let exact = micros.unsigned_abs() < 1_000_000_000_000_000_000;
            prop_assert!(!exact || read == micros, "{} {}", text, read);
        }
    }
}
